/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions over bytes, in time that is linear in the text whatever the pattern.
 *
 * A handle's text is a program: gigastream/gsql/regular_expressions reads the pattern, and its
 * program.py says what the bytes are. Here sets of steps become the rows of a table as long as they
 * are few (a byte is then one load); a program with more of them is run step by step, and a byte
 * costs at most as much as the program has steps. A handle is not changed once it is made, so that
 * threads share it. */
#ifndef GS_REGEX_H
#define GS_REGEX_H

#include "gs_regex_table.h"

/* --- a text, byte by byte --- */

/* Where a match may be: a row of the table, or a set where there is none. */
struct gs_regex_place {
    uint32_t row;
    struct gs_regex_steps set;
};

static inline void gs_regex_enter(const struct gs_regex_automaton *a, bool begin,
                                  struct gs_regex_place *place)
{
    place->row = begin ? a->edge : a->inside;
    if (a->cells == NULL) gs_regex_first(a, begin, &place->set);
}

static inline void gs_regex_advance(const struct gs_regex *r, const struct gs_regex_automaton *a,
                                    uint8_t byte, struct gs_regex_place *place)
{
    if (a->cells != NULL) {
        place->row = a->cells[place->row + r->classes[byte]];
        return;
    }
    struct gs_regex_steps from;
    memcpy(from.bits, place->set.bits, a->words * sizeof *from.bits);
    gs_regex_step(r, a, &from, r->classes[byte], &place->set);
}

static inline uint32_t gs_regex_found(const struct gs_regex_automaton *a,
                                      const struct gs_regex_place *place, bool begin)
{
    if (a->cells != NULL) return a->cells[place->row + a->width - 1];
    return gs_regex_flags(a, &place->set, begin);
}

static inline bool gs_regex_is_over(const struct gs_regex_automaton *a,
                                    const struct gs_regex_place *place)
{
    return a->cells != NULL ? place->row == GS_REGEX_DEAD : gs_regex_is_empty(a, &place->set);
}

/* The next place from `at` on at which a search does not stay where it begins. */
static inline uint32_t gs_regex_skip(const struct gs_regex *r, struct gs_string x, uint32_t at)
{
    if (r->only >= 0) {
        const uint8_t *found = memchr(x.bytes + at, r->only, x.length - at);
        return found == NULL ? x.length : (uint32_t)(found - x.bytes);
    }
    while (at < x.length && !r->leaves[x.bytes[at]])
        at++;
    return at;
}

/* Whether the pattern matches anywhere, without a table. */
static inline bool gs_regex_simulate(const struct gs_regex *r, struct gs_string x)
{
    const struct gs_regex_automaton *a = &r->search;
    struct gs_regex_place place;
    gs_regex_enter(a, true, &place);
    uint32_t flags = gs_regex_found(a, &place, true);
    for (uint32_t i = 0; i < x.length && !(flags & GS_REGEX_MATCHES); i++) {
        if (memcmp(place.set.bits, a->within.bits, a->words * sizeof *place.set.bits) == 0) {
            i = gs_regex_skip(r, x, i);
            if (i == x.length) break;
        }
        gs_regex_advance(r, a, x.bytes[i], &place);
        flags = gs_regex_found(a, &place, false);
    }
    return flags != 0;
}

static inline bool gs_regex_matches(const struct gs_regex *r, struct gs_string x)
{
    const struct gs_regex_automaton *a = &r->search;
    if (a->cells == NULL) return gs_regex_simulate(r, x);
    const uint32_t *cells = a->cells, hit = GS_REGEX_HIT * a->width;
    uint32_t row = a->edge, at = 0;
    if (cells[row + a->width - 1] & GS_REGEX_MATCHES) return true;
    while (at < x.length && row > hit) {
        if (row == a->inside && (at = gs_regex_skip(r, x, at)) == x.length) break;
        row = cells[row + r->classes[x.bytes[at++]]];
    }
    return cells[row + a->width - 1] != 0;
}

/* The least place where a match begins, by the reversed program from the end of the text. */
static inline bool gs_regex_start(const struct gs_regex *r, struct gs_string x, uint32_t *start)
{
    struct gs_regex_place place;
    bool found = false;
    gs_regex_enter(&r->starts, true, &place);
    for (uint32_t i = x.length;; i--) {
        uint32_t flags = gs_regex_found(&r->starts, &place, i == x.length);
        if (flags & (i == 0 ? GS_REGEX_MATCHES_AT_END : GS_REGEX_MATCHES)) {
            *start = i;
            found = true;
        }
        if (i == 0 || gs_regex_is_over(&r->starts, &place)) return found;
        gs_regex_advance(r, &r->starts, x.bytes[i - 1], &place);
    }
}

/* The leftmost longest match. */
static inline bool gs_regex_search(const struct gs_regex *r, struct gs_string x, uint32_t *start,
                                   uint32_t *end)
{
    struct gs_regex_place place;
    if (!gs_regex_matches(r, x) || !gs_regex_start(r, x, start)) return false;
    gs_regex_enter(&r->longest, *start == 0, &place);
    for (uint32_t i = *start;; i++) {
        uint32_t flags = gs_regex_found(&r->longest, &place, i == 0);
        if (flags & (i == x.length ? GS_REGEX_MATCHES_AT_END : GS_REGEX_MATCHES)) *end = i;
        if (i == x.length || gs_regex_is_over(&r->longest, &place)) return true;
        gs_regex_advance(r, &r->longest, x.bytes[i], &place);
    }
}

/* --- handles --- */

static inline void gs_regex_free(void *handle)
{
    struct gs_regex *r = handle;
    if (r == NULL) return;
    free(r->search.cells);
    free(r->longest.cells);
    free(r->starts.cells);
    free(r->program);
    free(r);
}

static inline const uint8_t *gs_regex_program(const uint8_t *at, struct gs_regex_automaton *a,
                                              bool anywhere)
{
    a->count = gs_regex_number(at);
    a->start = gs_regex_number(at + 2);
    a->steps = at + 4;
    a->words = (a->count + 63) / 64;
    a->anywhere = anywhere;
    return a->steps + (size_t)6 * a->count;
}

/* What follows from a program: which steps a set keeps, and where a search begins. */
static inline void gs_regex_prepare_program(struct gs_regex_automaton *a)
{
    for (uint32_t step = 0; step < a->count; step++) {
        uint32_t kind = gs_regex_part(a, step, 0);
        if (kind != GS_REGEX_SPLIT && kind != GS_REGEX_BEGIN) gs_regex_mark(&a->kept, step);
    }
    gs_regex_first(a, false, &a->within);
}

/* Which bytes lead a search away from where it begins. */
static inline void gs_regex_find_leaves(struct gs_regex *r)
{
    const struct gs_regex_automaton *a = &r->search;
    struct gs_regex_steps next;
    int leaves = 0;
    for (int byte = 0; byte < 256; byte++) {
        gs_regex_step(r, a, &a->within, r->classes[byte], &next);
        r->leaves[byte] = memcmp(next.bits, a->within.bits, a->words * sizeof *next.bits) != 0;
        leaves += r->leaves[byte];
        if (r->leaves[byte]) r->only = byte;
    }
    if (leaves != 1) r->only = -1;
}

static inline void gs_regex_prepare(struct gs_regex *r)
{
    r->search.stops = true;
    gs_regex_prepare_program(&r->search);
    gs_regex_prepare_program(&r->longest);
    gs_regex_prepare_program(&r->starts);
    gs_regex_find_leaves(r);
}

/* The parts of a program's bytes; false where they are none. */
static inline bool gs_regex_read(struct gs_regex *r, uint32_t length)
{
    if (length < 256 + 4) return false;
    uint32_t sets = gs_regex_number(r->program + 256);
    r->class_count = gs_regex_number(r->program + 258);
    r->classes = r->program;
    r->members = r->program + 260;
    const uint8_t *forward = r->members + (size_t)sets * r->class_count;
    if (forward + 4 > r->program + length) return false;
    const uint8_t *backward = gs_regex_program(forward, &r->search, true);
    gs_regex_program(forward, &r->longest, false);
    if (backward + 4 > r->program + length) return false;
    const uint8_t *end = gs_regex_program(backward, &r->starts, true);
    return end == r->program + length && r->search.count <= GS_REGEX_MOST_STEPS &&
           r->starts.count <= GS_REGEX_MOST_STEPS;
}

/* An expression from its program's bytes, with the tables that are wanted; NULL with a message. */
static inline struct gs_regex *gs_regex_new(struct gs_string program, bool extracts, char *message,
                                            size_t message_size)
{
    struct gs_regex *r = calloc(1, sizeof *r);
    bool has_memory = r != NULL && (r->program = malloc((size_t)program.length + 1)) != NULL;
    if (has_memory) {
        if (program.length > 0) memcpy(r->program, program.bytes, program.length);
        if (!gs_regex_read(r, program.length)) {
            snprintf(message, message_size, "a regular expression was not compiled as expected");
            gs_regex_free(r);
            return NULL;
        }
        gs_regex_prepare(r);
        has_memory =
            gs_regex_tabulate(r, &r->search) &&
            (!extracts || (gs_regex_tabulate(r, &r->longest) && gs_regex_tabulate(r, &r->starts)));
    }
    if (has_memory) return r;
    snprintf(message, message_size, "no memory for a regular expression");
    gs_regex_free(r);
    return NULL;
}

static inline void *gs_handle_str_regex_match_string_string_new(struct gs_string program,
                                                                char *message, size_t message_size)
{
    return gs_regex_new(program, false, message, message_size);
}

static inline void gs_handle_str_regex_match_string_string_free(void *handle)
{
    gs_regex_free(handle);
}

static inline bool gs_function_str_regex_match_string_string(struct gs_string x, const void *handle)
{
    return gs_regex_matches(handle, x);
}

static inline void *gs_handle_str_extract_regex_string_string_new(struct gs_string program,
                                                                  char *message,
                                                                  size_t message_size)
{
    return gs_regex_new(program, true, message, message_size);
}

static inline void gs_handle_str_extract_regex_string_string_free(void *handle)
{
    gs_regex_free(handle);
}

/* The leftmost longest part that matches; no value where none does. */
static inline bool gs_function_str_extract_regex_string_string(struct gs_scratch *scratch,
                                                               struct gs_string x,
                                                               const void *handle,
                                                               struct gs_string *result)
{
    (void)scratch;
    uint32_t start, end = 0;
    if (!gs_regex_search(handle, x, &start, &end)) return false;
    result->bytes = x.bytes == NULL ? NULL : x.bytes + start;
    result->length = end - start;
    return true;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a regular expression, and the tables that are made of it (gs_regex.h). */
#ifndef GS_REGEX_TABLE_H
#define GS_REGEX_TABLE_H

#include "gs_scratch.h"

#include <stdio.h>
#include <stdlib.h>

enum { GS_REGEX_BYTE, GS_REGEX_SPLIT, GS_REGEX_BEGIN, GS_REGEX_END, GS_REGEX_MATCH };
enum { GS_REGEX_MATCHES = 1, GS_REGEX_MATCHES_AT_END = 2 };
#define GS_REGEX_MOST_STEPS 4096
#define GS_REGEX_WORDS (GS_REGEX_MOST_STEPS / 64)
#define GS_REGEX_MOST_ROWS 4096
#define GS_REGEX_MOST_CELLS (1u << 16)  /* of a table: 256 KiB */
#define GS_REGEX_MOST_WORK (1ull << 24) /* steps that are looked at while one is made */

/* The first rows of a table: of the empty set, and where a search may end. */
enum { GS_REGEX_DEAD, GS_REGEX_HIT };

/* A set of steps. */
struct gs_regex_steps {
    uint64_t bits[GS_REGEX_WORDS];
};

/* A program: `anywhere` begins a match at every byte. */
struct gs_regex_automaton {
    const uint8_t *steps;
    uint32_t count, start, words;
    bool anywhere;
    bool stops;                         /* at the first match */
    struct gs_regex_steps kept, within; /* what a set keeps; the one of a place within a text */
    uint32_t
        *cells; /* rows of `width`: where each class leads, then what matches; NULL: too many */
    uint32_t width, edge, inside; /* rows of the beginning of a text, and of a place within one */
};

struct gs_regex {
    uint8_t *program;
    const uint8_t *classes, *members;
    uint32_t class_count;
    uint8_t leaves[256]; /* the bytes that lead a search away from where it begins */
    int only;            /* the one that does, or -1 */
    struct gs_regex_automaton search, longest, starts;
};

/* --- steps --- */

static inline uint32_t gs_regex_number(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

/* The kind of a step is its part 0. */
static inline uint32_t gs_regex_part(const struct gs_regex_automaton *a, uint32_t step, int part)
{
    return gs_regex_number(a->steps + 6 * step + 2 * part);
}

static inline bool gs_regex_mark(struct gs_regex_steps *set, uint32_t step)
{
    uint64_t bit = UINT64_C(1) << (step % 64);
    bool is_new = (set->bits[step / 64] & bit) == 0;
    set->bits[step / 64] |= bit;
    return is_new;
}

/* Adds what is reached from a step without a byte. */
static inline void gs_regex_reach(const struct gs_regex_automaton *a, uint32_t first, bool begin,
                                  bool end, struct gs_regex_steps *set)
{
    uint16_t ahead[GS_REGEX_MOST_STEPS + 1];
    uint32_t count = 0;
    if (gs_regex_mark(set, first)) ahead[count++] = (uint16_t)first;
    while (count > 0) {
        uint32_t step = ahead[--count], kind = gs_regex_part(a, step, 0);
        bool passes = (kind == GS_REGEX_BEGIN && begin) || (kind == GS_REGEX_END && end);
        for (int part = 1; part <= (kind == GS_REGEX_SPLIT ? 2 : passes); part++) {
            uint32_t next = gs_regex_part(a, step, part);
            if (gs_regex_mark(set, next)) ahead[count++] = (uint16_t)next;
        }
    }
}

/* Calls `body` with each step of a set. */
#define GS_REGEX_EACH(a, set, step, body)                                                          \
    for (uint32_t word_ = 0; word_ < (a)->words; word_++) {                                        \
        for (uint64_t left_ = (set)->bits[word_]; left_ != 0; left_ &= left_ - 1) {                \
            uint32_t step = word_ * 64 + (uint32_t)__builtin_ctzll(left_);                         \
            body                                                                                   \
        }                                                                                          \
    }

/* Leaves out what only led to others, so that equal sets look equal. */
static inline void gs_regex_keep(const struct gs_regex_automaton *a, struct gs_regex_steps *set)
{
    for (uint32_t word = 0; word < a->words; word++)
        set->bits[word] &= a->kept.bits[word];
}

/* Where a text begins, or a place within it. */
static inline void gs_regex_first(const struct gs_regex_automaton *a, bool begin,
                                  struct gs_regex_steps *set)
{
    memset(set->bits, 0, a->words * sizeof *set->bits);
    gs_regex_reach(a, a->start, begin, false, set);
    gs_regex_keep(a, set);
}

/* The set behind a byte of a class. */
static inline void gs_regex_step(const struct gs_regex *r, const struct gs_regex_automaton *a,
                                 const struct gs_regex_steps *from, uint32_t class_,
                                 struct gs_regex_steps *to)
{
    memset(to->bits, 0, a->words * sizeof *to->bits);
    GS_REGEX_EACH(a, from, step, {
        if (gs_regex_part(a, step, 0) != GS_REGEX_BYTE) continue;
        const uint8_t *members = r->members + gs_regex_part(a, step, 1) * r->class_count;
        if (members[class_]) gs_regex_reach(a, gs_regex_part(a, step, 2), false, false, to);
    })
    if (a->anywhere) gs_regex_reach(a, a->start, false, false, to);
    gs_regex_keep(a, to);
}

/* GS_REGEX_MATCHES: a match ends behind these steps; …_AT_END: one does if the text ends here. */
static inline uint32_t gs_regex_flags(const struct gs_regex_automaton *a,
                                      const struct gs_regex_steps *set, bool begin)
{
    struct gs_regex_steps behind = {{0}};
    GS_REGEX_EACH(a, set, step, {
        uint32_t kind = gs_regex_part(a, step, 0);
        if (kind == GS_REGEX_MATCH) return GS_REGEX_MATCHES | GS_REGEX_MATCHES_AT_END;
        if (kind == GS_REGEX_END)
            gs_regex_reach(a, gs_regex_part(a, step, 1), begin, true, &behind);
    })
    GS_REGEX_EACH(a, &behind, step, {
        if (gs_regex_part(a, step, 0) == GS_REGEX_MATCH) return GS_REGEX_MATCHES_AT_END;
    })
    return 0;
}

static inline bool gs_regex_is_empty(const struct gs_regex_automaton *a,
                                     const struct gs_regex_steps *set)
{
    uint64_t all = 0;
    for (uint32_t word = 0; word < a->words; word++)
        all |= set->bits[word];
    return all == 0;
}

/* --- tables: each set that can be met is a row --- */

struct gs_regex_builder {
    struct gs_regex_steps *sets; /* of each row */
    uint32_t *index;             /* rows by hash, plus 1; twice as many places as rows */
    uint32_t *cells;
    uint32_t rows;
    uint64_t work;
};

static inline uint32_t gs_regex_hash(const struct gs_regex_automaton *a,
                                     const struct gs_regex_steps *set)
{
    uint64_t hash = 0;
    for (uint32_t word = 0; word < a->words; word++)
        hash = (hash ^ set->bits[word]) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
    return (uint32_t)(hash >> 32);
}

/* A new row for a set; false where the table is full. */
static inline bool gs_regex_new_row(const struct gs_regex_automaton *a, struct gs_regex_builder *b,
                                    const struct gs_regex_steps *set, bool begin)
{
    if (b->rows == GS_REGEX_MOST_ROWS || (b->rows + 1) * a->width > GS_REGEX_MOST_CELLS)
        return false;
    b->sets[b->rows] = *set;
    b->cells[b->rows * a->width + a->width - 1] = gs_regex_flags(a, set, begin);
    b->rows++;
    return true;
}

/* The row of a set, made if it is new; false where the table is full. */
static inline bool gs_regex_row(const struct gs_regex_automaton *a, struct gs_regex_builder *b,
                                const struct gs_regex_steps *set, uint32_t *row)
{
    if (a->stops && (gs_regex_flags(a, set, false) & GS_REGEX_MATCHES)) {
        *row = GS_REGEX_HIT;
        return true;
    }
    uint32_t mask = 2 * GS_REGEX_MOST_ROWS - 1, place = gs_regex_hash(a, set) & mask;
    for (; b->index[place] != 0; place = (place + 1) & mask) {
        *row = b->index[place] - 1;
        if (memcmp(b->sets[*row].bits, set->bits, a->words * sizeof *set->bits) == 0) return true;
    }
    *row = b->rows;
    b->index[place] = b->rows + 1;
    return gs_regex_new_row(a, b, set, false);
}

static inline bool gs_regex_fill_row(const struct gs_regex *r, const struct gs_regex_automaton *a,
                                     struct gs_regex_builder *b, uint32_t row)
{
    struct gs_regex_steps next = {{0}};
    for (uint32_t class_ = 0; class_ < r->class_count; class_++) {
        uint32_t to;
        gs_regex_step(r, a, &b->sets[row], class_, &next);
        GS_REGEX_EACH(a, &b->sets[row], step, {
            (void)step;
            b->work++;
        })
        if (!gs_regex_row(a, b, &next, &to) || b->work > GS_REGEX_MOST_WORK) return false;
        b->cells[row * a->width + class_] = to * a->width;
    }
    return true;
}

/* The beginning of a text has a row of its own, since there ^ holds even where $ does. */
static inline bool gs_regex_fill(const struct gs_regex *r, struct gs_regex_automaton *a,
                                 struct gs_regex_builder *b)
{
    struct gs_regex_steps none = {{0}}, edge = {{0}};
    uint32_t row;
    gs_regex_first(a, true, &edge);
    if (!gs_regex_row(a, b, &none, &row) || !gs_regex_new_row(a, b, &none, false)) return false;
    b->cells[GS_REGEX_HIT * a->width + a->width - 1] = GS_REGEX_MATCHES | GS_REGEX_MATCHES_AT_END;
    a->edge = b->rows * a->width;
    if (!gs_regex_new_row(a, b, &edge, true) || !gs_regex_row(a, b, &a->within, &row)) return false;
    a->inside = row * a->width;
    for (row = 0; row < b->rows; row++)
        if (!gs_regex_fill_row(r, a, b, row)) return false;
    return true;
}

/* The table of a program, or none where it would be too large; false without memory. */
static inline bool gs_regex_tabulate(const struct gs_regex *r, struct gs_regex_automaton *a)
{
    struct gs_regex_builder b = {0};
    a->width = r->class_count + 1;
    b.sets = malloc(GS_REGEX_MOST_ROWS * sizeof *b.sets);
    b.index = calloc(2 * GS_REGEX_MOST_ROWS, sizeof *b.index);
    b.cells = malloc(GS_REGEX_MOST_CELLS * sizeof *b.cells);
    bool has_memory = b.sets != NULL && b.index != NULL && b.cells != NULL;
    if (has_memory && gs_regex_fill(r, a, &b)) {
        uint32_t *exact = realloc(b.cells, (size_t)b.rows * a->width * sizeof *b.cells);
        a->cells = exact != NULL ? exact : b.cells;
        b.cells = NULL;
    }
    free(b.sets);
    free(b.index);
    free(b.cells);
    return has_memory;
}

#endif

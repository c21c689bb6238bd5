/* SPDX-License-Identifier: Apache-2.0 */
/* SQL's functions of strings, under DuckDB's names. A string is bytes: places are counted from 1,
 * as SQL does, and in bytes. What they share with Gigascope's is gs_strings.h. */
#ifndef GS_TEXT_H
#define GS_TEXT_H

#include "gs_strings.h"

static inline uint32_t gs_function_length_string(struct gs_string x)
{
    return x.length;
}

/* --- where a string has another --- */

/* The first place at which `part` stands; 0 where it does not. */
static inline uint32_t gs_function_strpos_string_string(struct gs_string x, struct gs_string part)
{
    uint32_t found = gs_string_find(x, part, 0);
    return found <= x.length ? found + 1 : 0;
}

static inline bool gs_function_contains_string_string(struct gs_string x, struct gs_string part)
{
    return gs_string_find(x, part, 0) <= x.length;
}

static inline bool gs_function_starts_with_string_string(struct gs_string x, struct gs_string start)
{
    return gs_string_has_at(x, 0, start);
}

static inline bool gs_function_ends_with_string_string(struct gs_string x, struct gs_string end)
{
    return end.length <= x.length && gs_string_has_at(x, x.length - end.length, end);
}

/* --- parts --- */

/* A number of bytes that may lie on either side of a string of at most GS_STRING_LENGTH_MAX. */
static inline int64_t gs_string_near(int64_t n)
{
    const int64_t most = 4 * (int64_t)GS_STRING_LENGTH_MAX;
    return n > most ? most : n < -most ? -most : n;
}

/* The bytes from offset `from` on, below offset `to`: what of that lies in x. */
static inline struct gs_string gs_string_between(struct gs_string x, int64_t from, int64_t to)
{
    if (from < 0) from = 0;
    if (to > x.length) to = x.length;
    if (from >= to) return gs_string_part(x, 0, 0);
    return gs_string_part(x, (uint32_t)from, (uint32_t)(to - from));
}

/* The offset of a place: from 1 on, below 0 counted from behind. */
static inline int64_t gs_string_offset(struct gs_string x, int64_t place)
{
    place = gs_string_near(place);
    return place < 0 ? (int64_t)x.length + place : place - 1;
}

/* `count` bytes from a place on, below 0 before it, as DuckDB has it. */
static inline struct gs_string gs_function_substring_string_llong_llong(struct gs_scratch *scratch,
                                                                        struct gs_string x,
                                                                        int64_t place,
                                                                        int64_t count)
{
    (void)scratch;
    int64_t from = gs_string_offset(x, place), to = from + gs_string_near(count);
    return from < to ? gs_string_between(x, from, to) : gs_string_between(x, to, from);
}

static inline struct gs_string gs_function_substring_string_llong(struct gs_scratch *scratch,
                                                                  struct gs_string x, int64_t place)
{
    (void)scratch;
    return gs_string_between(x, gs_string_offset(x, place), x.length);
}

/* The first n bytes; of n below 0 all but the last -n. */
static inline struct gs_string gs_function_left_string_llong(struct gs_scratch *scratch,
                                                             struct gs_string x, int64_t n)
{
    (void)scratch;
    n = gs_string_near(n);
    return gs_string_between(x, 0, n < 0 ? (int64_t)x.length + n : n);
}

/* The last n bytes; of n below 0 all but the first -n. */
static inline struct gs_string gs_function_right_string_llong(struct gs_scratch *scratch,
                                                              struct gs_string x, int64_t n)
{
    (void)scratch;
    n = gs_string_near(n);
    return gs_string_between(x, n < 0 ? -n : (int64_t)x.length - n, x.length);
}

static inline uint32_t gs_string_parts(struct gs_string x, struct gs_string separator)
{
    uint32_t parts = 1, at = gs_string_find(x, separator, 0);
    for (; at < x.length; parts++)
        at = gs_string_find(x, separator, at + separator.length);
    return parts;
}

/* Part n, from 1, below 0 counted from behind; empty where there is none. An empty separator parts
 * nothing, as in Postgres. */
static inline struct gs_string
gs_function_split_part_string_string_llong(struct gs_scratch *scratch, struct gs_string x,
                                           struct gs_string separator, int64_t n)
{
    n = gs_string_near(n);
    if (separator.length == 0) return gs_string_between(x, 0, n == 1 || n == -1 ? x.length : 0);
    if (n < 0) n += (int64_t)gs_string_parts(x, separator) + 1;
    if (n < 1) return gs_string_part(x, 0, 0);
    return gs_function_get_list_entry_string_string_uint(scratch, x, separator, (uint32_t)n - 1);
}

/* --- without what stands at the ends --- */

static inline bool gs_string_has_byte(struct gs_string x, uint8_t byte)
{
    return x.length != 0 && memchr(x.bytes, byte, x.length) != NULL;
}

static inline struct gs_string gs_function_ltrim_string_string(struct gs_scratch *scratch,
                                                               struct gs_string x,
                                                               struct gs_string bytes)
{
    (void)scratch;
    uint32_t at = 0;
    while (at < x.length && gs_string_has_byte(bytes, x.bytes[at]))
        at++;
    return gs_string_part(x, at, x.length - at);
}

static inline struct gs_string gs_function_rtrim_string_string(struct gs_scratch *scratch,
                                                               struct gs_string x,
                                                               struct gs_string bytes)
{
    (void)scratch;
    while (x.length > 0 && gs_string_has_byte(bytes, x.bytes[x.length - 1]))
        x.length--;
    return x;
}

static inline struct gs_string gs_function_trim_string_string(struct gs_scratch *scratch,
                                                              struct gs_string x,
                                                              struct gs_string bytes)
{
    x = gs_function_ltrim_string_string(scratch, x, bytes);
    return gs_function_rtrim_string_string(scratch, x, bytes);
}

#define GS_TRIM_SPACES(name)                                                                       \
    static inline struct gs_string gs_function_##name##_string(struct gs_scratch *scratch,         \
                                                               struct gs_string x)                 \
    {                                                                                              \
        const struct gs_string space = {(const uint8_t *)" ", 1};                                  \
        return gs_function_##name##_string_string(scratch, x, space);                              \
    }

GS_TRIM_SPACES(ltrim)
GS_TRIM_SPACES(rtrim)
GS_TRIM_SPACES(trim)
#undef GS_TRIM_SPACES

/* --- new strings --- */

static inline uint8_t *gs_bytes_put(uint8_t *at, struct gs_string part)
{
    if (part.length != 0) memcpy(at, part.bytes, part.length);
    return at + part.length;
}

/* One behind the other. x that ends where the scratch does is not copied, so that a chain of these
 * takes the room of its result. */
static inline bool gs_function_concat_string_string(struct gs_scratch *scratch, struct gs_string x,
                                                    struct gs_string y, struct gs_string *result)
{
    uint8_t *bytes;
    if (x.length + (uint64_t)y.length > GS_STRING_LENGTH_MAX) return false;
    const uint8_t *end = scratch->bytes + scratch->used;
    if (x.length != 0 && x.bytes >= scratch->bytes && x.bytes + x.length == end) {
        if (!gs_string_new(scratch, y.length, &bytes, result)) return false;
        gs_bytes_put(bytes, y);
        *result = (struct gs_string){x.bytes, x.length + y.length};
        return true;
    }
    if (!gs_string_new(scratch, x.length + y.length, &bytes, result)) return false;
    gs_bytes_put(gs_bytes_put(bytes, x), y);
    return true;
}

/* x with `to` wherever `from` stood, from left to right; an empty `from` stands nowhere. */
static inline bool gs_function_replace_string_string_string(struct gs_scratch *scratch,
                                                            struct gs_string x,
                                                            struct gs_string from,
                                                            struct gs_string to,
                                                            struct gs_string *result)
{
    *result = x;
    if (from.length == 0 || gs_string_find(x, from, 0) > x.length) return true;
    uint64_t found = 0;
    for (uint32_t at = 0; (at = gs_string_find(x, from, at)) <= x.length; at += from.length)
        found++;
    uint64_t length = x.length - found * from.length + found * to.length;
    uint8_t *bytes;
    if (length > GS_STRING_LENGTH_MAX) return false;
    if (!gs_string_new(scratch, (uint32_t)length, &bytes, result)) return false;
    uint32_t behind = 0;
    for (uint32_t at = 0; (at = gs_string_find(x, from, behind)) <= x.length;) {
        bytes = gs_bytes_put(bytes, gs_string_part(x, behind, at - behind));
        bytes = gs_bytes_put(bytes, to);
        behind = at + from.length;
    }
    gs_bytes_put(bytes, gs_string_part(x, behind, x.length - behind));
    return true;
}

static inline bool gs_function_reverse_string(struct gs_scratch *scratch, struct gs_string x,
                                              struct gs_string *result)
{
    uint8_t *bytes;
    if (!gs_string_new(scratch, x.length, &bytes, result)) return false;
    for (uint32_t i = 0; i < x.length; i++)
        bytes[i] = x.bytes[x.length - 1 - i];
    return true;
}

/* `length` bytes of x again and again. */
static inline uint8_t *gs_bytes_fill(uint8_t *at, struct gs_string x, uint32_t length)
{
    for (; length > x.length; length -= x.length)
        at = gs_bytes_put(at, x);
    return gs_bytes_put(at, gs_string_part(x, 0, length));
}

static inline bool gs_function_repeat_string_llong(struct gs_scratch *scratch, struct gs_string x,
                                                   int64_t n, struct gs_string *result)
{
    uint8_t *bytes;
    *result = gs_string_part(x, 0, 0);
    if (n <= 0 || x.length == 0) return true;
    if (n > GS_STRING_LENGTH_MAX / x.length) return false;
    if (!gs_string_new(scratch, (uint32_t)n * x.length, &bytes, result)) return false;
    gs_bytes_fill(bytes, x, (uint32_t)n * x.length);
    return true;
}

/* The first n bytes of x, or x and as much of `fill` as makes them n, before it or behind it. An
 * empty `fill` makes nothing longer, as in Postgres. */
static inline bool gs_string_padded(struct gs_scratch *scratch, struct gs_string x, int64_t n,
                                    struct gs_string fill, bool is_before, struct gs_string *result)
{
    uint8_t *bytes;
    *result = gs_string_between(x, 0, n);
    if (n <= x.length || fill.length == 0) return true;
    if (n > GS_STRING_LENGTH_MAX) return false;
    if (!gs_string_new(scratch, (uint32_t)n, &bytes, result)) return false;
    if (!is_before) bytes = gs_bytes_put(bytes, x);
    bytes = gs_bytes_fill(bytes, fill, (uint32_t)n - x.length);
    if (is_before) gs_bytes_put(bytes, x);
    return true;
}

static inline bool gs_function_lpad_string_llong_string(struct gs_scratch *scratch,
                                                        struct gs_string x, int64_t n,
                                                        struct gs_string fill,
                                                        struct gs_string *result)
{
    return gs_string_padded(scratch, x, n, fill, true, result);
}

static inline bool gs_function_rpad_string_llong_string(struct gs_scratch *scratch,
                                                        struct gs_string x, int64_t n,
                                                        struct gs_string fill,
                                                        struct gs_string *result)
{
    return gs_string_padded(scratch, x, n, fill, false, result);
}

#endif

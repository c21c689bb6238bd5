/* SPDX-License-Identifier: Apache-2.0 */
/* The string functions of GSQL section 4. A string is bytes: offsets, lengths and order count
 * bytes, and case is ASCII's. Results that are a part of an argument point into it; others are
 * made in the scratch and are no value where it is full. */
#ifndef GS_STRINGS_H
#define GS_STRINGS_H

#include "gs_scratch.h"

/* The longest string that GSQL knows (section 3). */
#define GS_STRING_LENGTH_MAX 65536u

/* `length` bytes from `offset` on, both within the string. */
static inline struct gs_string gs_string_part(struct gs_string x, uint32_t offset, uint32_t length)
{
    struct gs_string part = {length == 0 ? x.bytes : x.bytes + offset, length};
    return part;
}

/* Whether the bytes at `offset` are those of `part`: the one place that compares bytes, because
 * memcmp must not be given the NULL of an empty string. */
static inline bool gs_string_has_at(struct gs_string x, uint32_t offset, struct gs_string part)
{
    if (offset > x.length || part.length > x.length - offset) return false;
    return part.length == 0 || memcmp(x.bytes + offset, part.bytes, part.length) == 0;
}

static inline bool gs_string_equal(struct gs_string x, struct gs_string y)
{
    return x.length == y.length && gs_string_has_at(x, 0, y);
}

/* <0, 0, >0 as the bytes compare; a string comes after its own beginnings. */
static inline int gs_string_compare(struct gs_string x, struct gs_string y)
{
    uint32_t shorter = x.length < y.length ? x.length : y.length;
    int order = shorter == 0 ? 0 : memcmp(x.bytes, y.bytes, shorter);
    return order != 0 ? order : (x.length > y.length) - (x.length < y.length);
}

/* Where `part` begins in x at or after `from`; x.length + 1 where it does not. */
static inline uint32_t gs_string_find(struct gs_string x, struct gs_string part, uint32_t from)
{
    if (from > x.length || part.length > x.length - from) return x.length + 1;
    if (part.length == 0) return from;
    uint32_t last = x.length - part.length;
    while (from <= last) {
        const uint8_t *hit = memchr(x.bytes + from, part.bytes[0], last - from + 1);
        if (hit == NULL) break;
        from = (uint32_t)(hit - x.bytes);
        if (gs_string_has_at(x, from, part)) return from;
        from++;
    }
    return x.length + 1;
}

/* --- predicates; the order of arguments is Gigascope's --- */

static inline bool gs_predicate_str_exists_substr_string_string(struct gs_string x,
                                                                struct gs_string part)
{
    return gs_string_find(x, part, 0) <= x.length;
}

static inline bool gs_predicate_str_match_start_string_string(struct gs_string x,
                                                              struct gs_string start)
{
    return gs_string_has_at(x, 0, start);
}

static inline bool gs_predicate_str_match_offset_uint_string_string(uint32_t offset,
                                                                    struct gs_string part,
                                                                    struct gs_string x)
{
    return gs_string_has_at(x, offset, part);
}

static inline bool gs_predicate_byte_match_offset_uint_uint_string(uint32_t offset, uint32_t byte,
                                                                   struct gs_string x)
{
    return offset < x.length && x.bytes[offset] == byte;
}

/* --- parts of a string --- */

static inline uint32_t gs_function_str_length_string(struct gs_string x)
{
    return x.length;
}

/* The first n bytes, or all. */
static inline struct gs_string gs_function_str_truncate_string_uint(struct gs_scratch *scratch,
                                                                    struct gs_string x, uint32_t n)
{
    (void)scratch;
    return gs_string_part(x, 0, n < x.length ? n : x.length);
}

/* The last n bytes, or all. */
static inline struct gs_string gs_function_str_suffix_string_uint(struct gs_scratch *scratch,
                                                                  struct gs_string x, uint32_t n)
{
    (void)scratch;
    uint32_t length = n < x.length ? n : x.length;
    return gs_string_part(x, x.length - length, length);
}

/* Entry `index`, from 0, of a list with this separator; empty where there is none, as in
 * Gigascope and as SQL's split_part. */
static inline struct gs_string
gs_function_get_list_entry_string_string_uint(struct gs_scratch *scratch, struct gs_string list,
                                              struct gs_string separator, uint32_t index)
{
    (void)scratch;
    struct gs_string none = {list.bytes, 0};
    if (separator.length == 0) return none;
    uint32_t start = 0, end = gs_string_find(list, separator, 0);
    for (; index > 0 && end < list.length; index--) {
        start = end + separator.length;
        end = gs_string_find(list, separator, start);
    }
    if (index > 0) return none;
    return gs_string_part(list, start, (end < list.length ? end : list.length) - start);
}

/* --- new strings --- */

/* A string in the scratch to be filled through `bytes`; false where there is no room. */
static inline bool gs_string_new(struct gs_scratch *scratch, uint32_t length, uint8_t **bytes,
                                 struct gs_string *result)
{
    if (length > GS_STRING_LENGTH_MAX) return false;
    *bytes = gs_scratch_take(scratch, length);
    result->bytes = *bytes;
    result->length = length;
    return *bytes != NULL;
}

static inline bool gs_function_lower_string(struct gs_scratch *scratch, struct gs_string x,
                                            struct gs_string *result)
{
    uint8_t *bytes;
    if (!gs_string_new(scratch, x.length, &bytes, result)) return false;
    for (uint32_t i = 0; i < x.length; i++) {
        uint8_t c = x.bytes[i];
        bytes[i] = c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
    }
    return true;
}

static inline bool gs_function_upper_string(struct gs_scratch *scratch, struct gs_string x,
                                            struct gs_string *result)
{
    uint8_t *bytes;
    if (!gs_string_new(scratch, x.length, &bytes, result)) return false;
    for (uint32_t i = 0; i < x.length; i++) {
        uint8_t c = x.bytes[i];
        bytes[i] = c >= 'a' && c <= 'z' ? (uint8_t)(c & ~0x20) : c;
    }
    return true;
}

/* Two digits a byte: 'AB' is 4142. */
static inline bool gs_function_to_hex_string_string(struct gs_scratch *scratch, struct gs_string x,
                                                    struct gs_string *result)
{
    uint8_t *bytes;
    if (x.length > GS_STRING_LENGTH_MAX / 2) return false;
    if (!gs_string_new(scratch, 2 * x.length, &bytes, result)) return false;
    for (uint32_t i = 0; i < x.length; i++) {
        bytes[2 * i] = (uint8_t) "0123456789abcdef"[x.bytes[i] >> 4];
        bytes[2 * i + 1] = (uint8_t) "0123456789abcdef"[x.bytes[i] & 15];
    }
    return true;
}

/* As few digits as the number needs: 255 is ff. */
static inline bool gs_function_to_hex_string_ullong(struct gs_scratch *scratch, uint64_t x,
                                                    struct gs_string *result)
{
    uint8_t *bytes;
    uint32_t digits = x == 0 ? 1 : (uint32_t)(67 - __builtin_clzll(x)) / 4;
    if (!gs_string_new(scratch, digits, &bytes, result)) return false;
    for (uint32_t i = digits; i > 0; i--, x >>= 4) {
        bytes[i - 1] = (uint8_t) "0123456789abcdef"[x & 15];
    }
    return true;
}

/* --- what a string says --- */

/* One number of a dotted address, at most 255 and without leading zeros (inet_pton's rule, because
 * some programs read those as octal); moves *at behind it. */
static inline bool gs_string_octet(struct gs_string x, uint32_t *at, uint32_t *octet)
{
    uint32_t start = *at;
    *octet = 0;
    while (*at < x.length && x.bytes[*at] >= '0' && x.bytes[*at] <= '9' && *at - start < 3) {
        *octet = *octet * 10 + (x.bytes[(*at)++] - '0');
    }
    uint32_t digits = *at - start;
    return digits > 0 && *octet <= 255 && (digits == 1 || x.bytes[start] != '0');
}

/* The address that the whole string is in dotted form; anything else is no value. */
static inline bool gs_function_strtoip_string(struct gs_string x, uint32_t *result)
{
    uint32_t at = 0, octet, ip = 0;
    for (int i = 0; i < 4; i++) {
        if (i > 0 && (at >= x.length || x.bytes[at++] != '.')) return false;
        if (!gs_string_octet(x, &at, &octet)) return false;
        ip = ip << 8 | octet;
    }
    *result = ip;
    return at == x.length;
}

/* --- the hash of a string: XXH64, as published by its author --- */

#define GS_XXH64_PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define GS_XXH64_PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define GS_XXH64_PRIME_3 UINT64_C(0x165667b19e3779f9)
#define GS_XXH64_PRIME_4 UINT64_C(0x85ebca77c2b2ae63)
#define GS_XXH64_PRIME_5 UINT64_C(0x27d4eb2f165667c5)

static inline uint64_t gs_xxh64_rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline uint64_t gs_load_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

static inline uint64_t gs_xxh64_round(uint64_t lane, uint64_t word)
{
    return gs_xxh64_rotate(lane + word * GS_XXH64_PRIME_2, 31) * GS_XXH64_PRIME_1;
}

/* Four lanes over blocks of 32 bytes, folded into one; moves *at behind the last whole block. */
static inline uint64_t gs_xxh64_blocks(struct gs_string x, uint64_t seed, uint32_t *at)
{
    uint64_t lanes[4] = {seed + GS_XXH64_PRIME_1 + GS_XXH64_PRIME_2, seed + GS_XXH64_PRIME_2, seed,
                         seed - GS_XXH64_PRIME_1};
    for (; x.length - *at >= 32; *at += 32) {
        for (int i = 0; i < 4; i++) {
            lanes[i] = gs_xxh64_round(lanes[i], gs_load_word(x.bytes + *at + 8 * i));
        }
    }
    uint64_t hash = gs_xxh64_rotate(lanes[0], 1) + gs_xxh64_rotate(lanes[1], 7) +
                    gs_xxh64_rotate(lanes[2], 12) + gs_xxh64_rotate(lanes[3], 18);
    for (int i = 0; i < 4; i++) {
        hash = (hash ^ gs_xxh64_round(0, lanes[i])) * GS_XXH64_PRIME_1 + GS_XXH64_PRIME_4;
    }
    return hash;
}

/* The fewer than 32 bytes that are left. */
static inline uint64_t gs_xxh64_tail(struct gs_string x, uint64_t hash, uint32_t at)
{
    for (; x.length - at >= 8; at += 8) {
        hash ^= gs_xxh64_round(0, gs_load_word(x.bytes + at));
        hash = gs_xxh64_rotate(hash, 27) * GS_XXH64_PRIME_1 + GS_XXH64_PRIME_4;
    }
    if (x.length - at >= 4) {
        uint32_t half;
        memcpy(&half, x.bytes + at, 4);
        hash = gs_xxh64_rotate(hash ^ half * GS_XXH64_PRIME_1, 23) * GS_XXH64_PRIME_2;
        hash += GS_XXH64_PRIME_3;
        at += 4;
    }
    for (; at < x.length; at++) {
        hash = gs_xxh64_rotate(hash ^ x.bytes[at] * GS_XXH64_PRIME_5, 11) * GS_XXH64_PRIME_1;
    }
    return hash;
}

static inline uint64_t gs_xxh64(struct gs_string x, uint64_t seed)
{
    uint32_t at = 0;
    uint64_t hash = x.length >= 32 ? gs_xxh64_blocks(x, seed, &at) : seed + GS_XXH64_PRIME_5;
    hash = gs_xxh64_tail(x, hash + x.length, at);
    hash = (hash ^ hash >> 33) * GS_XXH64_PRIME_2;
    hash = (hash ^ hash >> 29) * GS_XXH64_PRIME_3;
    return hash ^ hash >> 32;
}

/* The same on every host and in every version. The seed is that of Spark's xxhash64, so that the
 * high level gives the same number there with a native function. */
static inline uint64_t gs_function_string_hash_string(struct gs_string x)
{
    return gs_xxh64(x, 42);
}

#endif

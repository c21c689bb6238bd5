/* SPDX-License-Identifier: Apache-2.0 */
/* Sums that round nothing, in whole numbers of a fixed number of words: whichever way rows come
 * and part sums are merged, the same bits leave. They are rounded once, when a group leaves.
 *
 * A number is held in two's complement, its least word first. Of floats the least bit of a sum is
 * worth 2^-1074, the least float, and that of squares 2^-2148; what is left above the greatest one
 * is room for 2^62 rows. */
#ifndef GS_EXACT_H
#define GS_EXACT_H

#include "gs_types.h"

#include <math.h>

#define GS_FLOAT_LEAST_EXPONENT (-1074)
#define GS_FLOAT_SUM_WORDS 34
#define GS_FLOAT_SQUARES_WORDS 67
#define GS_WHOLE_SUM_WORDS 3
#define GS_WHOLE_SQUARES_WORDS 4

/* words += magnitude * 2^shift, or -=. Carries run upwards as far as they must. */
static inline void gs_exact_add(uint64_t *words, unsigned count, unsigned __int128 magnitude,
                                unsigned shift, bool negative)
{
    unsigned at = shift / 64, bits = shift % 64;
    uint64_t low = (uint64_t)magnitude, high = (uint64_t)(magnitude >> 64);
    uint64_t parts[3] = {low << bits, high << bits, 0};
    if (bits != 0) {
        parts[1] |= low >> (64 - bits);
        parts[2] = high >> (64 - bits);
    }
    uint64_t carry = 0;
    for (unsigned i = 0; at + i < count && (i < 3 || carry != 0); i++) {
        uint64_t *word = &words[at + i], part = i < 3 ? parts[i] : 0, result;
        if (negative) {
            bool borrowed = __builtin_sub_overflow(*word, part, &result);
            carry = (uint64_t)__builtin_sub_overflow(result, carry, word) | borrowed;
        } else {
            bool carried = __builtin_add_overflow(*word, part, &result);
            carry = (uint64_t)__builtin_add_overflow(result, carry, word) | carried;
        }
    }
}

static inline void gs_exact_add_whole(uint64_t *words, unsigned count, __int128 x)
{
    unsigned __int128 size = x < 0 ? -(unsigned __int128)x : (unsigned __int128)x;
    gs_exact_add(words, count, size, 0, x < 0);
}

static inline void gs_exact_join(uint64_t *words, const uint64_t *other, unsigned count)
{
    uint64_t carry = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t sum;
        bool carried = __builtin_add_overflow(words[i], other[i], &sum);
        carry = (uint64_t)__builtin_add_overflow(sum, carry, &words[i]) | carried;
    }
}

static inline bool gs_exact_is_negative(const uint64_t *words, unsigned count)
{
    return words[count - 1] >> 63 != 0;
}

static inline void gs_exact_negate(uint64_t *words, unsigned count)
{
    uint64_t carry = 1;
    for (unsigned i = 0; i < count; i++)
        carry = __builtin_add_overflow(~words[i], carry, &words[i]);
}

/* A finite float as mantissa * 2^(shift - 1074). */
struct gs_float_parts {
    uint64_t mantissa;
    unsigned shift;
    bool negative;
};

static inline struct gs_float_parts gs_float_parts(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    unsigned exponent = (unsigned)(bits >> 52) & 0x7ff;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    struct gs_float_parts parts = {fraction, 0, bits >> 63 != 0};
    if (exponent == 0) return parts;
    parts.mantissa |= UINT64_C(1) << 52;
    parts.shift = exponent - 1;
    return parts;
}

/* A number of any size as mantissa * 2^exponent: what is divided by a count may be finite though
 * the number itself is not. */
struct gs_scaled {
    double mantissa;
    int exponent;
};

/* The nearest one (ties to even) to words * 2^exponent, words >= 0. */
static inline struct gs_scaled gs_exact_round(const uint64_t *words, unsigned count, int exponent)
{
    unsigned top = count;
    while (top > 0 && words[top - 1] == 0)
        top--;
    if (top == 0) return (struct gs_scaled){0, 0};
    unsigned space = (unsigned)__builtin_clzll(words[top - 1]);
    uint64_t head = words[top - 1] << space;
    if (space != 0 && top > 1) head |= words[top - 2] >> (64 - space);
    bool rest = space != 0 && top > 1 && words[top - 2] << space != 0;
    for (unsigned i = 0; i + (space == 0 ? 1 : 2) < top; i++)
        rest = rest || words[i] != 0;
    head |= rest; /* far below the last bit that a float keeps: it breaks ties, and no more */
    return (struct gs_scaled){(double)head, exponent + 64 * (int)(top - 1) - (int)space};
}

/* x / divisor; false where it is not finite. */
static inline bool gs_scaled_quotient(struct gs_scaled x, double divisor, double *result)
{
    *result = ldexp(x.mantissa / divisor, x.exponent);
    return isfinite(*result);
}

/* product = a * b, all of them >= 0; product has room for it, and is zero. */
static inline void gs_exact_multiply(uint64_t *product, const uint64_t *a, unsigned a_count,
                                     const uint64_t *b, unsigned b_count)
{
    for (unsigned i = 0; i < a_count; i++) {
        uint64_t carry = 0;
        for (unsigned j = 0; a[i] != 0 && j < b_count; j++) {
            unsigned __int128 sum = (unsigned __int128)a[i] * b[j] + product[i + j] + carry;
            product[i + j] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
        if (a[i] != 0) product[i + b_count] = carry;
    }
}

/* (count * squares - sum^2) / (count * (count - 1)) * 2^exponent, rounded once: the variance of a
 * sample of 2 rows or more. */
static inline bool gs_exact_variance(uint64_t count, const uint64_t *sum, unsigned sum_words,
                                     const uint64_t *squares, unsigned squares_words, int exponent,
                                     double *result)
{
    uint64_t size[GS_FLOAT_SUM_WORDS], square[2 * GS_FLOAT_SUM_WORDS] = {0};
    uint64_t scaled[GS_FLOAT_SQUARES_WORDS + 1] = {0};
    unsigned words = squares_words + 1;
    memcpy(size, sum, sum_words * sizeof *size);
    if (gs_exact_is_negative(size, sum_words)) gs_exact_negate(size, sum_words);
    gs_exact_multiply(square, size, sum_words, size, sum_words);
    gs_exact_multiply(scaled, squares, squares_words, &count, 1);
    uint64_t borrow = 0;
    for (unsigned i = 0; i < words; i++) {
        uint64_t part;
        bool borrowed = __builtin_sub_overflow(scaled[i], square[i], &part);
        borrow = (uint64_t)__builtin_sub_overflow(part, borrow, &scaled[i]) | borrowed;
    }
    double pairs = (double)((unsigned __int128)count * (count - 1));
    return gs_scaled_quotient(gs_exact_round(scaled, words, exponent), pairs, result);
}

/* --- sums of floats --- */

struct gs_float_sum {
    uint64_t words[GS_FLOAT_SUM_WORDS];
};

static inline void gs_float_sum_add(struct gs_float_sum *s, double x)
{
    struct gs_float_parts parts = gs_float_parts(x);
    gs_exact_add(s->words, GS_FLOAT_SUM_WORDS, parts.mantissa, parts.shift, parts.negative);
}

static inline void gs_float_sum_start(struct gs_float_sum *s, double x)
{
    memset(s, 0, sizeof *s);
    gs_float_sum_add(s, x);
}

static inline void gs_float_sum_join(struct gs_float_sum *s, const struct gs_float_sum *other)
{
    gs_exact_join(s->words, other->words, GS_FLOAT_SUM_WORDS);
}

/* The sum divided by `divisor`; false where it is not finite. */
static inline bool gs_float_sum_quotient(const struct gs_float_sum *s, uint64_t divisor,
                                         double *result)
{
    struct gs_float_sum size = *s;
    bool negative = gs_exact_is_negative(size.words, GS_FLOAT_SUM_WORDS);
    if (negative) gs_exact_negate(size.words, GS_FLOAT_SUM_WORDS);
    struct gs_scaled scaled =
        gs_exact_round(size.words, GS_FLOAT_SUM_WORDS, GS_FLOAT_LEAST_EXPONENT);
    bool is_finite = gs_scaled_quotient(scaled, (double)divisor, result);
    if (negative) *result = -*result;
    return is_finite;
}

/* --- count, sum and sum of squares: what a variance is made of --- */

struct gs_float_moments {
    uint64_t count;
    uint64_t sum[GS_FLOAT_SUM_WORDS];
    uint64_t squares[GS_FLOAT_SQUARES_WORDS];
};

static inline void gs_float_moments_add(struct gs_float_moments *m, double x)
{
    struct gs_float_parts parts = gs_float_parts(x);
    unsigned __int128 square = (unsigned __int128)parts.mantissa * parts.mantissa;
    m->count++;
    gs_exact_add(m->sum, GS_FLOAT_SUM_WORDS, parts.mantissa, parts.shift, parts.negative);
    gs_exact_add(m->squares, GS_FLOAT_SQUARES_WORDS, square, 2 * parts.shift, false);
}

static inline void gs_float_moments_join(struct gs_float_moments *m,
                                         const struct gs_float_moments *other)
{
    m->count += other->count;
    gs_exact_join(m->sum, other->sum, GS_FLOAT_SUM_WORDS);
    gs_exact_join(m->squares, other->squares, GS_FLOAT_SQUARES_WORDS);
}

static inline bool gs_float_moments_variance(const struct gs_float_moments *m, double *result)
{
    return gs_exact_variance(m->count, m->sum, GS_FLOAT_SUM_WORDS, m->squares,
                             GS_FLOAT_SQUARES_WORDS, 2 * GS_FLOAT_LEAST_EXPONENT, result);
}

struct gs_whole_moments {
    uint64_t count;
    uint64_t sum[GS_WHOLE_SUM_WORDS];
    uint64_t squares[GS_WHOLE_SQUARES_WORDS];
};

static inline void gs_whole_moments_add(struct gs_whole_moments *m, __int128 x)
{
    unsigned __int128 size = x < 0 ? -(unsigned __int128)x : (unsigned __int128)x;
    m->count++;
    gs_exact_add(m->sum, GS_WHOLE_SUM_WORDS, size, 0, x < 0);
    gs_exact_add(m->squares, GS_WHOLE_SQUARES_WORDS, size * size, 0, false);
}

static inline void gs_whole_moments_join(struct gs_whole_moments *m,
                                         const struct gs_whole_moments *other)
{
    m->count += other->count;
    gs_exact_join(m->sum, other->sum, GS_WHOLE_SUM_WORDS);
    gs_exact_join(m->squares, other->squares, GS_WHOLE_SQUARES_WORDS);
}

static inline bool gs_whole_moments_variance(const struct gs_whole_moments *m, double *result)
{
    return gs_exact_variance(m->count, m->sum, GS_WHOLE_SUM_WORDS, m->squares,
                             GS_WHOLE_SQUARES_WORDS, 0, result);
}

/* --- the same below the border: small, of differences from the slot's first value, so that few
 * rows leave it; what does not fit starts a new slot --- */

struct gs_shifted_moments {
    uint64_t count;
    uint64_t origin; /* the bits of the first value */
    int64_t sum;
    uint64_t squares[2]; /* the low word, the high one */
};

static inline struct gs_shifted_moments gs_shifted_moments_of(uint64_t origin)
{
    return (struct gs_shifted_moments){1, origin, 0, {0, 0}};
}

static inline unsigned __int128 gs_shifted_squares(const struct gs_shifted_moments *m)
{
    return (unsigned __int128)m->squares[1] << 64 | m->squares[0];
}

/* Whether a row at that difference from the first value would not fit. */
static inline bool gs_shifted_moments_overflow(const struct gs_shifted_moments *m,
                                               __int128 difference)
{
    int64_t sum;
    unsigned __int128 squares;
    return difference != (int64_t)difference ||
           __builtin_add_overflow(m->sum, (int64_t)difference, &sum) ||
           __builtin_add_overflow(gs_shifted_squares(m),
                                  (unsigned __int128)(difference * difference), &squares);
}

/* Only where it fits. */
static inline void gs_shifted_moments_add(struct gs_shifted_moments *m, int64_t difference)
{
    unsigned __int128 squares = gs_shifted_squares(m) + (unsigned __int128)difference * difference;
    m->count++;
    m->sum += difference;
    m->squares[0] = (uint64_t)squares;
    m->squares[1] = (uint64_t)(squares >> 64);
}

/* sum (o + d) = n o + sum d, and sum (o + d)^2 = n o^2 + 2 o sum d + sum d^2. */
static inline void gs_whole_moments_merge(struct gs_whole_moments *m, struct gs_shifted_moments s,
                                          __int128 origin)
{
    unsigned __int128 size = origin < 0 ? -(unsigned __int128)origin : (unsigned __int128)origin;
    unsigned __int128 square = size * size;
    m->count += s.count;
    gs_exact_add(m->sum, GS_WHOLE_SUM_WORDS, size * s.count, 0, origin < 0);
    gs_exact_add_whole(m->sum, GS_WHOLE_SUM_WORDS, s.sum);
    uint64_t *squares = m->squares;
    const unsigned words = GS_WHOLE_SQUARES_WORDS;
    gs_exact_add(squares, words, (unsigned __int128)(uint64_t)square * s.count, 0, false);
    gs_exact_add(squares, words, (square >> 64) * s.count, 64, false);
    gs_exact_add(squares, words, gs_shifted_squares(&s), 0, false);
    unsigned __int128 sum = s.sum < 0 ? -(unsigned __int128)s.sum : (unsigned __int128)s.sum;
    gs_exact_add(squares, words, size * sum, 1, (origin < 0) != (s.sum < 0));
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that carry a bound of punctuation through a monotone expression (OPERATORS section 1;
 * gigastream/gsql/order/bounds.py has the same functions, their inverses and the reasons).
 *
 * GS_BOUND_NONE and GS_BOUND_END pass every step unchanged. A result below the range promises
 * nothing, one above it promises the greatest bound that is not the end: neither says too much.
 * Divisors, multiples and numerators are greater than 0. */
#ifndef GS_BOUNDS_H
#define GS_BOUNDS_H

#include "gs_types.h"

static inline bool gs_bound_is_special(gs_bound b)
{
    return b == GS_BOUND_NONE || b == GS_BOUND_END;
}

static inline gs_bound gs_bound_saturate(__int128 value)
{
    if (value <= GS_BOUND_NONE) return GS_BOUND_NONE;
    return value >= GS_BOUND_END ? GS_BOUND_END - 1 : (gs_bound)value;
}

static inline int64_t gs_bound_floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static inline int64_t gs_bound_ceiling_quotient(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

static inline gs_bound gs_bound_add(gs_bound b, int64_t c)
{
    return gs_bound_is_special(b) ? b : gs_bound_saturate((__int128)b + c);
}

static inline gs_bound gs_bound_mul(gs_bound b, int64_t c)
{
    return gs_bound_is_special(b) ? b : gs_bound_saturate((__int128)b * c);
}

static inline gs_bound gs_bound_div(gs_bound b, int64_t c)
{
    return gs_bound_is_special(b) ? b : b / c;
}

static inline gs_bound gs_bound_floor_div(gs_bound b, int64_t c)
{
    return gs_bound_is_special(b) ? b : gs_bound_floor_quotient(b, c);
}

static inline gs_bound gs_bound_ceiling_div(gs_bound b, int64_t c)
{
    return gs_bound_is_special(b) ? b : gs_bound_ceiling_quotient(b, c);
}

static inline gs_bound gs_bound_floor_multiple(gs_bound b, int64_t c)
{
    if (gs_bound_is_special(b)) return b;
    return gs_bound_saturate((__int128)gs_bound_floor_quotient(b, c) * c);
}

static inline gs_bound gs_bound_ceiling_multiple(gs_bound b, int64_t c)
{
    if (gs_bound_is_special(b)) return b;
    return gs_bound_saturate((__int128)gs_bound_ceiling_quotient(b, c) * c);
}

static inline gs_bound gs_bound_at_least(gs_bound b, int64_t c)
{
    return gs_bound_is_special(b) || b > c ? b : gs_bound_saturate(c);
}

static inline gs_bound gs_bound_at_most(gs_bound b, int64_t c)
{
    return gs_bound_is_special(b) || b < c ? b : gs_bound_saturate(c);
}

/* -(c / x), x > 0 */
static inline gs_bound gs_bound_negative_reciprocal(gs_bound b, int64_t c)
{
    if (gs_bound_is_special(b)) return b;
    return -(c / (b < 1 ? 1 : b));
}

/* c / -x, x < 0 */
static inline gs_bound gs_bound_reciprocal(gs_bound b, int64_t c)
{
    if (gs_bound_is_special(b)) return b;
    return gs_bound_saturate(c / (b > -1 ? 1 : -b));
}

/* x + y: a stream that has ended in one column has ended. */
static inline gs_bound gs_bound_sum(gs_bound a, gs_bound b)
{
    if (a == GS_BOUND_END || b == GS_BOUND_END) return GS_BOUND_END;
    if (a == GS_BOUND_NONE || b == GS_BOUND_NONE) return GS_BOUND_NONE;
    return gs_bound_saturate((__int128)a + b);
}

static inline gs_bound gs_bound_min(gs_bound a, gs_bound b)
{
    return a < b ? a : b;
}

static inline gs_bound gs_bound_max(gs_bound a, gs_bound b)
{
    return a > b ? a : b;
}

/* What is held is before the end, whatever its value. */
static inline gs_bound gs_bound_of_held(gs_bound b)
{
    return b == GS_BOUND_END ? b - 1 : b;
}

/* The last value that something concerns, where this one may stand for all that are beyond bounds,
 * which none but the end passes: the greatest that one does. */
static inline gs_bound gs_bound_passable(gs_bound b)
{
    return b == GS_BOUND_END - 1 ? b - 1 : b;
}

/* A value of a decreasing column, as its bounds have it: of an ullong, too. */
static inline gs_bound gs_bound_neg(__int128 value)
{
    return gs_bound_saturate(-value);
}

/* A value of a column as a bound: an ullong may be greater than any. */
static inline gs_bound gs_bound_of_ullong(uint64_t value)
{
    return value >= (uint64_t)GS_BOUND_END ? GS_BOUND_END - 1 : (gs_bound)value;
}

#endif

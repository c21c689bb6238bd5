/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates of a group that goes on from window to window (GSQL section 6.4): of each window a
 * part, and the last n of them in a ring. */
#ifndef GS_RUNNING_H
#define GS_RUNNING_H

#include "gs_aggregates.h"

/* A window's values, or those of several: their sum, and how many. */
struct gs_whole_part {
    __int128 sum;
    uint64_t count;
};

/* Of floats each window's sum is rounded, once. */
struct gs_float_part {
    double sum;
    uint64_t count;
};

static inline struct gs_float_part gs_float_part_of(const struct gs_float_sum *sum, uint64_t count)
{
    struct gs_float_part part = {0, count};
    if (!gs_float_sum_quotient(sum, 1, &part.sum)) part.sum = HUGE_VAL; /* no value, at the end */
    return part;
}

static inline void gs_ring_turn(uint32_t *next, uint32_t windows)
{
    *next = *next + 1 == windows ? 0 : *next + 1;
}

/* A window ends: its part comes into the ring, and that of `windows` before leaves it. */
static inline void gs_whole_move(struct gs_whole_part *total, struct gs_whole_part *ring,
                                 uint32_t windows, uint32_t *next, struct gs_whole_part part)
{
    if (total->count == 0 && part.count == 0) return; /* all of the ring is 0 */
    total->sum += part.sum - ring[*next].sum;
    total->count += part.count - ring[*next].count;
    ring[*next] = part;
    gs_ring_turn(next, windows);
}

static inline void gs_float_move(uint64_t *count, struct gs_float_part *ring, uint32_t windows,
                                 uint32_t *next, struct gs_float_part part)
{
    if (*count == 0 && part.count == 0) return;
    *count += part.count - ring[*next].count;
    ring[*next] = part;
    gs_ring_turn(next, windows);
}

/* The sum of the ring, divided; false where it is not finite. */
static inline bool gs_float_ring_quotient(const struct gs_float_part *ring, uint32_t windows,
                                          uint64_t divisor, double *result)
{
    struct gs_float_sum total;
    memset(&total, 0, sizeof total);
    for (uint32_t at = 0; at < windows; at++) {
        if (ring[at].sum == HUGE_VAL) return false;
        gs_float_sum_add(&total, ring[at].sum);
    }
    return gs_float_sum_quotient(&total, divisor, result);
}

#endif

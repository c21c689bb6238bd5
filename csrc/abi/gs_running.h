/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates of a group that goes on from window to window (GSQL section 6.4): of each window a
 * part, and the last n of them in a ring. */
#ifndef GS_RUNNING_H
#define GS_RUNNING_H

#include "gs_aggregates.h"

/* What stands of a group begins with it. */
struct gs_standing {
    uint32_t control; /* as struct gs_group_table has it */
    bool is_closed;
};

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

/* A value that holds from one time to another (time_avg): what the last window's average was, and
 * what is carried into the next. */
struct gs_time_average {
    double value, last;
    int64_t until;
    bool has_value;
};

/* A window ends in which values held: the sum of each by how long it did, that of how long, since
 * when; the last of them, and until when. What is before them held the last one of before. */
static inline void gs_time_average_move(struct gs_time_average *average,
                                        const struct gs_float_sum *values,
                                        const struct gs_float_sum *lengths, int64_t begin,
                                        double last, int64_t until)
{
    struct gs_float_sum value = *values, length = *lengths;
    double total, whole;
    if (average->has_value && begin > average->until) {
        double gap = (double)((__int128)begin - average->until);
        gs_float_sum_add(&value, average->last * gap);
        gs_float_sum_add(&length, gap);
    }
    bool is_finite =
        gs_float_sum_quotient(&value, 1, &total) && gs_float_sum_quotient(&length, 1, &whole);
    average->value = !is_finite ? HUGE_VAL : whole > 0 ? total / whole : last;
    average->last = last;
    average->until = until;
    average->has_value = true;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that slide (OPERATORS section 4): window w covers [(w + 1) * slide - range, (w + 1) *
 * slide). Both are greater than 0, in the unit of the attribute. */
#ifndef GS_SLIDING_H
#define GS_SLIDING_H

#include "gs_bounds.h"

struct gs_sliding {
    int64_t range, slide;
};

/* Consecutive windows, by their ids. */
struct gs_window_ids {
    gs_bound first;
    uint32_t count; /* 0: a gap, where range < slide */
};

/* The windows of one row are no more than this; UINT32_MAX: more than there is room for. */
static inline uint32_t gs_sliding_count(struct gs_sliding s)
{
    int64_t count = s.range / s.slide + (s.range % s.slide != 0);
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* The windows that a value is in; those whose ids leave the range of bounds are none. */
static inline struct gs_window_ids gs_sliding_ids(struct gs_sliding s, int64_t value)
{
    gs_bound first = gs_bound_floor_quotient(value, s.slide);
    uint64_t into = (uint64_t)value - (uint64_t)first * (uint64_t)s.slide; /* of the slide */
    uint64_t count = (into + (uint64_t)s.range) / (uint64_t)s.slide;
    uint64_t room = (uint64_t)GS_BOUND_END - (uint64_t)first;
    return (struct gs_window_ids){first, (uint32_t)(count < room ? count : room)};
}

/* Of the ids, what "no later value is below b" says: every window below it is over. */
static inline gs_bound gs_sliding_bound(struct gs_sliding s, gs_bound b)
{
    return gs_bound_floor_div(b, s.slide);
}

#endif

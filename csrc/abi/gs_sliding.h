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
    uint64_t count; /* 0: a gap, where range < slide */
};

/* The windows that a value is in; those whose ids leave the range of bounds are none. */
static inline struct gs_window_ids gs_sliding_ids(struct gs_sliding s, int64_t value)
{
    gs_bound first = gs_bound_floor_quotient(value, s.slide);
    uint64_t into = (uint64_t)value - (uint64_t)first * (uint64_t)s.slide; /* of the slide */
    uint64_t count = (into + (uint64_t)s.range) / (uint64_t)s.slide;
    uint64_t room = (uint64_t)GS_BOUND_END - (uint64_t)first;
    return (struct gs_window_ids){first, count < room ? count : room};
}

/* The last window of all values that have this one first. Where slide does not divide range it may
 * be one too far, never one too near. */
static inline gs_bound gs_sliding_last(struct gs_sliding s, gs_bound first)
{
    gs_bound end = gs_bound_mul(gs_bound_add(first, 1), s.slide);
    if (gs_bound_is_special(end)) return first;
    struct gs_window_ids ids = gs_sliding_ids(s, end - 1);
    return ids.first + (gs_bound)ids.count - 1;
}

#endif

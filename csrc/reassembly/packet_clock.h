/* SPDX-License-Identifier: Apache-2.0 */
/* Time as the packets of an interface tell it: the greatest timestamp that two of them, one after
 * the other, have reached (as H of a source, capture/source_time.h), so that one that lies ends
 * nobody's waiting. It is a function of the packets alone. */
#ifndef GS_PACKET_CLOCK_H
#define GS_PACKET_CLOCK_H

#include "gs_types.h"

struct gs_packet_clock {
    int64_t now_ns; /* INT64_MIN: not known yet */
    int64_t previous_ns;
};

static inline void gs_packet_clock_see(struct gs_packet_clock *clock, int64_t timestamp_ns)
{
    int64_t both = timestamp_ns < clock->previous_ns ? timestamp_ns : clock->previous_ns;

    clock->previous_ns = timestamp_ns;
    if (both > clock->now_ns) clock->now_ns = both;
}

/* Whether more than `wait_ns` have passed since then. */
static inline bool gs_packet_clock_passed(const struct gs_packet_clock *clock, int64_t since_ns,
                                          int64_t wait_ns)
{
    return clock->now_ns > since_ns &&
           (uint64_t)clock->now_ns - (uint64_t)since_ns > (uint64_t)wait_ns;
}

#endif

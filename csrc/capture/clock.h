/* SPDX-License-Identifier: Apache-2.0 */
/* The clock that lets time pass on a live link on which nothing comes (OPERATORS section 2): what
 * the wall clock says, as far as it can be believed.
 *
 * monotonic + the least (wall - monotonic) of the last max_skew and of the reading before it: a
 * wall clock that jumps forward is believed only when it has stood there for max_skew, one that
 * steps back at once. */
#ifndef GS_CAPTURE_CLOCK_H
#define GS_CAPTURE_CLOCK_H

#include "gs_types.h"

#define GS_CLOCK_READINGS 64

/* What the two clocks say at one moment. */
struct gs_clock_reading {
    int64_t monotonic_ns;
    int64_t wall_ns;
};

struct gs_clock {
    int64_t max_skew_ns;
    uint32_t count;
    struct {
        int64_t monotonic_ns;
        int64_t difference_ns;
    } readings[GS_CLOCK_READINGS]; /* oldest first */
};

struct gs_clock_reading gs_clock_now(void);
/* The time (ns since the epoch) that is believed at this reading. Monotonic time does not step
 * back from one call to the next. */
int64_t gs_clock_believe(struct gs_clock *clock, struct gs_clock_reading reading);

#endif

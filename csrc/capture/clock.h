/* SPDX-License-Identifier: Apache-2.0 */
/* The clock that a live link is held to, and that lets time pass on it where nothing comes
 * (OPERATORS section 2): what the wall clock says, as far as it can be believed.
 *
 * monotonic + the least (wall - monotonic) of the last max_skew and of the reading before it: a
 * wall clock that jumps forward is believed only when it has stood there for max_skew, one that
 * steps back at once. */
#ifndef GS_CAPTURE_CLOCK_H
#define GS_CAPTURE_CLOCK_H

#include "gs_types.h"

#define GS_CLOCK_READINGS 64
/* Two readings of a clock that nobody has set do not differ by as much. */
#define GS_CLOCK_STEP_NS 1000000

/* What the two clocks say at one moment. */
struct gs_clock_reading {
    int64_t monotonic_ns;
    int64_t wall_ns;
};

struct gs_clock {
    int64_t max_skew_ns;
    int64_t last_difference_ns; /* wall - monotonic at the last reading, if there is one */
    uint64_t steps;             /* how often the wall clock has stepped */
    int64_t step_ns;            /* how far it did at last; negative: back */
    int64_t stepped_at_ns;      /* monotonic time at which that was seen */
    /* The differences that are, or will come to be, the least: each is greater than the one before
     * it. A reading is in force until the next one comes. */
    uint32_t count;
    struct {
        int64_t difference_ns;
        int64_t until_ns; /* monotonic; of the last one, when it was read */
    } least[GS_CLOCK_READINGS];
};

struct gs_clock_reading gs_clock_now(void);
/* The time (ns since the epoch) that is believed at this reading. Monotonic time does not step
 * back from one call to the next. */
int64_t gs_clock_believe(struct gs_clock *clock, struct gs_clock_reading reading);

#endif

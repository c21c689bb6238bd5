/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#include <string.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct gs_clock_reading gs_clock_now(void)
{
    return (struct gs_clock_reading){read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_REALTIME)};
}

static void drop_oldest(struct gs_clock *clock, uint32_t count)
{
    clock->count -= count;
    memmove(clock->readings, clock->readings + count, clock->count * sizeof *clock->readings);
}

/* All that the last max_skew began with, but for one reading. */
static void forget(struct gs_clock *clock, int64_t monotonic_ns)
{
    uint32_t old = 0;
    int64_t begin_ns = monotonic_ns - clock->max_skew_ns;
    while (old + 1 < clock->count && clock->readings[old + 1].monotonic_ns <= begin_ns)
        old++;
    drop_oldest(clock, old);
}

/* Where there are more readings than room, the two oldest become one that lasts as long as the
 * later and says the lesser: believing less than one might is never wrong. */
static void make_room(struct gs_clock *clock)
{
    if (clock->count < GS_CLOCK_READINGS) return;
    if (clock->readings[0].difference_ns < clock->readings[1].difference_ns)
        clock->readings[1].difference_ns = clock->readings[0].difference_ns;
    drop_oldest(clock, 1);
}

int64_t gs_clock_believe(struct gs_clock *clock, struct gs_clock_reading reading)
{
    int64_t least = reading.wall_ns - reading.monotonic_ns;
    forget(clock, reading.monotonic_ns);
    make_room(clock);
    clock->readings[clock->count].monotonic_ns = reading.monotonic_ns;
    clock->readings[clock->count++].difference_ns = least;
    for (uint32_t i = 0; i < clock->count; i++)
        if (clock->readings[i].difference_ns < least) least = clock->readings[i].difference_ns;
    return reading.monotonic_ns + least;
}

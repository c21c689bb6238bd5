/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#include <string.h>

#include "../base/clocks.h"

#define READING_NS 50000 /* as long as reading both clocks may take, or it is done again */
#define ATTEMPTS 16

/* A process that is interrupted between the two would see a step where there is none. */
struct gs_clock_reading gs_clock_now(void)
{
    struct gs_clock_reading reading;
    int64_t after_ns = gs_monotonic_ns();
    for (int i = 0; i < ATTEMPTS; i++) {
        reading.monotonic_ns = after_ns;
        reading.wall_ns = gs_wall_ns();
        after_ns = gs_monotonic_ns();
        if (after_ns - reading.monotonic_ns < READING_NS) break;
    }
    return reading;
}

static void see_step(struct gs_clock *clock, int64_t monotonic_ns, int64_t difference_ns)
{
    int64_t step_ns = difference_ns - clock->last_difference_ns;
    bool is_first = clock->count == 0;
    clock->last_difference_ns = difference_ns;
    if (is_first || (step_ns < GS_CLOCK_STEP_NS && step_ns > -GS_CLOCK_STEP_NS)) return;
    clock->steps++;
    clock->step_ns = step_ns;
    clock->stepped_at_ns = monotonic_ns;
}

/* What was in force before the last max_skew began. */
static void forget(struct gs_clock *clock, int64_t monotonic_ns)
{
    uint32_t old = 0;
    while (old < clock->count && clock->least[old].until_ns <= monotonic_ns - clock->max_skew_ns)
        old++;
    clock->count -= old;
    memmove(clock->least, clock->least + old, clock->count * sizeof *clock->least);
}

/* Where there are more than room, the two that ended closest to each other become one that lasts as
 * long as the later and says the lesser: believing less than one might is never wrong. */
static void make_room(struct gs_clock *clock)
{
    uint32_t closest = 0;
    if (clock->count < GS_CLOCK_READINGS) return;
    for (uint32_t i = 1; i + 1 < clock->count; i++)
        if (clock->least[i + 1].until_ns - clock->least[i].until_ns <
            clock->least[closest + 1].until_ns - clock->least[closest].until_ns)
            closest = i;
    clock->least[closest].until_ns = clock->least[closest + 1].until_ns;
    clock->count--;
    memmove(clock->least + closest + 1, clock->least + closest + 2,
            (clock->count - closest - 1) * sizeof *clock->least);
}

int64_t gs_clock_believe(struct gs_clock *clock, struct gs_clock_reading reading)
{
    int64_t difference_ns = reading.wall_ns - reading.monotonic_ns;
    see_step(clock, reading.monotonic_ns, difference_ns);
    if (clock->count > 0) clock->least[clock->count - 1].until_ns = reading.monotonic_ns;
    forget(clock, reading.monotonic_ns);
    while (clock->count > 0 && clock->least[clock->count - 1].difference_ns >= difference_ns)
        clock->count--;
    make_room(clock);
    clock->least[clock->count].difference_ns = difference_ns;
    clock->least[clock->count++].until_ns = reading.monotonic_ns;
    return reading.monotonic_ns + clock->least[0].difference_ns;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "clocks.h"

#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t gs_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t gs_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How the timestamps of a pcapng interface count: its if_tsresol and if_tsoffset, made ready so
 * that a packet costs one multiplication, division or shift. */
#ifndef GS_CAPTURE_TICK_H
#define GS_CAPTURE_TICK_H

#include "gs_types.h"

#define GS_NANOSECONDS_PER_SECOND 1000000000

struct gs_tick {
    uint64_t multiplier; /* ns = ticks * multiplier / divisor >> shift */
    uint64_t divisor;    /* 0: a tick is so short that 2^64 of them are not a nanosecond */
    uint8_t shift;
    int64_t offset_seconds;
};

static inline uint64_t gs_power_of_ten(unsigned exponent)
{
    uint64_t power = 1;
    while (exponent-- > 0)
        power *= 10;
    return power;
}

/* `resolution` is the byte of if_tsresol: 10^-v, or 2^-v where its high bit is set. */
static inline struct gs_tick gs_tick_of_resolution(uint8_t resolution)
{
    unsigned exponent = resolution & 0x7f;
    if (resolution & 0x80)
        return (struct gs_tick){GS_NANOSECONDS_PER_SECOND, 1, (uint8_t)exponent, 0};
    if (exponent <= 9) return (struct gs_tick){gs_power_of_ten(9 - exponent), 1, 0, 0};
    if (exponent <= 28) return (struct gs_tick){1, gs_power_of_ten(exponent - 9), 0, 0};
    return (struct gs_tick){1, 0, 0, 0};
}

/* Nanoseconds since the epoch of a tick count, what is finer cut off. False where they are negative
 * or leave 63 bits. No sum here leaves 128 bits: 2^64 * 10^9 + 2^63 * 10^9 < 2^95. */
static inline bool gs_tick_nanoseconds(const struct gs_tick *tick, uint64_t ticks,
                                       int64_t *nanoseconds)
{
    unsigned __int128 scaled = (unsigned __int128)ticks * tick->multiplier >> tick->shift;
    if (tick->divisor != 1) scaled = tick->divisor == 0 ? 0 : ticks / tick->divisor;
    __int128 total = (__int128)scaled + (__int128)tick->offset_seconds * GS_NANOSECONDS_PER_SECOND;
    *nanoseconds = (int64_t)total;
    return total >= 0 && total <= INT64_MAX;
}

#endif

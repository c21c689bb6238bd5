/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that go through the low level together. */
#ifndef GS_BURST_H
#define GS_BURST_H

#include "gs_packet.h"
#include "gs_scratch.h"

struct gs_walk;

#define GS_BURST_WORDS (GS_BURST_CAPACITY / 64)

#define GS_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define GS_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* A bit for each of 64 bytes that are 0 or 1: eight of them meet in the upper byte of a product. */
static inline uint64_t gs_bits_of(const uint8_t *bytes)
{
    uint64_t bits = 0;
    for (uint32_t at = 0; at < 8; at++) {
        uint64_t eight;
        memcpy(&eight, bytes + 8 * at, sizeof eight);
        bits |= (eight * UINT64_C(0x0102040810204080) >> 56) << (8 * at);
    }
    return bits;
}

struct gs_burst {
    const struct gs_packet *packets; /* decoded; NULL: who takes frames decodes them (gs_plain.h) */
    const uint8_t *frames;           /* then: a struct gs_frame each so many bytes */
    uint32_t frame_bytes;
    struct gs_walk *walk; /* or who takes frames walks over the records, too (gs_walk.h); or NULL */
    uint32_t count;
    uint32_t interface;                      /* ordinal of the Gigastream interface */
    const struct gs_string *interface_name;  /* its name */
    const struct gs_string *interface_names; /* by packet->interface */
    int64_t high_ns, promise_ns;             /* H and W of the interface before it */
    struct gs_scratch *scratch;              /* strings that functions make; reset every tuple */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A packet as a segment of TCP: of which direction of a connection, and where in its sequence
 * (RFC 9293 section 3.4). */
#ifndef GS_SEGMENT_H
#define GS_SEGMENT_H

#include "gs_packet.h"

/* The same of all segments of a direction. Made by gs_segment_read, and compared as bytes. */
struct gs_direction_key {
    uint8_t source[16], destination[16]; /* IPv4: the first four */
    uint16_t source_port, destination_port;
    uint16_t vlan, inner_vlan;
    uint8_t version;
    uint8_t depth; /* how many tunnels it is in */
    uint16_t unused;
};

struct gs_segment {
    struct gs_direction_key key;
    uint32_t begin,
        end; /* sequence numbers: of its first byte, behind its last; SYN and FIN count */
    bool is_syn;
};

/* The packet is decoded. False: it is none of TCP. */
bool gs_segment_read(const struct gs_packet *packet, uint32_t depth, struct gs_segment *segment);

/* How far a sequence number is ahead of another; negative: behind. They wrap around. */
static inline int32_t gs_sequence_distance(uint32_t to, uint32_t from)
{
    return (int32_t)(to - from);
}

#endif

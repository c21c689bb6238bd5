/* SPDX-License-Identifier: Apache-2.0 */
/* A packet as a fragment: of which datagram, and which bytes of its payload (RFC 791, RFC 8200
 * section 4.5). */
#ifndef GS_FRAGMENT_H
#define GS_FRAGMENT_H

#include "gs_packet.h"

/* The same of all fragments of a datagram. Made by gs_fragment_read, and compared as bytes. */
struct gs_datagram_key {
    uint8_t source[16], destination[16]; /* IPv4: the first four */
    uint32_t id;
    uint16_t vlan, inner_vlan;
    uint8_t version;
    uint8_t protocol; /* IPv6: 0, the first fragment's counts */
    uint8_t depth;    /* how many tunnels it is in */
    uint8_t unused;
};

struct gs_fragment {
    struct gs_datagram_key key;
    uint32_t begin, end; /* bytes of the payload; begin < end */
    bool is_last;
    uint32_t offset;             /* in the packet's bytes, of its part of the payload */
    uint32_t captured;           /* bytes of that */
    uint32_t header_length;      /* bytes of the packet that stand before the whole's payload */
    uint32_t next_header_offset; /* IPv6: of the byte that names the fragment header */
    uint8_t next_header;         /* IPv6: what it is to name instead */
};

enum gs_fragment_kind { GS_FRAGMENT_NONE, GS_FRAGMENT_PART, GS_FRAGMENT_MALFORMED };

/* The packet is decoded. */
enum gs_fragment_kind gs_fragment_read(const struct gs_packet *packet, uint32_t depth,
                                       struct gs_fragment *fragment);

#endif

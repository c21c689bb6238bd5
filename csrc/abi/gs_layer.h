/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of packets by name, for the decoders (csrc/decode) and for generated code, which
 * share those of gs_decode_*.h: a header is described once, and the two ways to it cannot disagree.
 */
#ifndef GS_LAYER_H
#define GS_LAYER_H

#include "gs_packet.h"

/* In the order of enum gs_depth: a walk that goes no deeper than d ends at the first number that is
 * not below the bound of d. END is 0 so that tables need to name only what is walked. */
enum gs_layer {
    GS_LAYER_END = 0, /* nothing here that we walk */
    GS_LAYER_ETHERNET,
    GS_LAYER_VLAN,
    GS_LAYER_MPLS,
    GS_LAYER_PPPOE,
    GS_LAYER_PPP,
    GS_LAYER_LLC,
    GS_LAYER_NULL,
    GS_LAYER_SLL,
    GS_LAYER_SLL2,
    GS_LAYER_RADIOTAP,
    GS_LAYER_IEEE802_11,
    GS_LAYER_CISCO_HDLC,
    GS_LAYER_FRAME_RELAY,
    GS_LAYER_PPI,
    GS_LAYER_PKTAP,
    GS_LAYER_PFLOG,
    GS_LAYER_NFLOG,
    GS_LAYER_IPOIB,
    GS_LAYER_SUNATM,
    GS_LAYER_TOKEN_RING,
    GS_LAYER_FDDI,
    GS_LAYER_RAW, /* IP, the version nibble says which */
    GS_LAYER_IPV4,
    GS_LAYER_IPV6,
    GS_LAYER_TCP,
    GS_LAYER_UDP,
    GS_LAYER_ICMP,
    GS_LAYER_FIRST_OF_NETWORK = GS_LAYER_IPV4,
    GS_LAYER_FIRST_OF_TRANSPORT = GS_LAYER_TCP
};

/* Whether `length` bytes from `offset` on were captured; offset <= caplen. */
static inline bool gs_is_captured(const struct gs_packet *packet, uint32_t offset, uint32_t length)
{
    return packet->caplen - offset >= length;
}

/* Bytes from `offset` to the end of the frame as it was on the wire, for lengths that headers do
 * not tell. */
static inline uint32_t gs_bytes_to_end_of_frame(const struct gs_packet *packet, uint32_t offset)
{
    return packet->len > offset ? packet->len - offset : 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the decoders of single headers share: the place in the packet, and the name of what comes
 * next. A decoder never calls the next one; it names it, and decode_by_table (decode.c) goes on. So
 * there is no recursion, and a new header is a file, a declaration here and a line in a table. */
#ifndef GS_DECODE_LAYER_H
#define GS_DECODE_LAYER_H

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

/* Where a walk is, and what an inner header must know of the outer ones. */
struct gs_cursor {
    uint32_t offset;        /* never above caplen */
    uint8_t tag_count;      /* VLAN tags seen, counted up to 2 */
    uint8_t is_padded_to_4; /* radiotap: the 802.11 header is padded to four bytes */
};

/* Looks at the header at cursor->offset, sets what it tells, moves the cursor behind it and says
 * what follows; GS_LAYER_END where it is not whole or not well formed. */
typedef enum gs_layer (*gs_layer_decoder)(struct gs_packet *packet, struct gs_cursor *cursor);

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

/* ether_type.c; GS_LAYER_END for a number that we do not walk. */
enum gs_layer gs_layer_of_ether_type(uint16_t ether_type);
/* The two bytes behind MAC addresses or a tag: an EtherType, or the length of an LLC frame. */
enum gs_layer gs_layer_of_type_or_length(uint16_t type_or_length);

/* address_family.c, dlt.c: the same. */
enum gs_layer gs_layer_of_address_family(uint32_t family);
enum gs_layer gs_layer_of_dlt(uint32_t number);

static inline uint16_t gs_load_le16(const uint8_t *bytes)
{
    return __builtin_bswap16(gs_load_be16(bytes));
}

static inline uint32_t gs_load_le32(const uint8_t *bytes)
{
    return __builtin_bswap32(gs_load_be32(bytes));
}

/* decode.c: the decoded part of a packet before anything is known; and the walk from a layer on, as
 * deep as GS_DEPTH_TRANSPORT. */
void gs_decode_clear(struct gs_packet *packet);
void gs_decode_layers(struct gs_packet *packet, struct gs_cursor *cursor, enum gs_layer layer);

enum gs_layer gs_decode_ethernet(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_vlan(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_mpls(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_pppoe(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_ppp(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_llc(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_null(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_sll(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_sll2(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_radiotap(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_ieee802_11(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_snap(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_cisco_hdlc(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_frame_relay(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_ppi(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_pktap(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_pflog(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_nflog(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_ipoib(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_sunatm(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_token_ring(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_fddi(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_decode_raw(struct gs_packet *packet, struct gs_cursor *cursor);

#endif

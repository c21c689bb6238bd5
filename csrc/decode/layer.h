/* SPDX-License-Identifier: Apache-2.0 */
/* What the decoders of single headers share: the place in the packet, and the name of what comes
 * next. A decoder never calls the next one; it names it, and decode_by_table (decode.c) goes on. So
 * there is no recursion, and a new header is a file, a declaration here and a line in a table. */
#ifndef GS_DECODE_LAYER_H
#define GS_DECODE_LAYER_H

#include "gs_layer.h"

/* Where a walk is, and what an inner header must know of the outer ones. */
struct gs_cursor {
    uint32_t offset;        /* never above caplen */
    uint8_t tag_count;      /* VLAN tags seen, counted up to 2 */
    uint8_t is_padded_to_4; /* radiotap: the 802.11 header is padded to four bytes */
};

/* Looks at the header at cursor->offset, sets what it tells, moves the cursor behind it and says
 * what follows; GS_LAYER_END where it is not whole or not well formed. */
typedef enum gs_layer (*gs_layer_decoder)(struct gs_packet *packet, struct gs_cursor *cursor);

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

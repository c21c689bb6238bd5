/* SPDX-License-Identifier: Apache-2.0 */
/* The burst: plain IP over untagged Ethernet goes straight through inlined code; everything else
 * walks header by header through the table. Both use the same decoders. */
#include "decode.h"

#include "gs_decode_ipv4.h"
#include "gs_decode_transport.h"
#include "ipv6.h"
#include "layer.h"

/* Packet bytes are cold: by the time a packet is decoded, its bytes must have been asked for. */
#define PREFETCH_DISTANCE 16
/* The capture stage has just read the record header before the bytes. */
#define PREFETCH_OFFSET 48

#define ALWAYS_INLINE static inline __attribute__((always_inline))

static enum gs_layer ipv4_layer(struct gs_packet *packet, struct gs_cursor *cursor)
{
    return gs_decode_ipv4(packet, cursor->offset);
}

static enum gs_layer ipv6_layer(struct gs_packet *packet, struct gs_cursor *cursor)
{
    return gs_decode_ipv6(packet, cursor->offset);
}

static const gs_layer_decoder decoders[GS_LAYER_FIRST_OF_TRANSPORT] = {
    [GS_LAYER_ETHERNET] = gs_decode_ethernet,
    [GS_LAYER_VLAN] = gs_decode_vlan,
    [GS_LAYER_MPLS] = gs_decode_mpls,
    [GS_LAYER_PPPOE] = gs_decode_pppoe,
    [GS_LAYER_PPP] = gs_decode_ppp,
    [GS_LAYER_LLC] = gs_decode_llc,
    [GS_LAYER_NULL] = gs_decode_null,
    [GS_LAYER_SLL] = gs_decode_sll,
    [GS_LAYER_SLL2] = gs_decode_sll2,
    [GS_LAYER_RADIOTAP] = gs_decode_radiotap,
    [GS_LAYER_IEEE802_11] = gs_decode_ieee802_11,
    [GS_LAYER_CISCO_HDLC] = gs_decode_cisco_hdlc,
    [GS_LAYER_FRAME_RELAY] = gs_decode_frame_relay,
    [GS_LAYER_PPI] = gs_decode_ppi,
    [GS_LAYER_PKTAP] = gs_decode_pktap,
    [GS_LAYER_PFLOG] = gs_decode_pflog,
    [GS_LAYER_NFLOG] = gs_decode_nflog,
    [GS_LAYER_IPOIB] = gs_decode_ipoib,
    [GS_LAYER_SUNATM] = gs_decode_sunatm,
    [GS_LAYER_TOKEN_RING] = gs_decode_token_ring,
    [GS_LAYER_FDDI] = gs_decode_fddi,
    [GS_LAYER_RAW] = gs_decode_raw,
    [GS_LAYER_IPV4] = ipv4_layer,
    [GS_LAYER_IPV6] = ipv6_layer,
};

static const uint8_t layer_of_link[] = {
    [GS_LINK_UNSUPPORTED] = GS_LAYER_END,
    [GS_LINK_ETHERNET] = GS_LAYER_ETHERNET,
    [GS_LINK_RAW] = GS_LAYER_RAW,
    [GS_LINK_NULL] = GS_LAYER_NULL,
    [GS_LINK_LOOP] = GS_LAYER_NULL,
    [GS_LINK_SLL] = GS_LAYER_SLL,
    [GS_LINK_SLL2] = GS_LAYER_SLL2,
    [GS_LINK_PPP] = GS_LAYER_PPP,
    [GS_LINK_IEEE802_11] = GS_LAYER_IEEE802_11,
    [GS_LINK_RADIOTAP] = GS_LAYER_RADIOTAP,
    [GS_LINK_IPV4] = GS_LAYER_IPV4,
    [GS_LINK_IPV6] = GS_LAYER_IPV6,
    [GS_LINK_RECORD] = GS_LAYER_END,
    [GS_LINK_CISCO_HDLC] = GS_LAYER_CISCO_HDLC,
    [GS_LINK_FRAME_RELAY] = GS_LAYER_FRAME_RELAY,
    [GS_LINK_PPI] = GS_LAYER_PPI,
    [GS_LINK_PKTAP] = GS_LAYER_PKTAP,
    [GS_LINK_PFLOG] = GS_LAYER_PFLOG,
    [GS_LINK_NFLOG] = GS_LAYER_NFLOG,
    [GS_LINK_IPOIB] = GS_LAYER_IPOIB,
    [GS_LINK_SUNATM] = GS_LAYER_SUNATM,
    [GS_LINK_TOKEN_RING] = GS_LAYER_TOKEN_RING,
    [GS_LINK_FDDI] = GS_LAYER_FDDI,
};

static enum gs_layer first_layer(const struct gs_packet *packet)
{
    if (packet->link >= sizeof layer_of_link) return GS_LAYER_END;
    return (enum gs_layer)layer_of_link[packet->link];
}

ALWAYS_INLINE void decode_upwards(struct gs_packet *packet, enum gs_layer layer,
                                  enum gs_depth depth)
{
    if (depth == GS_DEPTH_TRANSPORT && layer != GS_LAYER_END) gs_decode_transport(packet, layer);
}

/* Every step moves the cursor forward or down the stack, so the captured bytes bound the loop. */
static __attribute__((noinline)) void decode_by_table(struct gs_packet *packet, enum gs_depth depth)
{
    enum gs_layer bound =
        depth == GS_DEPTH_LINK ? GS_LAYER_FIRST_OF_NETWORK : GS_LAYER_FIRST_OF_TRANSPORT;
    struct gs_cursor cursor = {0, 0, 0};
    enum gs_layer layer = first_layer(packet);

    while (layer != GS_LAYER_END && layer < bound)
        layer = decoders[layer](packet, &cursor);
    decode_upwards(packet, layer, depth);
}

void gs_decode_layers(struct gs_packet *packet, struct gs_cursor *cursor, enum gs_layer layer)
{
    while (layer != GS_LAYER_END && layer < GS_LAYER_FIRST_OF_TRANSPORT)
        layer = decoders[layer](packet, cursor);
    decode_upwards(packet, layer, GS_DEPTH_TRANSPORT);
}

/* 0: not plain. What it returns is the EtherType of IPv4 or IPv6 right behind the addresses. */
ALWAYS_INLINE uint16_t plain_ether_type(const struct gs_packet *packet)
{
    uint16_t ether_type;

    if (packet->link != GS_LINK_ETHERNET || packet->caplen < 14) return 0;
    ether_type = gs_load_be16(packet->bytes + 12);
    return ether_type == 0x0800 || ether_type == 0x86dd ? ether_type : 0;
}

/* The two families do not meet again before the end: so their offsets stay in registers. */
ALWAYS_INLINE void decode_plain(struct gs_packet *packet, uint16_t ether_type, enum gs_depth depth)
{
    packet->protocols = GS_PROTOCOL_PKT | GS_PROTOCOL_ETH;
    packet->ether_type = ether_type;
    if (depth < GS_DEPTH_NETWORK) return;
    if (ether_type == 0x0800)
        decode_upwards(packet, gs_decode_ipv4(packet, 14), depth);
    else
        decode_upwards(packet, gs_decode_ipv6(packet, 14), depth);
}

ALWAYS_INLINE void clear_decoded_part(struct gs_packet *packet)
{
    memset((uint8_t *)packet + offsetof(struct gs_packet, protocols), 0,
           offsetof(struct gs_packet, outer) - offsetof(struct gs_packet, protocols));
}

void gs_decode_clear(struct gs_packet *packet)
{
    clear_decoded_part(packet);
}

ALWAYS_INLINE void decode_packet(struct gs_packet *packet, enum gs_depth depth)
{
    uint16_t ether_type;

    clear_decoded_part(packet);
    if (packet->flags & (GS_FRAME_NO_TIME | GS_FRAME_UNSUPPORTED)) return;
    packet->protocols = GS_PROTOCOL_PKT;
    if (depth == GS_DEPTH_RECORD) return;
    ether_type = plain_ether_type(packet);
    if (__builtin_expect(ether_type != 0, 1))
        decode_plain(packet, ether_type, depth);
    else
        decode_by_table(packet, depth);
}

void gs_decode_packet(struct gs_packet *packet, enum gs_depth depth)
{
    decode_packet(packet, depth);
}

/* An address made of numbers: it may lie beyond the frame, and a prefetch does not mind. */
ALWAYS_INLINE void prefetch_bytes(const struct gs_packet *packet)
{
    __builtin_prefetch((const void *)((uintptr_t)packet->bytes + PREFETCH_OFFSET));
}

/* Instantiated once a depth, so that the depth is no question in the loop. */
ALWAYS_INLINE void decode_all(struct gs_packet *packets, uint32_t count, enum gs_depth depth)
{
    for (uint32_t i = 0; i < count; i++) {
        if (depth != GS_DEPTH_RECORD && i + PREFETCH_DISTANCE < count)
            prefetch_bytes(&packets[i + PREFETCH_DISTANCE]);
        decode_packet(&packets[i], depth);
    }
}

void gs_decode_burst(struct gs_packet *packets, uint32_t count, enum gs_depth depth)
{
    switch (depth) {
    case GS_DEPTH_RECORD:
        decode_all(packets, count, GS_DEPTH_RECORD);
        break;
    case GS_DEPTH_LINK:
        decode_all(packets, count, GS_DEPTH_LINK);
        break;
    case GS_DEPTH_NETWORK:
        decode_all(packets, count, GS_DEPTH_NETWORK);
        break;
    case GS_DEPTH_TRANSPORT:
        decode_all(packets, count, GS_DEPTH_TRANSPORT);
        break;
    }
}

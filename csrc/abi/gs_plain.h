/* SPDX-License-Identifier: Apache-2.0 */
/* The straight way of generated code, for an LFTA that alone sees packets: of a plain packet (IPv4,
 * or IPv6 without extension headers, behind Ethernet and at most one tag) the walk, the fields and
 * what is computed of them stay in registers. Whatever is not plain goes to the decoders
 * (csrc/decode), in its turn; both read the headers by gs_decode_*.h. */
#ifndef GS_PLAIN_H
#define GS_PLAIN_H

#include "gs_decode_ipv4.h"
#include "gs_decode_ipv6.h"
#include "gs_decode_transport.h"
#include "gs_ipv6_extension.h"
#include "gs_query_set.h"
#include "gs_walk.h"

#define GS_ALWAYS_INLINE static inline __attribute__((always_inline))
#define GS_PLAIN_IPV4 0x0800
#define GS_PLAIN_IPV6 0x86dd
#define GS_PLAIN_TAG 0x8100

/* The capture part, of an Ethernet link that is its source's only one; nothing is decoded. */
GS_ALWAYS_INLINE struct gs_packet gs_packet_of_frame(const struct gs_frame *frame)
{
    return (struct gs_packet){.bytes = frame->bytes,
                              .timestamp_ns = frame->timestamp_ns,
                              .caplen = frame->caplen,
                              .len = frame->len,
                              .link = GS_LINK_ETHERNET,
                              .flags = frame->caplen < frame->len ? GS_FRAME_TRUNCATED : 0};
}

/* Only the header that is asked for is looked at: which it is, is known when this is compiled. */
GS_ALWAYS_INLINE void gs_plain_transport(struct gs_packet *packet, enum gs_layer layer,
                                         uint32_t wanted)
{
    if (wanted & GS_PROTOCOL_TCP) {
        if (layer == GS_LAYER_TCP) gs_decode_transport(packet, GS_LAYER_TCP);
    } else if (wanted & GS_PROTOCOL_UDP) {
        if (layer == GS_LAYER_UDP) gs_decode_transport(packet, GS_LAYER_UDP);
    } else if (layer != GS_LAYER_END) {
        gs_decode_transport(packet, layer);
    }
}

/* IPv4 without options behind Ethernet without a tag: where everything is, is known before. */
GS_ALWAYS_INLINE bool gs_is_plainest(const struct gs_packet *packet)
{
    return packet->caplen >= 34 && gs_load_be16(packet->bytes + 12) == GS_PLAIN_IPV4 &&
           packet->bytes[14] == 0x45;
}

/* Decodes a packet of which nothing is decoded. False: it is not plain, and is to be decoded anew.
 * `wanted` and `depth` are constants: a packet that cannot be of all the protocols wanted is not
 * looked at any further, and has none of those that it would have to have. */
GS_ALWAYS_INLINE bool gs_plain_decode(struct gs_packet *packet, uint32_t wanted,
                                      enum gs_depth depth)
{
    uint32_t offset = 14;
    uint16_t ether_type;
    enum gs_layer layer;

    packet->protocols = GS_PROTOCOL_PKT;
    if (depth == GS_DEPTH_RECORD) return true;
    if (depth != GS_DEPTH_LINK && !(wanted & GS_PROTOCOL_IPV6) &&
        GS_LIKELY(gs_is_plainest(packet))) {
        packet->ether_type = GS_PLAIN_IPV4;
        packet->protocols |= GS_PROTOCOL_ETH;
        layer = gs_decode_ipv4(packet, 14);
        if (depth == GS_DEPTH_TRANSPORT) gs_plain_transport(packet, layer, wanted);
        return true;
    }
    if (packet->caplen < 18) return false;
    ether_type = gs_load_be16(packet->bytes + 12);
    if (GS_UNLIKELY(ether_type == GS_PLAIN_TAG)) {
        packet->vlan = gs_load_be16(packet->bytes + 14) & 0x0fff;
        ether_type = gs_load_be16(packet->bytes + 16);
        offset = 18;
    }
    packet->ether_type = ether_type;
    if (ether_type == GS_PLAIN_IPV4) {
        packet->protocols |= GS_PROTOCOL_ETH;
        if (depth == GS_DEPTH_LINK || wanted & GS_PROTOCOL_IPV6) return true;
        layer = gs_decode_ipv4(packet, offset);
    } else if (ether_type == GS_PLAIN_IPV6) {
        packet->protocols |= GS_PROTOCOL_ETH;
        if (depth == GS_DEPTH_LINK || wanted & GS_PROTOCOL_IPV4) return true;
        layer = gs_decode_ipv6_fixed(packet, offset);
        if (layer == GS_LAYER_END && packet->protocols & GS_PROTOCOL_IPV6 &&
            gs_ipv6_is_extension(packet->ip_protocol))
            return false;
    } else {
        return false;
    }
    if (depth == GS_DEPTH_TRANSPORT) gs_plain_transport(packet, layer, wanted);
    return true;
}

/* Where a burst is read. */
struct gs_burst_cursor {
    bool is_walk; /* known when this is compiled */
    bool is_frame;
    const uint8_t *at; /* a struct gs_packet, or a struct gs_frame */
    uint32_t step_bytes, left;
    struct gs_walk walk;
    struct gs_frame next; /* of the walk */
};

GS_ALWAYS_INLINE struct gs_burst_cursor gs_burst_begin(const struct gs_burst *burst, bool is_walk)
{
    const bool is_frame = burst->packets == NULL;
    struct gs_burst_cursor cursor = {
        .is_walk = is_walk,
        .is_frame = is_walk || is_frame,
        .at = is_frame ? burst->frames : (const uint8_t *)burst->packets,
        .step_bytes = is_frame ? burst->frame_bytes : sizeof *burst->packets,
        .left = burst->count};
    if (is_walk) cursor.walk = *burst->walk;
    return cursor;
}

GS_ALWAYS_INLINE bool gs_burst_has_next(struct gs_burst_cursor *cursor)
{
    if (!cursor->is_walk) return cursor->left > 0;
    return gs_walk_see(&cursor->walk, &cursor->next);
}

GS_ALWAYS_INLINE void gs_burst_go_on(struct gs_burst_cursor *cursor)
{
    if (cursor->is_walk) {
        gs_walk_pass(&cursor->walk, &cursor->next);
        return;
    }
    cursor->at += cursor->step_bytes;
    cursor->left--;
}

/* All has been done for the packets. */
GS_ALWAYS_INLINE void gs_burst_end(const struct gs_burst_cursor *cursor,
                                   const struct gs_burst *burst)
{
    if (cursor->is_walk) *burst->walk = cursor->walk;
}

/* The next packet of a burst, decoded for who wants those that are of all these protocols. */
GS_ALWAYS_INLINE struct gs_packet gs_burst_packet(const struct gs_host *host,
                                                  const struct gs_burst_cursor *cursor,
                                                  uint32_t wanted, enum gs_depth depth)
{
    const struct gs_frame *const frame = cursor->is_walk ? &cursor->next : (const void *)cursor->at;
    struct gs_packet packet, other;

    if (!cursor->is_frame) return *(const struct gs_packet *)(const void *)cursor->at;
    packet = gs_packet_of_frame(frame);
    if (GS_LIKELY(gs_plain_decode(&packet, wanted, depth))) return packet;
    other = gs_packet_of_frame(frame);
    host->decode(&other, depth);
    return other;
}

#endif

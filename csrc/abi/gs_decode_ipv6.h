/* SPDX-License-Identifier: Apache-2.0 */
/* IPv6: 40 bytes; extension headers, if there are any, follow (csrc/decode/ipv6.c). */
#ifndef GS_DECODE_IPV6_H
#define GS_DECODE_IPV6_H

#include "gs_layer.h"

static const uint8_t gs_layer_of_ipv6_protocol[256] = {
    [6] = GS_LAYER_TCP, [17] = GS_LAYER_UDP, [58] = GS_LAYER_ICMP};

/* The fixed header. GS_LAYER_END, too, where what follows it is an extension header. */
static inline enum gs_layer gs_decode_ipv6_fixed(struct gs_packet *packet, uint32_t offset)
{
    const uint8_t *header = packet->bytes + offset;

    if (!gs_is_captured(packet, offset, 40) || header[0] >> 4 != 6) return GS_LAYER_END;
    packet->protocols |= GS_PROTOCOL_IPV6 | GS_PROTOCOL_IP;
    packet->network_offset = offset;
    packet->transport_offset = offset + 40;
    packet->ip_payload_length = gs_load_be16(header + 4);
    packet->ip_protocol = header[6];
    packet->is_later_fragment = 0;
    return (enum gs_layer)gs_layer_of_ipv6_protocol[packet->ip_protocol];
}

#endif

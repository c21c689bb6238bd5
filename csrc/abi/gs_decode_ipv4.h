/* SPDX-License-Identifier: Apache-2.0 */
/* IPv4: the whole header with its options captured, and a total length that is at least that. */
#ifndef GS_DECODE_IPV4_H
#define GS_DECODE_IPV4_H

#include "gs_layer.h"

#define GS_IPV4_FRAGMENT_OFFSET 0x1fffu

/* AH is not walked in IPv4. */
static const uint8_t gs_layer_of_ipv4_protocol[256] = {
    [6] = GS_LAYER_TCP, [17] = GS_LAYER_UDP, [1] = GS_LAYER_ICMP};

static inline enum gs_layer gs_decode_ipv4(struct gs_packet *packet, uint32_t offset)
{
    const uint8_t *header = packet->bytes + offset;
    uint32_t header_length, total_length;

    if (!gs_is_captured(packet, offset, 20) || header[0] >> 4 != 4) return GS_LAYER_END;
    header_length = (header[0] & 0x0fu) * 4;
    total_length = gs_load_be16(header + 2);
    if (header_length < 20 || !gs_is_captured(packet, offset, header_length)) return GS_LAYER_END;
    if (total_length != 0 && total_length < header_length) return GS_LAYER_END;
    packet->protocols |= GS_PROTOCOL_IPV4 | GS_PROTOCOL_IP;
    packet->network_offset = offset;
    packet->transport_offset = offset + header_length;
    /* segmentation offload leaves it 0 */
    packet->ip_payload_length = total_length != 0
                                    ? total_length - header_length
                                    : gs_bytes_to_end_of_frame(packet, offset + header_length);
    packet->ip_protocol = header[9];
    packet->is_later_fragment = (gs_load_be16(header + 6) & GS_IPV4_FRAGMENT_OFFSET) != 0;
    if (packet->is_later_fragment) return GS_LAYER_END;
    return (enum gs_layer)gs_layer_of_ipv4_protocol[packet->ip_protocol];
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The extension headers of IPv6 (RFC 8200). One is walked if all of it was captured and lies within
 * the payload; the first that cannot be read stays the packet's protocol. The loop is bounded by
 * the captured bytes: each header has at least eight. */
#include "ipv6.h"

#include "gs_ipv6_extension.h"

#define FRAGMENT_OFFSET 0xfff8u
#define OPTION_PAD1 0
#define OPTION_JUMBO_PAYLOAD 0xc2

/* RFC 2675. Like any option's its content is not looked at, only that it is there. */
static bool has_jumbo_option(const uint8_t *bytes, uint32_t offset, uint32_t end)
{
    while (offset < end) {
        if (bytes[offset] == OPTION_JUMBO_PAYLOAD) return true;
        if (bytes[offset] == OPTION_PAD1) {
            offset += 1;
        } else {
            if (end - offset < 2) return false;
            offset += 2u + bytes[offset + 1];
        }
    }
    return false;
}

/* Of a payload length of 0: hop-by-hop options that come first may say that the field was too
 * small; the payload then runs to the end of the frame. */
static uint32_t jumbo_payload_length(const struct gs_packet *packet)
{
    uint32_t offset = packet->transport_offset;
    uint32_t length;

    if (packet->ip_protocol != GS_IPV6_HOP_BY_HOP || !gs_is_captured(packet, offset, 8)) return 0;
    length = gs_ipv6_extension_length(GS_IPV6_HOP_BY_HOP, packet->bytes + offset);
    if (!gs_is_captured(packet, offset, length)) return 0;
    if (!has_jumbo_option(packet->bytes, offset + 2, offset + length)) return 0;
    return gs_bytes_to_end_of_frame(packet, offset);
}

static bool is_readable(const struct gs_packet *packet, uint32_t length)
{
    return packet->ip_payload_length >= length &&
           gs_is_captured(packet, packet->transport_offset, length);
}

/* Moves over the header at transport_offset; false where the walk ends. */
static bool step_over_extension(struct gs_packet *packet)
{
    const uint8_t *header = packet->bytes + packet->transport_offset;
    uint32_t length;

    if (packet->is_later_fragment || !gs_ipv6_is_extension(packet->ip_protocol)) return false;
    if (!is_readable(packet, 8)) return false;
    length = gs_ipv6_extension_length(packet->ip_protocol, header);
    if (!is_readable(packet, length)) return false;
    if (packet->ip_protocol == GS_IPV6_FRAGMENT)
        packet->is_later_fragment = (gs_load_be16(header + 2) & FRAGMENT_OFFSET) != 0;
    packet->transport_offset += length;
    packet->ip_payload_length -= length;
    packet->ip_protocol = header[0];
    return true;
}

enum gs_layer gs_decode_ipv6_extensions(struct gs_packet *packet)
{
    if (packet->ip_payload_length == 0) packet->ip_payload_length = jumbo_payload_length(packet);
    while (step_over_extension(packet)) {
    }
    if (packet->is_later_fragment) return GS_LAYER_END;
    return (enum gs_layer)gs_layer_of_ipv6_protocol[packet->ip_protocol];
}

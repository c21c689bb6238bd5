/* SPDX-License-Identifier: Apache-2.0 */
/* Frame relay: an address of two to four bytes, of which the last alone is odd (ITU-T Q.922), then
 * either RFC 2427's unnumbered information with an NLPID, perhaps after a byte of padding, or, as
 * Cisco has it, an EtherType. */
#include "layer.h"

#define UNNUMBERED_INFORMATION 0x03
#define PADDING 0x00
#define NLPID_SNAP 0x80
#define NLPID_IPV6 0x8e
#define NLPID_IPV4 0xcc
#define GREATEST_ADDRESS_LENGTH 4u

/* 0: it has no end among the captured bytes, or none of a valid length. */
static uint32_t address_length(const struct gs_packet *packet, uint32_t offset)
{
    for (uint32_t length = 1; length <= GREATEST_ADDRESS_LENGTH; length++) {
        if (!gs_is_captured(packet, offset, length)) return 0;
        if (packet->bytes[offset + length - 1] & 1) return length < 2 ? 0 : length;
    }
    return 0;
}

static enum gs_layer layer_of_nlpid(struct gs_packet *packet, struct gs_cursor *cursor)
{
    if (!gs_is_captured(packet, cursor->offset, 1)) return GS_LAYER_END;
    switch (packet->bytes[cursor->offset++]) {
    case NLPID_IPV4:
        return GS_LAYER_IPV4;
    case NLPID_IPV6:
        return GS_LAYER_IPV6;
    case NLPID_SNAP:
        return gs_decode_snap(packet, cursor);
    default:
        return GS_LAYER_END;
    }
}

static enum gs_layer layer_of_cisco_type(struct gs_packet *packet, struct gs_cursor *cursor)
{
    if (!gs_is_captured(packet, cursor->offset, 2)) return GS_LAYER_END;
    packet->ether_type = gs_load_be16(packet->bytes + cursor->offset);
    cursor->offset += 2;
    return gs_layer_of_ether_type(packet->ether_type);
}

enum gs_layer gs_decode_frame_relay(struct gs_packet *packet, struct gs_cursor *cursor)
{
    uint32_t length = address_length(packet, cursor->offset);

    if (length == 0) return GS_LAYER_END;
    cursor->offset += length;
    if (!gs_is_captured(packet, cursor->offset, 1)) return GS_LAYER_END;
    if (packet->bytes[cursor->offset] != UNNUMBERED_INFORMATION)
        return layer_of_cisco_type(packet, cursor);
    cursor->offset += 1;
    if (gs_is_captured(packet, cursor->offset, 1) && packet->bytes[cursor->offset] == PADDING)
        cursor->offset += 1;
    return layer_of_nlpid(packet, cursor);
}

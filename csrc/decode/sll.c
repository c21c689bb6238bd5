/* SPDX-License-Identifier: Apache-2.0 */
/* Linux cooked capture, both versions. One address only, so never an ETH tuple. */
#include "layer.h"

/* ARPHRD of frame relay, radiotap and netlink: their protocol field is no EtherType. */
static bool has_ether_type(uint16_t hardware)
{
    return hardware != 770 && hardware != 803 && hardware != 824;
}

static enum gs_layer decode_cooked(struct gs_packet *packet, uint16_t hardware, uint16_t protocol)
{
    if (!has_ether_type(hardware)) return GS_LAYER_END;
    packet->ether_type = protocol;
    return gs_layer_of_type_or_length(protocol); /* Linux writes 4 for a frame of LLC */
}

enum gs_layer gs_decode_sll(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;

    if (!gs_is_captured(packet, cursor->offset, 16)) return GS_LAYER_END;
    cursor->offset += 16;
    return decode_cooked(packet, gs_load_be16(header + 2), gs_load_be16(header + 14));
}

enum gs_layer gs_decode_sll2(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;

    if (!gs_is_captured(packet, cursor->offset, 20)) return GS_LAYER_END;
    cursor->offset += 20;
    return decode_cooked(packet, gs_load_be16(header + 8), gs_load_be16(header));
}

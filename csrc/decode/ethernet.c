/* SPDX-License-Identifier: Apache-2.0 */
/* Ethernet: destination, source, type or length. The whole header makes an ETH tuple. */
#include "layer.h"

enum gs_layer gs_decode_ethernet(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;

    if (!gs_is_captured(packet, cursor->offset, 14)) return GS_LAYER_END;
    if (cursor->offset > UINT16_MAX) return GS_LAYER_END;
    packet->ethernet_offset = (uint16_t)cursor->offset;
    packet->protocols |= GS_PROTOCOL_ETH;
    packet->ether_type = gs_load_be16(header + 12);
    cursor->offset += 14;
    return gs_layer_of_type_or_length(packet->ether_type);
}

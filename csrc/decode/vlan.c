/* SPDX-License-Identifier: Apache-2.0 */
/* One tag of IEEE 802.1Q, 802.1ad or their forerunners: control information, then what follows.
 * A tag of which not all four bytes were captured is none. */
#include "layer.h"

static void note_tag(struct gs_packet *packet, struct gs_cursor *cursor, uint16_t vid)
{
    if (cursor->tag_count == 0) packet->vlan = vid;
    if (cursor->tag_count == 1) packet->inner_vlan = vid;
    if (cursor->tag_count < 2) cursor->tag_count++;
}

enum gs_layer gs_decode_vlan(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *tag = packet->bytes + cursor->offset;

    if (!gs_is_captured(packet, cursor->offset, 4)) return GS_LAYER_END;
    note_tag(packet, cursor, gs_load_be16(tag) & 0x0fff);
    packet->ether_type = gs_load_be16(tag + 2);
    cursor->offset += 4;
    return gs_layer_of_type_or_length(packet->ether_type);
}

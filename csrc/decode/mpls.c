/* SPDX-License-Identifier: Apache-2.0 */
/* A label stack (RFC 3032). Nothing in it says what follows: IP is known by its version nibble; a
 * control word (nibble 0 or 1) or an Ethernet pseudowire is not walked. */
#include "layer.h"

#define BOTTOM_OF_STACK 0x100u

static void note_label(struct gs_packet *packet, uint32_t entry)
{
    if (packet->has_mpls) return;
    packet->has_mpls = 1;
    packet->mpls_label = entry >> 12;
}

enum gs_layer gs_decode_mpls(struct gs_packet *packet, struct gs_cursor *cursor)
{
    while (gs_is_captured(packet, cursor->offset, 4)) {
        uint32_t entry = gs_load_be32(packet->bytes + cursor->offset);

        note_label(packet, entry);
        cursor->offset += 4;
        if (entry & BOTTOM_OF_STACK) {
            packet->network_offset = cursor->offset;
            return GS_LAYER_RAW;
        }
    }
    return GS_LAYER_END;
}

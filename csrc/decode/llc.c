/* SPDX-License-Identifier: Apache-2.0 */
/* IEEE 802.2 LLC with SNAP, as unnumbered information, of an organization whose protocols are
 * EtherTypes: RFC 1042's 000000, and 0000f8 for bridged tunnels. What it names is not the field
 * etherType: that stays what stands behind the last tag. */
#include "layer.h"

#define SNAP 0xaaaa03u
#define SNAP_BYTES 5u

/* Organization and type, the other five bytes of SNAP. */
enum gs_layer gs_decode_snap(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;
    uint32_t organization;

    if (!gs_is_captured(packet, cursor->offset, SNAP_BYTES)) return GS_LAYER_END;
    organization = gs_load_be32(header) >> 8;
    if (organization != 0x000000 && organization != 0x0000f8) return GS_LAYER_END;
    cursor->offset += SNAP_BYTES;
    return gs_layer_of_ether_type(gs_load_be16(header + 3));
}

enum gs_layer gs_decode_llc(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;

    if (!gs_is_captured(packet, cursor->offset, 3 + SNAP_BYTES)) return GS_LAYER_END;
    if (gs_load_be32(header) >> 8 != SNAP) return GS_LAYER_END;
    cursor->offset += 3;
    return gs_decode_snap(packet, cursor);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Per-packet information (CACE Technologies, 2007): version 0, flags, the length of all of it, the
 * number of the link that follows; little-endian. Its fields are not looked at. */
#include "layer.h"

enum gs_layer gs_decode_ppi(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;
    uint32_t length;

    if (!gs_is_captured(packet, cursor->offset, 8) || header[0] != 0) return GS_LAYER_END;
    length = gs_load_le16(header + 2);
    if (length < 8 || !gs_is_captured(packet, cursor->offset, length)) return GS_LAYER_END;
    cursor->offset += length;
    return gs_layer_of_dlt(gs_load_le32(header + 4));
}

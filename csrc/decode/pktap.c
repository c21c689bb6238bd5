/* SPDX-License-Identifier: Apache-2.0 */
/* PKTAP of macOS: the length of the header, the kind of record (1: a packet), the number of the
 * link that follows, then what the system knows of it; little-endian. */
#include "layer.h"

#define LEAST_LENGTH 12u
#define RECORD_PACKET 1

enum gs_layer gs_decode_pktap(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;
    uint32_t length;

    if (!gs_is_captured(packet, cursor->offset, LEAST_LENGTH)) return GS_LAYER_END;
    length = gs_load_le32(header);
    if (length < LEAST_LENGTH || !gs_is_captured(packet, cursor->offset, length))
        return GS_LAYER_END;
    if (gs_load_le32(header + 4) != RECORD_PACKET) return GS_LAYER_END;
    cursor->offset += length;
    return gs_layer_of_dlt(gs_load_le32(header + 8));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* FDDI: frame control, two addresses; LLC follows in asynchronous frames of that kind. */
#include "layer.h"

#define FRAME_KIND 0xf0
#define FRAME_ASYNCHRONOUS_LLC 0x50

enum gs_layer gs_decode_fddi(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;

    if (!gs_is_captured(packet, cursor->offset, 13)) return GS_LAYER_END;
    if ((header[0] & FRAME_KIND) != FRAME_ASYNCHRONOUS_LLC) return GS_LAYER_END;
    cursor->offset += 13;
    return GS_LAYER_LLC;
}

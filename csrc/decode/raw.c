/* SPDX-License-Identifier: Apache-2.0 */
/* IP without a header before it, or behind one that does not say which: the version nibble does. */
#include "layer.h"

enum gs_layer gs_decode_raw(struct gs_packet *packet, struct gs_cursor *cursor)
{
    if (!gs_is_captured(packet, cursor->offset, 1)) return GS_LAYER_END;
    switch (packet->bytes[cursor->offset] >> 4) {
    case 4:
        return GS_LAYER_IPV4;
    case 6:
        return GS_LAYER_IPV6;
    default:
        return GS_LAYER_END;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* IEEE 802.5: access control, frame control, two addresses, and a route where the first bit of the
 * source says so; LLC follows in frames of that kind. */
#include "layer.h"

#define FRAME_KIND 0xc0
#define FRAME_LLC 0x40
#define SOURCE_ROUTED 0x80
#define ROUTE_LENGTH 0x1f

enum gs_layer gs_decode_token_ring(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;
    uint32_t route;

    if (!gs_is_captured(packet, cursor->offset, 14)) return GS_LAYER_END;
    if ((header[1] & FRAME_KIND) != FRAME_LLC) return GS_LAYER_END;
    cursor->offset += 14;
    if (!(header[8] & SOURCE_ROUTED)) return GS_LAYER_LLC;
    if (!gs_is_captured(packet, cursor->offset, 2)) return GS_LAYER_END;
    route = header[14] & ROUTE_LENGTH; /* its own two bytes counted */
    if (route < 2 || !gs_is_captured(packet, cursor->offset, route)) return GS_LAYER_END;
    cursor->offset += route;
    return GS_LAYER_LLC;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A PPPoE session packet (RFC 2516): version and type, code 0, session, length; then PPP. The
 * length is not believed: the IP header has its own. */
#include "layer.h"

enum gs_layer gs_decode_pppoe(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;

    if (!gs_is_captured(packet, cursor->offset, 6)) return GS_LAYER_END;
    if (header[1] != 0) return GS_LAYER_END;
    cursor->offset += 6;
    return GS_LAYER_PPP;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* An Ethernet pseudowire behind a label stack (RFC 4448). Nothing in the packet says so: what is no
 * IP is taken for Ethernet, behind a control word if the first two bytes are zero. A first nibble
 * of 1 is the channel that goes with a pseudowire (RFC 4385). */
#include "tunnel.h"

enum gs_layer gs_open_pseudowire(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;

    if (!gs_is_captured(packet, cursor->offset, 4) || header[0] >> 4 == 1) return GS_LAYER_END;
    if (gs_load_be16(header) == 0) cursor->offset += 4;
    return GS_LAYER_ETHERNET;
}

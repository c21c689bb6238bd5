/* SPDX-License-Identifier: Apache-2.0 */
/* Cisco HDLC: address, control, then an EtherType. Which station it is addressed to does not matter
 * (0f one, 8f all); SLARP and CDP carry no IP. */
#include "layer.h"

enum gs_layer gs_decode_cisco_hdlc(struct gs_packet *packet, struct gs_cursor *cursor)
{
    if (!gs_is_captured(packet, cursor->offset, 4)) return GS_LAYER_END;
    packet->ether_type = gs_load_be16(packet->bytes + cursor->offset + 2);
    cursor->offset += 4;
    return gs_layer_of_ether_type(packet->ether_type);
}

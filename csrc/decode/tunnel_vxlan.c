/* SPDX-License-Identifier: Apache-2.0 */
/* VXLAN (RFC 7348): flags, of which one says that there is a network's number, that, then Ethernet.
 */
#include "tunnel.h"

#define HAS_NETWORK 0x08

enum gs_layer gs_open_vxlan(struct gs_packet *packet, struct gs_cursor *cursor)
{
    if (!gs_is_captured(packet, cursor->offset, 8)) return GS_LAYER_END;
    if (!(packet->bytes[cursor->offset] & HAS_NETWORK)) return GS_LAYER_END;
    cursor->offset += 8;
    return GS_LAYER_ETHERNET;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* IP over InfiniBand (RFC 4391): a global route header of 40 bytes, which a capture has for every
 * packet, an EtherType, two bytes that are reserved. */
#include "layer.h"

enum gs_layer gs_decode_ipoib(struct gs_packet *packet, struct gs_cursor *cursor)
{
    if (!gs_is_captured(packet, cursor->offset, 44)) return GS_LAYER_END;
    packet->ether_type = gs_load_be16(packet->bytes + cursor->offset + 40);
    cursor->offset += 44;
    return gs_layer_of_ether_type(packet->ether_type);
}

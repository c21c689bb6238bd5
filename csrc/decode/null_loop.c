/* SPDX-License-Identifier: Apache-2.0 */
/* BSD loopback: four bytes of address family, in the byte order of the capturing host (NULL) or in
 * network order (LOOP); no family is so great that its order could be mistaken. */
#include "layer.h"

static uint32_t family_in_either_order(const uint8_t *bytes)
{
    uint32_t family = gs_load_be32(bytes);

    return family > 0xffff ? __builtin_bswap32(family) : family;
}

enum gs_layer gs_decode_null(struct gs_packet *packet, struct gs_cursor *cursor)
{
    if (!gs_is_captured(packet, cursor->offset, 4)) return GS_LAYER_END;
    cursor->offset += 4;
    return gs_layer_of_address_family(family_in_either_order(packet->bytes + cursor->offset - 4));
}

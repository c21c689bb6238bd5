/* SPDX-License-Identifier: Apache-2.0 */
/* PPP (RFC 1661), with or without the address and control bytes of HDLC-like framing (RFC 1662),
 * the protocol field in two bytes or compressed to one. */
#include "layer.h"

static enum gs_layer layer_of_ppp_protocol(uint16_t protocol)
{
    switch (protocol) {
    case 0x0021:
        return GS_LAYER_IPV4;
    case 0x0057:
        return GS_LAYER_IPV6;
    case 0x0281: /* MPLS, unicast and multicast */
    case 0x0283:
        return GS_LAYER_MPLS;
    default:
        return GS_LAYER_END;
    }
}

static void skip_framing(const struct gs_packet *packet, struct gs_cursor *cursor)
{
    if (gs_is_captured(packet, cursor->offset, 2) &&
        gs_load_be16(packet->bytes + cursor->offset) == 0xff03)
        cursor->offset += 2;
}

enum gs_layer gs_decode_ppp(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *field;

    skip_framing(packet, cursor);
    field = packet->bytes + cursor->offset;
    if (!gs_is_captured(packet, cursor->offset, 1)) return GS_LAYER_END;
    if (field[0] & 1) { /* the last byte of the field is the odd one */
        cursor->offset += 1;
        return layer_of_ppp_protocol(field[0]);
    }
    if (!gs_is_captured(packet, cursor->offset, 2)) return GS_LAYER_END;
    cursor->offset += 2;
    return layer_of_ppp_protocol(gs_load_be16(field));
}

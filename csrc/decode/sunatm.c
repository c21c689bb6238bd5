/* SPDX-License-Identifier: Apache-2.0 */
/* SunATM: whose traffic it is in four bits, the virtual path and channel, then a datagram of AAL5
 * put together: LLC (RFC 2684), or LAN emulation, which is Ethernet behind two bytes. */
#include "layer.h"

#define KIND_MASK 0x0f
#define KIND_LAN_EMULATION 1
#define KIND_LLC 2
#define LAN_EMULATION_CONTROL 0xff00

static enum gs_layer decode_lan_emulation(struct gs_packet *packet, struct gs_cursor *cursor)
{
    if (!gs_is_captured(packet, cursor->offset, 2)) return GS_LAYER_END;
    if (gs_load_be16(packet->bytes + cursor->offset) == LAN_EMULATION_CONTROL) return GS_LAYER_END;
    cursor->offset += 2;
    return GS_LAYER_ETHERNET;
}

enum gs_layer gs_decode_sunatm(struct gs_packet *packet, struct gs_cursor *cursor)
{
    uint8_t kind;

    if (!gs_is_captured(packet, cursor->offset, 4)) return GS_LAYER_END;
    kind = packet->bytes[cursor->offset] & KIND_MASK;
    cursor->offset += 4;
    if (kind == KIND_LAN_EMULATION) return decode_lan_emulation(packet, cursor);
    return kind == KIND_LLC ? GS_LAYER_LLC : GS_LAYER_END;
}

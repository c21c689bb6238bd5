/* SPDX-License-Identifier: Apache-2.0 */
/* Geneve (RFC 8926): version 0, the length of the options in words, no control packet, an EtherType
 * or Ethernet. Options are not looked at. */
#include "tunnel.h"

#define OPTION_WORDS 0x3f
#define VERSION 0xc0
#define CONTROL 0x80
#define TRANSPARENT_ETHERNET 0x6558

enum gs_layer gs_open_geneve(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;
    uint32_t length;
    uint16_t protocol;

    if (!gs_is_captured(packet, cursor->offset, 8)) return GS_LAYER_END;
    if ((header[0] & VERSION) || (header[1] & CONTROL)) return GS_LAYER_END;
    length = 8 + (header[0] & OPTION_WORDS) * 4u;
    protocol = gs_load_be16(header + 2);
    if (!gs_is_captured(packet, cursor->offset, length)) return GS_LAYER_END;
    cursor->offset += length;
    if (protocol == TRANSPARENT_ETHERNET) return GS_LAYER_ETHERNET;
    return gs_layer_of_ether_type(protocol);
}

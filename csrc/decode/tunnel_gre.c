/* SPDX-License-Identifier: Apache-2.0 */
/* GRE (RFC 2784, 2890), ERSPAN I to III within it, and the enhanced GRE of PPTP (RFC 2637). Source
 * routes (RFC 1701) are not walked. */
#include "tunnel.h"

#define CHECKSUM 0x8000u
#define ROUTING 0x4000u
#define KEY 0x2000u
#define SEQUENCE 0x1000u
#define ACKNOWLEDGMENT 0x0080u /* of version 1 */
#define VERSION 0x0007u
#define TRANSPARENT_ETHERNET 0x6558
#define ERSPAN 0x88be
#define ERSPAN_III 0x22eb
#define PPP 0x880b

static uint32_t words(uint16_t flags, uint16_t wanted)
{
    return (uint32_t)__builtin_popcount(flags & wanted) * 4;
}

/* Version 1: a key, and data only with a number. */
static enum gs_layer open_pptp(struct gs_packet *packet, struct gs_cursor *cursor, uint16_t flags)
{
    uint32_t length = 4 + words(flags, KEY | SEQUENCE | ACKNOWLEDGMENT);

    if (!(flags & KEY) || !(flags & SEQUENCE)) return GS_LAYER_END;
    if (!gs_is_captured(packet, cursor->offset, length)) return GS_LAYER_END;
    cursor->offset += length;
    return GS_LAYER_PPP;
}

/* Type I has no header; II is known by GRE's number of the packet. */
static enum gs_layer open_erspan(struct gs_packet *packet, struct gs_cursor *cursor, uint16_t flags)
{
    if (!(flags & SEQUENCE)) return GS_LAYER_ETHERNET;
    if (!gs_is_captured(packet, cursor->offset, 8)) return GS_LAYER_END;
    cursor->offset += 8;
    return GS_LAYER_ETHERNET;
}

/* Twelve bytes, and eight more where the last bit says so; of kind 0 Ethernet, of 2 IP. */
static enum gs_layer open_erspan_iii(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;
    uint32_t length, kind;

    if (!gs_is_captured(packet, cursor->offset, 12)) return GS_LAYER_END;
    length = header[11] & 1 ? 20 : 12;
    kind = header[10] >> 2 & 0x1f;
    if (!gs_is_captured(packet, cursor->offset, length)) return GS_LAYER_END;
    cursor->offset += length;
    if (kind == 0) return GS_LAYER_ETHERNET;
    return kind == 2 ? GS_LAYER_RAW : GS_LAYER_END;
}

enum gs_layer gs_open_gre(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;
    uint16_t flags, protocol;
    uint32_t length;

    if (!gs_is_captured(packet, cursor->offset, 4)) return GS_LAYER_END;
    flags = gs_load_be16(header);
    protocol = gs_load_be16(header + 2);
    if ((flags & VERSION) == 1 && protocol == PPP) return open_pptp(packet, cursor, flags);
    if (flags & (VERSION | ROUTING)) return GS_LAYER_END;
    length = 4 + words(flags, CHECKSUM | KEY | SEQUENCE);
    if (!gs_is_captured(packet, cursor->offset, length)) return GS_LAYER_END;
    cursor->offset += length;
    if (protocol == TRANSPARENT_ETHERNET) return GS_LAYER_ETHERNET;
    if (protocol == ERSPAN) return open_erspan(packet, cursor, flags);
    if (protocol == ERSPAN_III) return open_erspan_iii(packet, cursor);
    return gs_layer_of_ether_type(protocol);
}

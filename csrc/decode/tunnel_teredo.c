/* SPDX-License-Identifier: Apache-2.0 */
/* Teredo (RFC 4380): IPv6, perhaps behind an authentication and then an origin. */
#include "tunnel.h"

#define ORIGIN 0x0000
#define AUTHENTICATION 0x0001
#define ORIGIN_BYTES 8u

static bool begins_with(const struct gs_packet *packet, const struct gs_cursor *cursor,
                        uint16_t indication)
{
    return gs_is_captured(packet, cursor->offset, 4) &&
           gs_load_be16(packet->bytes + cursor->offset) == indication;
}

/* The lengths of two values, the values, eight bytes of a nonce and one of confirmation. */
static uint32_t authentication_length(const uint8_t *header)
{
    return 4u + header[2] + header[3] + 9u;
}

enum gs_layer gs_open_teredo(struct gs_packet *packet, struct gs_cursor *cursor)
{
    if (begins_with(packet, cursor, AUTHENTICATION)) {
        uint32_t length = authentication_length(packet->bytes + cursor->offset);

        if (!gs_is_captured(packet, cursor->offset, length)) return GS_LAYER_END;
        cursor->offset += length;
    }
    if (begins_with(packet, cursor, ORIGIN)) {
        if (!gs_is_captured(packet, cursor->offset, ORIGIN_BYTES)) return GS_LAYER_END;
        cursor->offset += ORIGIN_BYTES;
    }
    return GS_LAYER_IPV6;
}

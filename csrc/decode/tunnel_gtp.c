/* SPDX-License-Identifier: Apache-2.0 */
/* GTP-U version 1 (3GPP TS 29.281): a G-PDU, which is IP, behind eight bytes, four more if any of
 * three flags is set, and extension headers, each with its length in words and the next one's kind.
 */
#include "tunnel.h"

#define VERSION_AND_TYPE 0xf0 /* version 1, GTP and not GTP' */
#define VERSION_1_GTP 0x30
#define ANY_OPTION 0x07
#define HAS_EXTENSION 0x04
#define MESSAGE_G_PDU 0xff

/* Each has four bytes at least, so the captured bytes bound the loop. */
static bool step_over_extensions(const struct gs_packet *packet, struct gs_cursor *cursor)
{
    while (packet->bytes[cursor->offset - 1] != 0) {
        uint32_t length;

        if (!gs_is_captured(packet, cursor->offset, 1)) return false;
        length = packet->bytes[cursor->offset] * 4u;
        if (length == 0 || !gs_is_captured(packet, cursor->offset, length)) return false;
        cursor->offset += length;
    }
    return true;
}

enum gs_layer gs_open_gtp(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;
    uint32_t length;

    if (!gs_is_captured(packet, cursor->offset, 8)) return GS_LAYER_END;
    if ((header[0] & VERSION_AND_TYPE) != VERSION_1_GTP || header[1] != MESSAGE_G_PDU)
        return GS_LAYER_END;
    length = header[0] & ANY_OPTION ? 12 : 8;
    if (!gs_is_captured(packet, cursor->offset, length)) return GS_LAYER_END;
    cursor->offset += length;
    if ((header[0] & HAS_EXTENSION) && !step_over_extensions(packet, cursor)) return GS_LAYER_END;
    return GS_LAYER_RAW;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Radiotap before an 802.11 frame. Of its fields only the flags matter here: they tell whether the
 * 802.11 header is padded. All of it is little-endian. */
#include "layer.h"

#define PRESENT_TSFT 0x00000001u
#define PRESENT_FLAGS 0x00000002u
#define PRESENT_MORE 0x80000000u
#define FLAG_DATA_PAD 0x20

/* Where the fields begin: behind the last word of the chain of presence words, or the last that
 * the header has room for. */
static uint32_t offset_of_fields(const uint8_t *header, uint32_t length)
{
    uint32_t offset = 4;

    while (offset + 4 <= length) {
        offset += 4;
        if (!(gs_load_le32(header + offset - 4) & PRESENT_MORE)) break;
    }
    return offset;
}

static bool is_padded(const uint8_t *header, uint32_t length)
{
    uint32_t present = gs_load_le32(header + 4);
    uint32_t offset = offset_of_fields(header, length);

    if (!(present & PRESENT_FLAGS)) return false;
    if (present & PRESENT_TSFT) offset = ((offset + 7) & ~7u) + 8;
    return offset < length && (header[offset] & FLAG_DATA_PAD);
}

enum gs_layer gs_decode_radiotap(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;
    uint32_t length;

    if (!gs_is_captured(packet, cursor->offset, 8)) return GS_LAYER_END;
    length = (uint32_t)(header[2] | header[3] << 8);
    if (length < 8 || !gs_is_captured(packet, cursor->offset, length)) return GS_LAYER_END;
    cursor->is_padded_to_4 = is_padded(header, length);
    cursor->offset += length;
    return GS_LAYER_IEEE802_11;
}

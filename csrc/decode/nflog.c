/* SPDX-License-Identifier: Apache-2.0 */
/* NFLOG of Linux: address family, version 0, resource, then attributes of length (its own four
 * bytes counted), type and value, padded to words, in the byte order of the capturing host; no type
 * has two bytes, so the order can be told. One of them is the packet. */
#include "layer.h"

#define ATTRIBUTE_BYTES 4u
#define TYPE_PAYLOAD 9

static bool is_big_endian(const uint8_t *attribute)
{
    return attribute[2] == 0;
}

static uint32_t length_of(const uint8_t *attribute)
{
    return is_big_endian(attribute) ? gs_load_be16(attribute) : gs_load_le16(attribute);
}

static uint32_t type_of(const uint8_t *attribute)
{
    return is_big_endian(attribute) ? gs_load_be16(attribute + 2) : gs_load_le16(attribute + 2);
}

/* Every attribute has four bytes, so the captured bytes bound the loop. */
static bool find_payload(const struct gs_packet *packet, struct gs_cursor *cursor)
{
    while (gs_is_captured(packet, cursor->offset, ATTRIBUTE_BYTES)) {
        const uint8_t *attribute = packet->bytes + cursor->offset;
        uint32_t length = length_of(attribute), padded = (length + 3) & ~3u;

        if (length < ATTRIBUTE_BYTES) return false;
        if (type_of(attribute) == TYPE_PAYLOAD) {
            cursor->offset += ATTRIBUTE_BYTES;
            return true;
        }
        if (!gs_is_captured(packet, cursor->offset, padded)) return false;
        cursor->offset += padded;
    }
    return false;
}

enum gs_layer gs_decode_nflog(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;

    if (!gs_is_captured(packet, cursor->offset, 4) || header[1] != 0) return GS_LAYER_END;
    cursor->offset += 4;
    if (!find_payload(packet, cursor)) return GS_LAYER_END;
    return gs_layer_of_address_family(header[0]);
}

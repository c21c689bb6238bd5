/* SPDX-License-Identifier: Apache-2.0 */
/* An IEEE 802.11 data frame: its header has 24 bytes and up to three optional parts, LLC follows.
 * Frames without data, encrypted ones, fragments after the first and aggregates (A-MSDU: several
 * packets in one frame) are not walked. */
#include "layer.h"

/* The first byte of frame control. */
#define KIND_MASK 0x0f
#define KIND_DATA 0x08 /* version 0, type data */
#define SUBTYPE_NO_DATA 0x40
#define SUBTYPE_QOS 0x80
/* The second. */
#define BOTH_DISTRIBUTION_BITS 0x03
#define FLAG_PROTECTED 0x40
#define FLAG_ORDER 0x80
/* The first byte of QoS control. */
#define QOS_AGGREGATE 0x80

static bool has_four_addresses(const uint8_t *header)
{
    return (header[1] & BOTH_DISTRIBUTION_BITS) == BOTH_DISTRIBUTION_BITS;
}

static bool is_qos(const uint8_t *header)
{
    return header[0] & SUBTYPE_QOS;
}

static uint32_t header_length(const uint8_t *header)
{
    uint32_t length = 24;

    if (has_four_addresses(header)) length += 6;
    if (is_qos(header)) length += header[1] & FLAG_ORDER ? 6 : 2; /* HT control comes with it */
    return length;
}

static bool has_plain_data(const uint8_t *header)
{
    bool is_data = (header[0] & KIND_MASK) == KIND_DATA && !(header[0] & SUBTYPE_NO_DATA);
    bool is_first_fragment = (header[22] & 0x0f) == 0;

    return is_data && is_first_fragment && !(header[1] & FLAG_PROTECTED);
}

static bool is_aggregate(const uint8_t *header)
{
    return is_qos(header) && (header[has_four_addresses(header) ? 30 : 24] & QOS_AGGREGATE);
}

enum gs_layer gs_decode_ieee802_11(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;
    uint32_t length;

    if (!gs_is_captured(packet, cursor->offset, 24) || !has_plain_data(header)) return GS_LAYER_END;
    length = header_length(header);
    if (!gs_is_captured(packet, cursor->offset, length) || is_aggregate(header))
        return GS_LAYER_END;
    if (cursor->is_padded_to_4) length = (length + 3) & ~3u;
    if (!gs_is_captured(packet, cursor->offset, length)) return GS_LAYER_END;
    cursor->offset += length;
    return GS_LAYER_LLC;
}

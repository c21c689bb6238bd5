/* SPDX-License-Identifier: Apache-2.0 */
#include "whole.h"

#include "../decode/layer.h"

#define IPV4_MORE_AND_OFFSET 0x3fffu
#define IPV6_BYTES 40

static void store_be16(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

/* As the host sent it: no fragment, of the whole length; false: that is more than 16 bits. */
static bool mend_header(const struct gs_datagram *datagram, uint8_t *room)
{
    const struct gs_fragment *first = &datagram->head_fragment;
    uint8_t *header = room + datagram->head.network_offset;
    uint32_t length = first->header_length - datagram->head.network_offset + datagram->total;

    if (length - (first->key.version == 4 ? 0 : IPV6_BYTES) > UINT16_MAX) return false;
    if (first->key.version == 4) {
        uint32_t flags = gs_load_be16(header + 6);

        store_be16(header + 2, length);
        store_be16(header + 6, flags & ~IPV4_MORE_AND_OFFSET);
    } else {
        store_be16(header + 4, length - IPV6_BYTES);
        room[first->next_header_offset] = first->next_header;
    }
    return true;
}

/* The number of bytes that there are, one behind the other. */
static uint32_t load_payload(const struct gs_datagrams *datagrams,
                             const struct gs_datagram *datagram, uint8_t *room)
{
    uint32_t at = datagram->first_piece, present = 0;

    while (at != UINT32_MAX) {
        const struct gs_piece *piece = &datagrams->pieces[at];

        gs_block_pool_load(&datagrams->pool, piece->chain, room + present, piece->captured);
        present += piece->captured;
        if (piece->captured < piece->end - piece->begin) break;
        at = piece->next;
    }
    return present;
}

static void take_record(struct gs_packet *whole, const struct gs_packet *record, uint64_t len)
{
    whole->timestamp_ns = record->timestamp_ns;
    whole->packet_id = record->packet_id;
    whole->offset = record->offset;
    whole->interface = record->interface;
    whole->flags = record->flags;
    whole->sampling_shift = record->sampling_shift;
    whole->len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
    whole->outer = record->outer;
}

bool gs_whole_make(const struct gs_datagrams *datagrams, const struct gs_datagram *datagram,
                   struct gs_packet *packet, uint8_t *room)
{
    const struct gs_fragment *first = &datagram->head_fragment;
    struct gs_packet whole = datagram->head;
    struct gs_cursor cursor = {whole.network_offset, 0, 0};

    gs_block_pool_load(&datagrams->pool, datagram->head_chain, room, first->header_length);
    if (!mend_header(datagram, room)) return false;
    whole.bytes = room;
    whole.caplen =
        first->header_length + load_payload(datagrams, datagram, room + first->header_length);
    whole.protocols &= GS_PROTOCOL_PKT | GS_PROTOCOL_ETH;
    gs_decode_layers(&whole, &cursor, first->key.version == 4 ? GS_LAYER_IPV4 : GS_LAYER_IPV6);
    take_record(&whole, packet, datagram->len);
    *packet = whole;
    return true;
}

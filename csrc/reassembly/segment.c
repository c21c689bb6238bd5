/* SPDX-License-Identifier: Apache-2.0 */
#include "segment.h"

#include "gs_fields_transport.h"

#define FLAG_FIN 0x01u
#define FLAG_SYN 0x02u

static void read_addresses(const struct gs_packet *packet, struct gs_direction_key *key)
{
    const uint8_t *header = packet->bytes + packet->network_offset;
    bool is_ipv4 = packet->protocols & GS_PROTOCOL_IPV4;
    size_t size = is_ipv4 ? 4 : 16;

    memcpy(key->source, header + (is_ipv4 ? 12 : 8), size);
    memcpy(key->destination, header + (is_ipv4 ? 16 : 24), size);
    key->version = is_ipv4 ? 4 : 6;
}

bool gs_segment_read(const struct gs_packet *packet, uint32_t depth, struct gs_segment *segment)
{
    uint32_t length;
    uint8_t flags;

    if (!(packet->protocols & GS_PROTOCOL_TCP)) return false;
    memset(segment, 0, sizeof *segment);
    read_addresses(packet, &segment->key);
    gs_field_srcPort(packet, &segment->key.source_port);
    gs_field_destPort(packet, &segment->key.destination_port);
    segment->key.vlan = packet->vlan;
    segment->key.inner_vlan = packet->inner_vlan;
    segment->key.depth = (uint8_t)depth;
    gs_field_sequence_number(packet, &segment->begin);
    gs_field_data_length_tcp(packet, &length);
    flags = gs_transport_header(packet)[13];
    segment->is_syn = flags & FLAG_SYN;
    segment->end = segment->begin + length + segment->is_syn + (flags & FLAG_FIN);
    return true;
}

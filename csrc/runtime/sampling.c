/* SPDX-License-Identifier: Apache-2.0 */
/* Which flow a packet is of, as a number: each end is hashed alone and the two are added, so that
 * both directions have the same. */
#include "sampling.h"

#include <stdbool.h>

#include "gs_fields_network.h"

#define PORT_BYTES 2

static uint64_t hash_end(struct gs_string address, uint64_t port, const uint64_t *key)
{
    return gs_hash_word(gs_hash_bytes(key[0], address, key), port, key);
}

static bool is_fragment(const struct gs_packet *packet)
{
    uint8_t more = 0;
    return packet->is_later_fragment || (gs_field_more_frag(packet, &more) && more);
}

static uint64_t hash_ends(uint32_t address_bytes, const uint8_t *addresses, const uint8_t *ports,
                          uint64_t protocol, const uint64_t *key)
{
    struct gs_string source = {addresses, address_bytes};
    struct gs_string destination = {addresses + address_bytes, address_bytes};
    uint64_t source_port = ports == NULL ? 0 : gs_load_be16(ports);
    uint64_t destination_port = ports == NULL ? 0 : gs_load_be16(ports + PORT_BYTES);
    uint64_t both =
        hash_end(source, source_port, key) + hash_end(destination, destination_port, key);
    return gs_hash_word(both, protocol, key);
}

/* A fragment may come without ports, and says no more than whose it is. */
static uint64_t hash_ip(const struct gs_packet *packet, const uint64_t *key)
{
    bool is_whole = !is_fragment(packet);
    bool has_ports = (packet->protocols & GS_PROTOCOL_DATAPROTOCOL) && is_whole;
    uint64_t protocol = is_whole ? packet->ip_protocol : 0;
    const uint8_t *header = packet->bytes + packet->network_offset;
    const uint8_t *ports = has_ports ? packet->bytes + packet->transport_offset : NULL;
    if (packet->protocols & GS_PROTOCOL_IPV4)
        return hash_ends(4, header + 12, ports, protocol, key);
    return hash_ends(16, header + 8, ports, protocol, key);
}

/* A packet without any address is a flow of its own. */
static uint64_t hash_flow(const struct gs_packet *packet, const uint64_t *key)
{
    if (packet->protocols & GS_PROTOCOL_IP) return hash_ip(packet, key);
    if (packet->protocols & GS_PROTOCOL_ETH)
        return hash_ends(6, packet->bytes + packet->ethernet_offset, NULL, 0, key);
    return gs_hash_word(key[0] ^ (uint64_t)packet->timestamp_ns, packet->packet_id, key);
}

uint32_t gs_sampling_keep(const struct gs_sampling *sampling, struct gs_packet *packets,
                          uint32_t count)
{
    uint64_t mask = ((uint64_t)1 << sampling->shift) - 1;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (hash_flow(&packets[i], sampling->key) & mask) continue;
        if (kept != i) packets[kept] = packets[i];
        packets[kept++].sampling_shift = (uint8_t)(sampling->shift & 127u);
    }
    return kept;
}

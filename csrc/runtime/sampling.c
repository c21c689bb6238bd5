/* SPDX-License-Identifier: Apache-2.0 */
/* Which flow a packet is of, as a number: each end is hashed alone and the two are added, so that
 * both directions have the same. */
#include "sampling.h"

#include <stdbool.h>

#define PORT_BYTES 2

static uint64_t hash_end(struct gs_string address, uint64_t port, const uint64_t *key)
{
    return gs_hash_word(gs_hash_bytes(key[0], address, key), port, key);
}

static uint64_t hash_ends(const struct gs_packet *packet, uint32_t address_bytes,
                          const uint8_t *addresses, const uint8_t *ports, const uint64_t *key)
{
    struct gs_string source = {addresses, address_bytes};
    struct gs_string destination = {addresses + address_bytes, address_bytes};
    uint64_t source_port = ports == NULL ? 0 : gs_load_be16(ports);
    uint64_t destination_port = ports == NULL ? 0 : gs_load_be16(ports + PORT_BYTES);
    /* a fragment may come without ports, and says no more than whose it is */
    uint64_t protocol = packet->is_fragment ? 0 : packet->ip_protocol;
    uint64_t both =
        hash_end(source, source_port, key) + hash_end(destination, destination_port, key);
    return gs_hash_word(both, protocol, key);
}

static uint64_t hash_ip(const struct gs_packet *packet, const uint64_t *key)
{
    bool has_ports = (packet->protocols & GS_PROTOCOL_DATAPROTOCOL) && !packet->is_fragment;
    const uint8_t *header = packet->bytes + packet->network_offset;
    const uint8_t *ports = has_ports ? packet->bytes + packet->transport_offset : NULL;
    if (packet->protocols & GS_PROTOCOL_IPV4) return hash_ends(packet, 4, header + 12, ports, key);
    return hash_ends(packet, 16, header + 8, ports, key);
}

/* A packet without any address is a flow of its own. */
static uint64_t hash_flow(const struct gs_packet *packet, const uint64_t *key)
{
    if (packet->protocols & GS_PROTOCOL_IP) return hash_ip(packet, key);
    if (packet->protocols & GS_PROTOCOL_ETH) return hash_ends(packet, 6, packet->bytes, NULL, key);
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

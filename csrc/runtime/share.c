/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"

#include <string.h>

#include "../decode/decode.h"
#include "gs_hash.h"
#include "gs_plain.h"

#define IPV4_ADDRESSES 12 /* in its header: the source's, then the destination's */
#define IPV6_ADDRESSES 8
#define IPV6_BYTES 16
#define ETHERNET_BYTES 14
#define IPV4_BYTES 20
#define IPV4_ADDRESS_BYTES 4

static uint64_t load_word(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

struct gs_share gs_share_of(uint32_t part, uint32_t parts, bool by_source, bool by_destination,
                            uint64_t key)
{
    uint8_t ends[sizeof(uint64_t)];
    memset(ends, by_source ? 0xff : 0, sizeof ends / 2);
    memset(ends + sizeof ends / 2, by_destination ? 0xff : 0, sizeof ends / 2);
    return (struct gs_share){part, parts, key, load_word(ends)};
}

static uint64_t mix(uint64_t word, uint64_t key)
{
    __extension__ unsigned __int128 product = (unsigned __int128)(word ^ key) * 0x9e3779b97f4a7c15u;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint32_t part_of(const struct gs_share *share, uint64_t hash)
{
    return (uint32_t)(((hash & UINT32_MAX) * share->parts) >> 32);
}

static inline uint32_t part_of_ipv4(const struct gs_share *share, const uint8_t *addresses)
{
    return part_of(share, mix(load_word(addresses) & share->ends, share->key));
}

/* One that is IPv4's is the same address as there (INET): its last bytes; of others a hash. */
static void fold(const uint8_t *address, uint64_t key, uint8_t folded[IPV4_ADDRESS_BYTES])
{
    static const uint8_t mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    uint64_t hash = mix(load_word(address + sizeof hash), mix(load_word(address), key));
    const void *bytes = memcmp(address, mapped, sizeof mapped) == 0
                            ? (const void *)(address + sizeof mapped)
                            : (const void *)&hash;
    memcpy(folded, bytes, IPV4_ADDRESS_BYTES);
}

static uint32_t part_of_ipv6(const struct gs_share *share, const uint8_t *addresses)
{
    uint8_t folded[2 * IPV4_ADDRESS_BYTES];
    fold(addresses, share->key, folded);
    fold(addresses + IPV6_BYTES, share->key, folded + IPV4_ADDRESS_BYTES);
    return part_of_ipv4(share, folded);
}

/* What is no IP has none of the fields that tell shares apart: no group is made of it. */
static __attribute__((noinline)) uint32_t part_of_any(const struct gs_share *share,
                                                      struct gs_packet packet)
{
    gs_decode_burst(&packet, 1, GS_DEPTH_NETWORK);
    const uint8_t *header = packet.bytes + packet.network_offset;
    if (packet.protocols & GS_PROTOCOL_IPV4) return part_of_ipv4(share, header + IPV4_ADDRESSES);
    if (packet.protocols & GS_PROTOCOL_IPV6) return part_of_ipv6(share, header + IPV6_ADDRESSES);
    return 0;
}

/* Nearly all are: IPv4 right behind Ethernet. */
static inline bool is_simple(const uint8_t *bytes, uint32_t caplen)
{
    return caplen >= ETHERNET_BYTES + IPV4_BYTES && bytes[12] == 0x08 && bytes[13] == 0 &&
           bytes[ETHERNET_BYTES] >> 4 == 4;
}

static inline uint32_t part_of_frame(const struct gs_share *share, const struct gs_frame *frame)
{
    if (GS_LIKELY(is_simple(frame->bytes, frame->caplen)))
        return part_of_ipv4(share, frame->bytes + ETHERNET_BYTES + IPV4_ADDRESSES);
    return part_of_any(share, gs_packet_of_frame(frame));
}

uint32_t gs_share_keep_frames(const struct gs_share *share, struct gs_frame *frames, uint32_t count)
{
    const struct gs_share own = *share;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct gs_frame frame = frames[i];
        frames[kept] = frame;
        kept += part_of_frame(&own, &frame) == own.part;
    }
    return kept;
}

static uint32_t part_of_packet(const struct gs_share *share, const struct gs_packet *packet)
{
    if (packet->link == GS_LINK_ETHERNET && is_simple(packet->bytes, packet->caplen))
        return part_of_ipv4(share, packet->bytes + ETHERNET_BYTES + IPV4_ADDRESSES);
    return part_of_any(share, *packet);
}

uint32_t gs_share_keep_packets(const struct gs_share *share, struct gs_packet *packets,
                               uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (part_of_packet(share, &packets[i]) != share->part) continue;
        if (kept != i) packets[kept] = packets[i];
        kept++;
    }
    return kept;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Community ID v1, seed 0: "1:" and the base64 of a SHA-1 over the ordered flow tuple, the same
 * string that Zeek, Suricata and Wireshark give (the specification is corelight/community-id-spec).
 * TCP, UDP and SCTP hash ports; ICMP its type and the type of the answer, or the code where no
 * answer is defined; every other protocol the addresses alone. Where there are ports, a fragment
 * after the first, or a packet whose ports were not captured, has no ID: it would be another one
 * than its flow's. */
#ifndef GS_COMMUNITY_ID_H
#define GS_COMMUNITY_ID_H

#include "gs_fields.h"
#include "gs_scratch.h"

#define GS_SHA1_BLOCK_BYTES 64
#define GS_SHA1_DIGEST_BYTES 20
#define GS_COMMUNITY_ID_BYTES 30 /* "1:" and 28 of base64 */

static inline uint32_t gs_sha1_rotate(uint32_t value, unsigned bits)
{
    return value << bits | value >> (32 - bits);
}

static inline void gs_store_be32(uint8_t *bytes, uint32_t value)
{
    value = __builtin_bswap32(value);
    memcpy(bytes, &value, 4);
}

static inline void gs_sha1_schedule(const uint8_t *block, uint32_t words[80])
{
    for (int i = 0; i < 16; i++)
        words[i] = gs_load_be32(block + 4 * i);
    for (int i = 16; i < 80; i++)
        words[i] = gs_sha1_rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
}

/* FIPS 180-4, section 4.1.1 and 4.2.1: the function of the round, and its constant. */
static inline uint32_t gs_sha1_mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
    if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999u;
    if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1u;
    if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
    return (b ^ c ^ d) + 0xca62c1d6u;
}

/* The digest of a message that, padded, is a single block: no flow tuple is longer. */
static inline void gs_sha1_of_block(const uint8_t block[GS_SHA1_BLOCK_BYTES],
                                    uint8_t digest[GS_SHA1_DIGEST_BYTES])
{
    static const uint32_t initial[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u,
                                        0xc3d2e1f0u};
    uint32_t words[80], state[5];

    memcpy(state, initial, sizeof state);
    gs_sha1_schedule(block, words);
    for (int i = 0; i < 80; i++) {
        uint32_t next = gs_sha1_rotate(state[0], 5) + gs_sha1_mix(i, state[1], state[2], state[3]) +
                        state[4] + words[i];
        state[4] = state[3];
        state[3] = state[2];
        state[2] = gs_sha1_rotate(state[1], 30);
        state[1] = state[0];
        state[0] = next;
    }
    for (int i = 0; i < 5; i++)
        gs_store_be32(digest + 4 * i, initial[i] + state[i]);
}

/* 20 bytes to 28 characters, the last of them the padding. */
static inline void gs_base64_of_digest(const uint8_t digest[GS_SHA1_DIGEST_BYTES], uint8_t *text)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t padded[21] = {0};

    memcpy(padded, digest, GS_SHA1_DIGEST_BYTES);
    for (int i = 0; i < 7; i++, text += 4) {
        const uint8_t *three = padded + 3 * i;

        text[0] = (uint8_t)alphabet[three[0] >> 2];
        text[1] = (uint8_t)alphabet[(three[0] & 3) << 4 | three[1] >> 4];
        text[2] = (uint8_t)alphabet[(three[1] & 15) << 2 | three[2] >> 6];
        text[3] = (uint8_t)alphabet[three[2] & 63];
    }
    text[-1] = '=';
}

/* The type that answers an ICMP type, as Zeek has it. */
static inline bool gs_icmp_counterpart(uint8_t type, uint8_t *answer)
{
    static const uint8_t pairs[][2] = {{8, 0},   {0, 8},   {13, 14}, {14, 13}, {15, 16},
                                       {16, 15}, {17, 18}, {18, 17}, {10, 9},  {9, 10}};

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i][0] != type) continue;
        *answer = pairs[i][1];
        return true;
    }
    return false;
}

static inline bool gs_icmpv6_counterpart(uint8_t type, uint8_t *answer)
{
    static const uint8_t pairs[][2] = {{128, 129}, {130, 131}, {133, 134},
                                       {135, 136}, {139, 140}, {144, 145}};

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i][0] != type && pairs[i][1] != type) continue;
        *answer = pairs[i][0] == type ? pairs[i][1] : pairs[i][0];
        return true;
    }
    return false;
}

/* What is hashed of a flow, network order. */
struct gs_flow_tuple {
    const uint8_t *addresses[2]; /* source, destination */
    uint8_t ports[2][2];
    uint8_t address_bytes;
    uint8_t protocol;
    bool has_ports;
    bool is_one_way; /* keeps its direction */
};

static inline struct gs_flow_tuple gs_flow_addresses(const struct gs_packet *p)
{
    const uint8_t *header = gs_network_header(p);
    struct gs_flow_tuple tuple = {.address_bytes = gs_is_ipv4(p) ? 4 : 16,
                                  .protocol = p->ip_protocol};

    tuple.addresses[0] = header + (gs_is_ipv4(p) ? 12 : 8);
    tuple.addresses[1] = tuple.addresses[0] + tuple.address_bytes;
    return tuple;
}

static inline void gs_flow_icmp_ports(const struct gs_packet *p, struct gs_flow_tuple *tuple)
{
    const uint8_t *header = gs_transport_header(p);
    uint8_t answer;
    bool is_answered = gs_is_ipv4(p) ? gs_icmp_counterpart(header[0], &answer)
                                     : gs_icmpv6_counterpart(header[0], &answer);

    tuple->is_one_way = !is_answered;
    tuple->ports[0][1] = header[0];
    tuple->ports[1][1] = is_answered ? answer : header[1];
}

/* False where the flow has ports that this packet does not show. */
static inline bool gs_flow_ports(const struct gs_packet *p, struct gs_flow_tuple *tuple)
{
    bool is_icmp = tuple->protocol == (gs_is_ipv4(p) ? 1 : 58);

    tuple->has_ports =
        is_icmp || tuple->protocol == 6 || tuple->protocol == 17 || tuple->protocol == 132;
    if (!tuple->has_ports) return true;
    if (p->is_later_fragment) return false;
    if (p->ip_payload_length < 4 || p->caplen - p->transport_offset < 4) return false;
    if (is_icmp)
        gs_flow_icmp_ports(p, tuple);
    else
        memcpy(tuple->ports, gs_transport_header(p), 4);
    return true;
}

/* The lesser address first, the lesser port where they are equal. */
static inline bool gs_flow_is_reversed(const struct gs_flow_tuple *tuple)
{
    int order = memcmp(tuple->addresses[0], tuple->addresses[1], tuple->address_bytes);

    if (order == 0) order = memcmp(tuple->ports[0], tuple->ports[1], 2);
    return !tuple->is_one_way && order > 0;
}

/* Lays the tuple out as SHA-1 wants its last block: message, one bit, zeros, length in bits. */
static inline void gs_flow_block(const struct gs_flow_tuple *tuple,
                                 uint8_t block[GS_SHA1_BLOCK_BYTES])
{
    int first = gs_flow_is_reversed(tuple);
    uint8_t *end = block + 2; /* behind the seed, 0 */

    memset(block, 0, GS_SHA1_BLOCK_BYTES);
    memcpy(end, tuple->addresses[first], tuple->address_bytes);
    end += tuple->address_bytes;
    memcpy(end, tuple->addresses[1 - first], tuple->address_bytes);
    end += tuple->address_bytes;
    *end = tuple->protocol;
    end += 2; /* a byte of padding */
    if (tuple->has_ports) {
        memcpy(end, tuple->ports[first], 2);
        memcpy(end + 2, tuple->ports[1 - first], 2);
        end += 4;
    }
    *end = 0x80;
    gs_store_be32(block + GS_SHA1_BLOCK_BYTES - 4, (uint32_t)(end - block) * 8);
}

/* Absent also when `scratch` is full. */
static inline bool gs_field_community_id(const struct gs_packet *p, struct gs_scratch *scratch,
                                         struct gs_string *value)
{
    struct gs_flow_tuple tuple = gs_flow_addresses(p);
    uint8_t block[GS_SHA1_BLOCK_BYTES], digest[GS_SHA1_DIGEST_BYTES];
    uint8_t *text;

    if (!gs_flow_ports(p, &tuple)) return false;
    text = gs_scratch_take(scratch, GS_COMMUNITY_ID_BYTES);
    if (text == NULL) return false;
    gs_flow_block(&tuple, block);
    gs_sha1_of_block(block, digest);
    memcpy(text, "1:", 2);
    gs_base64_of_digest(digest, text + 2);
    *value = (struct gs_string){text, GS_COMMUNITY_ID_BYTES};
    return true;
}

#endif

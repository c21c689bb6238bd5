/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference loop for TCP over both families: addresses are sixteen bytes of key each, IPv4 as
 * ::ffff:a.b.c.d, and a group fills a whole cache line. */
#include "loop.h"
#include "pages.h"

enum { BURST_PACKETS = 32 };

struct inet_pair {
    uint64_t words[4]; /* source, then destination, bytes as on the wire */
};

struct inet_group {
    struct inet_pair pair;
    uint32_t minute;
    uint32_t packets;
    uint64_t length_bytes;
    uint64_t unused[2]; /* a cache line */
};

struct inet_output {
    size_t used;
    bool check;
    struct inet_group batch[BATCH_TUPLES];
};

struct inet_table {
    struct pages pages;
    struct inet_group *slots;
    uint64_t *occupied;
    uint32_t shift;
    uint32_t slot_count;
    uint32_t minute;
};

struct inet_burst {
    uint32_t used;
    uint32_t index[BURST_PACKETS];
    struct inet_group fresh[BURST_PACKETS];
};

static inline uint64_t group_checksum(const struct inet_group *group)
{
    uint64_t key = mix(group->minute);
    for (int i = 0; i < 4; i++)
        key = mix(key ^ __builtin_bswap64(group->pair.words[i]));
    return key * (group->packets * 1000003ull + group->length_bytes);
}

static __attribute__((noinline)) void inet_drain(struct inet_output *output,
                                                 struct loop_result *result)
{
    for (size_t i = 0; output->check && i < output->used; i++) {
        result->checksum += group_checksum(&output->batch[i]);
        result->tuple_packets += output->batch[i].packets;
        result->tuple_bytes += output->batch[i].length_bytes;
    }
    result->tuples += output->used;
    output->used = 0;
}

static inline void inet_emit(const struct inet_group *group, struct inet_output *output,
                             struct loop_result *result)
{
    if (output->used == BATCH_TUPLES) inet_drain(output, result);
    output->batch[output->used++] = *group;
}

static int inet_open(struct inet_table *table, uint32_t slots_log2)
{
    table->slot_count = 1u << slots_log2;
    table->shift = 64 - slots_log2;
    table->minute = 0;
    table->occupied = calloc(table->slot_count / 64, sizeof *table->occupied);
    if (!table->occupied) return -1;
    if (pages_open(&table->pages, sizeof(struct inet_group) << slots_log2) != 0) return -1;
    table->slots = table->pages.start;
    return 0;
}

static void inet_close(struct inet_table *table)
{
    pages_close(&table->pages);
    free(table->occupied);
}

static inline uint64_t inet_word(uint32_t ipv4_on_wire)
{
    uint64_t high = (uint64_t)ipv4_on_wire << 32;
    return high | 0xffff0000u; /* 00 00 ff ff a b c d, little-endian */
}

static inline void pair_from_ipv4(struct inet_pair *pair, const uint8_t *ip)
{
    *pair = (struct inet_pair){{0, inet_word(load_u32(ip + 12)), 0, inet_word(load_u32(ip + 16))}};
}

static inline void pair_from_ipv6(struct inet_pair *pair, const uint8_t *ip)
{
    for (int i = 0; i < 4; i++)
        pair->words[i] = load_u64(ip + 8 + 8 * i);
}

static inline bool parse_tcp(const struct record *record, struct inet_pair *pair)
{
    struct network_layer ip;
    struct transport_layer tcp;
    if (!parse_ethernet(record, &ip)) return false;
    if (is_ipv4(&ip)) {
        pair_from_ipv4(pair, ip.bytes);
        return ipv4_transport(&ip, PROTOCOL_TCP, &tcp) && is_tcp(&tcp);
    }
    if (!is_ipv6(&ip) || !ipv6_transport(&ip, PROTOCOL_TCP, &tcp)) return false;
    pair_from_ipv6(pair, ip.bytes);
    return is_tcp(&tcp);
}

static inline uint32_t pair_index(const struct inet_table *table, const struct inet_pair *pair)
{
    uint64_t hash = (pair->words[0] ^ 0xa0761d6478bd642fu) * 0x9e3779b97f4a7c15u;
    hash ^= (pair->words[1] ^ 0xe7037ed1a0b428dbu) * 0xd6e8feb86659fd93u;
    hash ^= (pair->words[2] ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
    hash ^= (pair->words[3] ^ hash >> 32) * 0x94d049bb133111ebu;
    return (uint32_t)(((hash ^ hash >> 31) * 0x9e3779b97f4a7c15u) >> table->shift);
}

static inline bool same_group(const struct inet_group *a, const struct inet_group *b)
{
    uint64_t differing = 0;
    for (int i = 0; i < 4; i++)
        differing |= a->pair.words[i] ^ b->pair.words[i];
    return (differing | (a->minute ^ b->minute)) == 0;
}

static __attribute__((noinline)) void
inet_flush(struct inet_table *table, struct inet_output *output, struct loop_result *result)
{
    for (uint32_t word = 0; word < table->slot_count / 64; word++) {
        uint64_t bits = table->occupied[word];
        table->occupied[word] = 0;
        for (; bits; bits &= bits - 1) {
            struct inet_group *slot = &table->slots[word * 64 + (uint32_t)__builtin_ctzll(bits)];
            inet_emit(slot, output, result);
            slot->packets = 0;
            slot->minute = 0;
        }
    }
}

static inline void inet_add(struct inet_table *table, uint32_t index,
                            const struct inet_group *fresh, struct inet_output *output,
                            struct loop_result *result)
{
    struct inet_group *slot = &table->slots[index];
    if (same_group(slot, fresh)) {
        slot->packets++;
        slot->length_bytes += fresh->length_bytes;
        return;
    }
    if (slot->packets)
        inet_emit(slot, output, result);
    else
        table->occupied[index / 64] |= 1ull << index % 64;
    *slot = *fresh;
}

static inline void burst_drain(struct inet_burst *burst, struct inet_table *table,
                               struct inet_output *output, struct loop_result *result)
{
    for (uint32_t i = 0; i < burst->used; i++) {
        if (burst->fresh[i].minute > table->minute) {
            inet_flush(table, output, result);
            table->minute = burst->fresh[i].minute;
        }
        inet_add(table, burst->index[i], &burst->fresh[i], output, result);
    }
    burst->used = 0;
}

static inline void burst_add(struct inet_burst *burst, const struct inet_table *table,
                             const struct record *record)
{
    struct inet_group *fresh = &burst->fresh[burst->used];
    if (!parse_tcp(record, &fresh->pair)) return;
    fresh->minute = record->seconds / 60;
    fresh->packets = 1;
    fresh->length_bytes = record->length_bytes;
    uint32_t index = pair_index(table, &fresh->pair);
    burst->index[burst->used++] = index;
    __builtin_prefetch(&table->slots[index], 1);
}

static int run_loop(const struct loop_options *options, struct loop_result *result)
{
    struct capture capture;
    struct record record;
    struct inet_table table;
    struct inet_burst *burst = calloc(1, sizeof *burst);
    struct inet_output *output = calloc(1, sizeof *output);
    if (!burst || !output || inet_open(&table, options->slots_log2) != 0) return -1;
    if (capture_open(&capture, options->path, options->reads) != 0) return -1;
    output->check = options->check;
    for (; capture_next(&capture, &record); result->packets++) {
        burst_add(burst, &table, &record);
        if (burst->used == BURST_PACKETS) burst_drain(burst, &table, output, result);
    }
    burst_drain(burst, &table, output, result);
    inet_flush(&table, output, result);
    inet_drain(output, result);
    capture_close(&capture);
    inet_close(&table);
    free(burst);
    free(output);
    return 0;
}

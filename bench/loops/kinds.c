/* SPDX-License-Identifier: Apache-2.0
 *
 * What `sharing` asks of five kinds of groups (questions/sharing.py), written by hand: query n is
 * of kind n modulo 5 and takes TCP packets longer than n bytes. The queries of a kind share an
 * exact table, which grows; packets go into it in bursts whose slots are all prefetched before the
 * first is touched. Of IPv4 alone, in order of time, as that capture's packets are. */
#include "loop.h"
#include "pages.h"

enum { KINDS = 5, BURST_PACKETS = 64, FIRST_SLOTS = 1 << 16, QUERIES_MAX = 60 };

struct key {
    uint32_t source, dest, other;
};

struct group {
    struct key key;
    uint32_t is_used;
    struct {
        uint64_t packets, length_bytes;
    } of[]; /* each query of the kind */
};

struct kind {
    struct pages pages;
    size_t group_bytes;
    uint64_t mask, used;
    uint32_t first, queries; /* the number of its first one, and how many there are */
};

struct burst {
    uint32_t used;
    uint32_t length_bytes[BURST_PACKETS];
    struct key keys[KINDS][BURST_PACKETS];
};

static inline uint64_t hash_key(const struct key *key)
{
    uint64_t pair = ((uint64_t)key->source << 32 | key->dest) * 0x9e3779b97f4a7c15u;
    return mix(pair ^ key->other * 0xd6e8feb86659fd93u);
}

static inline struct group *group_at(const struct kind *kind, uint64_t index)
{
    return (struct group *)((char *)kind->pages.start + (index & kind->mask) * kind->group_bytes);
}

static inline bool same_key(const struct key *a, const struct key *b)
{
    return a->source == b->source && a->dest == b->dest && a->other == b->other;
}

static int kind_open(struct kind *kind, uint32_t first, uint32_t queries, uint64_t slots)
{
    kind->first = first;
    kind->queries = (queries - first + KINDS - 1) / KINDS;
    kind->group_bytes = sizeof(struct group) + kind->queries * sizeof(uint64_t[2]);
    kind->mask = slots - 1;
    kind->used = 0;
    return pages_open(&kind->pages, slots * kind->group_bytes);
}

static int kind_grow(struct kind *kind, uint32_t queries)
{
    struct kind larger;
    if (kind_open(&larger, kind->first, queries, 4 * (kind->mask + 1)) != 0) return -1;
    for (uint64_t i = 0; i <= kind->mask; i++) {
        const struct group *group = group_at(kind, i);
        if (!group->is_used) continue;
        uint64_t at = hash_key(&group->key);
        while (group_at(&larger, at)->is_used)
            at++;
        memcpy(group_at(&larger, at), group, kind->group_bytes);
    }
    larger.used = kind->used;
    pages_close(&kind->pages);
    *kind = larger;
    return 0;
}

static void kind_flush(struct kind *kind, uint32_t minute, struct output *output)
{
    for (uint64_t i = 0; i <= kind->mask; i++) {
        struct group *group = group_at(kind, i);
        if (!group->is_used) continue;
        for (uint32_t q = 0; q < kind->queries; q++) {
            struct tuple tuple = {
                group->key.source,         group->key.dest, minute, (uint32_t)group->of[q].packets,
                group->of[q].length_bytes, group->key.other};
            if (tuple.packets > 0) output_add(output, &tuple);
        }
        memset(group, 0, kind->group_bytes);
    }
    kind->used = 0;
}

static inline void kind_add(struct kind *kind, uint64_t hash, const struct key *key,
                            uint32_t length_bytes)
{
    struct group *group = group_at(kind, hash);
    while (group->is_used && !same_key(&group->key, key))
        group = group_at(kind, ++hash);
    if (!group->is_used) {
        group->key = *key;
        group->is_used = 1;
        kind->used++;
    }
    for (uint32_t q = 0; q < kind->queries; q++) {
        bool passes = length_bytes > kind->first + KINDS * q;
        group->of[q].packets += passes;
        group->of[q].length_bytes += passes ? length_bytes : 0;
    }
}

static int kind_drain(struct kind *kind, const struct key *keys, const struct burst *burst,
                      uint32_t queries)
{
    uint64_t hashes[BURST_PACKETS];
    if (8 * (kind->used + BURST_PACKETS) > 5 * kind->mask && kind_grow(kind, queries) != 0)
        return -1;
    for (uint32_t i = 0; i < burst->used; i++) {
        hashes[i] = hash_key(&keys[i]);
        __builtin_prefetch(group_at(kind, hashes[i]), 1);
    }
    for (uint32_t i = 0; i < burst->used; i++)
        kind_add(kind, hashes[i], &keys[i], burst->length_bytes[i]);
    return 0;
}

static inline bool parse_tcp(const struct record *record, struct network_layer *ip,
                             struct transport_layer *tcp)
{
    return parse_ipv4(record, ip) && ipv4_transport(ip, PROTOCOL_TCP, tcp) && is_tcp(tcp);
}

static inline void burst_add(struct burst *burst, const struct record *record)
{
    struct network_layer ip;
    struct transport_layer tcp;
    if (!parse_tcp(record, &ip, &tcp)) return;
    uint32_t i = burst->used++, source = load_be32(ip.bytes + 12), dest = load_be32(ip.bytes + 16);
    uint32_t port = load_be16(tcp.bytes + 2);
    burst->length_bytes[i] = record->length_bytes;
    burst->keys[0][i] = (struct key){source, dest, 0};
    burst->keys[1][i] = (struct key){source, 0, 0};
    burst->keys[2][i] = (struct key){0, dest, port};
    burst->keys[3][i] = (struct key){source, dest, port};
    burst->keys[4][i] = (struct key){source, 0, PROTOCOL_TCP};
}

struct asked {
    struct kind kinds[KINDS];
    uint32_t queries, minute;
    struct burst burst;
};

static uint32_t kind_count(const struct asked *asked)
{
    return asked->queries < KINDS ? asked->queries : KINDS;
}

static int drain(struct asked *asked)
{
    for (uint32_t k = 0; k < kind_count(asked); k++)
        if (kind_drain(&asked->kinds[k], asked->burst.keys[k], &asked->burst, asked->queries) != 0)
            return -1;
    asked->burst.used = 0;
    return 0;
}

static int advance(struct asked *asked, uint32_t minute, struct output *output)
{
    if (minute == asked->minute) return 0;
    if (drain(asked) != 0) return -1;
    for (uint32_t k = 0; k < kind_count(asked); k++)
        kind_flush(&asked->kinds[k], asked->minute, output);
    asked->minute = minute;
    return 0;
}

static int run_over(struct capture *capture, struct asked *asked, struct output *output,
                    struct loop_result *result)
{
    struct record record;
    for (; capture_next(capture, &record); result->packets++) {
        if (advance(asked, record.seconds / 60, output) != 0) return -1;
        burst_add(&asked->burst, &record);
        if (asked->burst.used == BURST_PACKETS && drain(asked) != 0) return -1;
    }
    return advance(asked, 0, output);
}

static int run_loop(const struct loop_options *options, struct loop_result *result)
{
    struct capture capture;
    struct asked *asked = calloc(1, sizeof *asked);
    struct output *output = output_open(options);
    if (!asked || !output || options->queries < 1 || options->queries > QUERIES_MAX) return -1;
    asked->queries = options->queries;
    for (uint32_t k = 0; k < kind_count(asked); k++)
        if (kind_open(&asked->kinds[k], k, asked->queries, FIRST_SLOTS) != 0) return -1;
    if (capture_open(&capture, options->path, options->reads) != 0) return -1;
    if (run_over(&capture, asked, output, result) != 0) return -1;
    result_from_output(result, output);
    capture_close(&capture);
    for (uint32_t k = 0; k < kind_count(asked); k++)
        pages_close(&asked->kinds[k].pages);
    free(asked);
    free(output);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact rows in one level as fast as they can be had by hand: the growing table of `exact`, in
 * bursts of 32 whose slots are prefetched, with a bitmap of the occupied ones for the flush. Half
 * full at most, on large pages. What the two levels together have as their limit. */
#include "loop.h"
#include "table.h"

enum { FIRST_SLOTS_LOG2 = 12, BURST_PACKETS = 32 };

struct groups {
    struct table table; /* whose slots are probed one behind the other */
    uint32_t used;
};

struct burst {
    uint32_t used;
    uint32_t hash[BURST_PACKETS]; /* its upper bits are a place in a table of any size */
    struct tuple fresh[BURST_PACKETS];
};

static inline uint32_t upper_hash(const struct tuple *fresh)
{
    return (uint32_t)(hash_pair(fresh->source, fresh->dest) >> 32);
}

static inline uint32_t place_of(const struct groups *groups, uint32_t hash)
{
    return hash >> (groups->table.shift - 32);
}

/* The slot of the group, or the empty one where it goes. */
static inline uint32_t groups_find(const struct groups *groups, uint32_t hash,
                                   const struct tuple *fresh)
{
    uint32_t mask = groups->table.slot_count - 1, place = place_of(groups, hash);
    for (;; place = (place + 1) & mask) {
        const struct tuple *slot = &groups->table.slots[place];
        bool same = slot->source == fresh->source && slot->dest == fresh->dest;
        if (slot->packets == 0 || same) return place;
    }
}

static inline void groups_enter(struct groups *groups, uint32_t place, const struct tuple *fresh)
{
    groups->table.slots[place] = *fresh;
    groups->table.occupied[place / 64] |= 1ull << place % 64;
    groups->used++;
}

static __attribute__((noinline)) int groups_grow(struct groups *groups)
{
    struct groups larger = {0};
    if (table_open(&larger.table, 64 - groups->table.shift + 1) != 0) return -1;
    larger.table.minute = groups->table.minute;
    for (uint32_t i = 0; i < groups->table.slot_count; i++) {
        const struct tuple *slot = &groups->table.slots[i];
        if (slot->packets)
            groups_enter(&larger, groups_find(&larger, upper_hash(slot), slot), slot);
    }
    table_close(&groups->table);
    *groups = larger;
    return 0;
}

static inline int groups_add(struct groups *groups, uint32_t hash, const struct tuple *fresh,
                             struct output *output)
{
    if (fresh->minute > groups->table.minute) groups->used = 0;
    table_advance(&groups->table, fresh->minute, output);
    uint32_t place = groups_find(groups, hash, fresh);
    struct tuple *slot = &groups->table.slots[place];
    if (__builtin_expect(slot->packets == 0, 0)) {
        groups_enter(groups, place, fresh);
        return groups->used > groups->table.slot_count / 2 ? groups_grow(groups) : 0;
    }
    slot->packets++;
    slot->length_bytes += fresh->length_bytes;
    return 0;
}

static inline void burst_add(struct burst *burst, const struct groups *groups,
                             const struct record *record, const struct network_layer *ip)
{
    struct tuple *fresh = &burst->fresh[burst->used];
    tuple_fill(fresh, record, ip);
    uint32_t hash = burst->hash[burst->used++] = upper_hash(fresh);
    __builtin_prefetch(&groups->table.slots[place_of(groups, hash)], 1);
}

static inline int burst_drain(struct burst *burst, struct groups *groups, struct output *output)
{
    for (uint32_t i = 0; i < burst->used; i++)
        if (groups_add(groups, burst->hash[i], &burst->fresh[i], output) != 0) return -1;
    burst->used = 0;
    return 0;
}

static int run_loop(const struct loop_options *options, struct loop_result *result)
{
    struct capture capture;
    struct groups groups = {0};
    struct record record;
    struct network_layer ip;
    struct burst burst = {0};
    struct output *output = output_open(options);
    if (!output || table_open(&groups.table, FIRST_SLOTS_LOG2) != 0) return -1;
    if (capture_open(&capture, options->path, options->reads) != 0) return -1;
    for (; capture_next(&capture, &record); result->packets++) {
        if (!parse_ipv4(&record, &ip)) continue;
        burst_add(&burst, &groups, &record, &ip);
        if (burst.used == BURST_PACKETS && burst_drain(&burst, &groups, output) != 0) return -1;
    }
    if (burst_drain(&burst, &groups, output) != 0) return -1;
    table_flush(&groups.table, output);
    result_from_output(result, output);
    capture_close(&capture);
    table_close(&groups.table);
    free(output);
    return 0;
}

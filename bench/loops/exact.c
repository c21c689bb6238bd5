/* SPDX-License-Identifier: Apache-2.0
 *
 * The same question in one level: an open-addressing table that grows, exact rows at the end of
 * each minute, no bursts, no prefetch. What one writes first when the answer has to be right.
 * Packets must come in order of time, as those of our captures do. */
#include "loop.h"
#include "table.h"

enum { FIRST_SLOTS_LOG2 = 12 };

struct groups {
    struct tuple *slots;
    uint32_t shift;
    uint32_t mask;
    uint32_t used;
    uint32_t minute;
};

static int groups_open(struct groups *groups, uint32_t slots_log2)
{
    groups->slots = calloc((size_t)1 << slots_log2, sizeof *groups->slots);
    groups->shift = 64 - slots_log2;
    groups->mask = (uint32_t)((1ull << slots_log2) - 1);
    groups->used = 0;
    groups->minute = 0;
    return groups->slots ? 0 : -1;
}

static inline struct tuple *groups_find(const struct groups *groups, const struct tuple *fresh)
{
    uint64_t hash = hash_pair(fresh->source, fresh->dest);
    uint32_t index = (uint32_t)(hash >> groups->shift);
    for (;; index = (index + 1) & groups->mask) {
        struct tuple *slot = &groups->slots[index];
        bool same = slot->source == fresh->source && slot->dest == fresh->dest;
        if (slot->packets == 0 || same) return slot;
    }
}

static int groups_grow(struct groups *groups)
{
    struct groups larger;
    if (groups_open(&larger, 64 - groups->shift + 1) != 0) return -1;
    for (uint32_t i = 0; i <= groups->mask; i++)
        if (groups->slots[i].packets) *groups_find(&larger, &groups->slots[i]) = groups->slots[i];
    larger.used = groups->used;
    larger.minute = groups->minute;
    free(groups->slots);
    *groups = larger;
    return 0;
}

static void groups_flush(struct groups *groups, struct output *output)
{
    for (uint32_t i = 0; i <= groups->mask; i++) {
        if (groups->slots[i].packets) output_add(output, &groups->slots[i]);
        groups->slots[i].packets = 0;
    }
    groups->used = 0;
}

static inline int groups_add(struct groups *groups, const struct tuple *fresh,
                             struct output *output)
{
    if (fresh->minute != groups->minute) {
        groups_flush(groups, output);
        groups->minute = fresh->minute;
    }
    struct tuple *slot = groups_find(groups, fresh);
    if (slot->packets == 0) {
        *slot = *fresh;
        return ++groups->used > groups->mask / 2 ? groups_grow(groups) : 0;
    }
    slot->packets++;
    slot->length_bytes += fresh->length_bytes;
    return 0;
}

static inline int add_packet(struct groups *groups, const struct record *record,
                             const struct network_layer *ip, struct output *output)
{
    struct tuple fresh = {.source = load_be32(ip->bytes + 12),
                          .dest = load_be32(ip->bytes + 16),
                          .minute = record->seconds / 60,
                          .packets = 1,
                          .length_bytes = record->length_bytes};
    return groups_add(groups, &fresh, output);
}

static int run_loop(const struct loop_options *options, struct loop_result *result)
{
    struct capture capture;
    struct groups groups;
    struct record record;
    struct network_layer ip;
    struct output *output = output_open(options);
    if (!output || groups_open(&groups, FIRST_SLOTS_LOG2) != 0) return -1;
    if (capture_open(&capture, options->path, options->reads) != 0) return -1;
    for (; capture_next(&capture, &record); result->packets++)
        if (parse_ipv4(&record, &ip) && add_packet(&groups, &record, &ip, output)) return -1;
    groups_flush(&groups, output);
    result_from_output(result, output);
    capture_close(&capture);
    free(groups.slots);
    free(output);
    return 0;
}

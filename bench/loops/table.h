/* SPDX-License-Identifier: Apache-2.0
 *
 * The direct-mapped table of the low level, as one would write it by hand for this one query. The
 * minute is part of the key; a bit per occupied slot makes a flush cost what is occupied. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdlib.h>

#include "output.h"
#include "pages.h"

struct table {
    struct pages pages;
    struct tuple *slots;
    uint64_t *occupied;
    uint32_t shift;
    uint32_t slot_count;
    uint32_t minute; /* the greatest seen */
};

static inline int table_open(struct table *table, uint32_t slots_log2)
{
    table->slot_count = 1u << slots_log2;
    table->shift = 64 - slots_log2;
    table->minute = 0;
    table->occupied = calloc(table->slot_count / 64, sizeof *table->occupied);
    if (!table->occupied) return -1;
    if (pages_open(&table->pages, sizeof(struct tuple) << slots_log2) != 0) return -1;
    table->slots = table->pages.start;
    return 0;
}

static inline void table_close(struct table *table)
{
    pages_close(&table->pages);
    free(table->occupied);
}

static inline uint64_t hash_pair(uint32_t source, uint32_t dest)
{
    uint64_t key = ((uint64_t)source << 32 | dest) * 0x9e3779b97f4a7c15u;
    return (key ^ key >> 32) * 0xd6e8feb86659fd93u;
}

static inline uint32_t table_index(const struct table *table, uint32_t source, uint32_t dest)
{
    return (uint32_t)(hash_pair(source, dest) >> table->shift);
}

static inline void table_replace(struct table *table, uint32_t index, const struct tuple *fresh,
                                 struct output *output)
{
    struct tuple *slot = &table->slots[index];
    if (slot->packets)
        output_add(output, slot);
    else
        table->occupied[index / 64] |= 1ull << index % 64;
    *slot = *fresh;
}

/* `fresh` is the packet as a group of one. */
static inline void table_add(struct table *table, uint32_t index, const struct tuple *fresh,
                             struct output *output)
{
    struct tuple *slot = &table->slots[index];
    bool same =
        slot->source == fresh->source && slot->dest == fresh->dest && slot->minute == fresh->minute;
    if (__builtin_expect(!same, 0)) {
        table_replace(table, index, fresh, output);
        return;
    }
    slot->packets++;
    slot->length_bytes += fresh->length_bytes;
}

static __attribute__((noinline)) void table_flush(struct table *table, struct output *output)
{
    for (uint32_t word = 0; word < table->slot_count / 64; word++) {
        uint64_t bits = table->occupied[word];
        table->occupied[word] = 0;
        for (; bits; bits &= bits - 1) {
            struct tuple *slot = &table->slots[word * 64 + (uint32_t)__builtin_ctzll(bits)];
            output_add(output, slot);
            slot->packets = 0;
            slot->minute = 0; /* an empty slot equals no packet's group */
        }
    }
}

static inline void table_advance(struct table *table, uint32_t minute, struct output *output)
{
    if (minute <= table->minute) return;
    table_flush(table, output);
    table->minute = minute;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets whose slots are all prefetched before the first is touched: BURST_PACKETS, which who
 * includes this has said. */
#ifndef BENCH_BURST_H
#define BENCH_BURST_H

#include "loop.h"
#include "table.h"

struct burst {
    uint32_t used;
    uint32_t index[BURST_PACKETS];
    struct tuple fresh[BURST_PACKETS];
};

static inline void burst_add(struct burst *burst, const struct table *table,
                             const struct record *record, const struct network_layer *ip)
{
    struct tuple *fresh = &burst->fresh[burst->used];
    tuple_fill(fresh, record, ip);
    uint32_t index = table_index(table, fresh->source, fresh->dest);
    burst->index[burst->used++] = index;
    __builtin_prefetch(&table->slots[index], 1);
}

#endif

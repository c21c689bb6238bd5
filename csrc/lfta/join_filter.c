/* SPDX-License-Identifier: Apache-2.0 */
#include "join_filter.h"

#include <stdlib.h>

#define MOST_ENTRIES (1u << 19)
#define LEAST_ENTRIES (1u << 12)
#define BLOCK_BITS (8u * sizeof(struct gs_bloom_block))

static int refuse(struct gs_error *error)
{
    return gs_fail(error, GS_REFUSED,
                   "what a FILTER_JOIN keeps takes more than the memory that is "
                   "given");
}

static bool hold(struct gs_join_filter *filter, struct gs_holder *holder, uint64_t bytes)
{
    if (!gs_hold(holder, bytes)) return false;
    filter->held_bytes += bytes;
    return true;
}

/* As many as the budget has room for: what is not touched takes none. */
static int open_entries(struct gs_join_filter *filter, struct gs_holder *holder,
                        struct gs_error *error)
{
    filter->entry_size =
        (uint32_t)(sizeof(struct gs_join_filter_entry) + (filter->ops.key_size + 7) / 8 * 8);
    filter->capacity = MOST_ENTRIES;
    while (!hold(filter, holder,
                 (uint64_t)filter->capacity * (filter->entry_size + sizeof *filter->heads))) {
        if (filter->capacity == LEAST_ENTRIES) return refuse(error);
        filter->capacity /= 2;
    }
    filter->entries = calloc(filter->capacity, filter->entry_size);
    filter->heads = calloc(filter->capacity, sizeof *filter->heads);
    return filter->entries == NULL || filter->heads == NULL ? refuse(error) : GS_OK;
}

static int open_blooms(struct gs_join_filter *filter, struct gs_holder *holder,
                       struct gs_error *error)
{
    filter->block_count = (filter->ops.filter_bits + BLOCK_BITS - 1) / BLOCK_BITS;
    uint64_t bytes = filter->block_count * sizeof(struct gs_bloom_block);
    for (uint32_t i = 0; i <= filter->ops.filter_count; i++) {
        if (!hold(filter, holder, bytes)) return refuse(error);
        filter->blooms[i].blocks = calloc(filter->block_count, sizeof(struct gs_bloom_block));
        if (filter->blooms[i].blocks == NULL) return refuse(error);
        gs_bloom_empty(&filter->blooms[i]);
    }
    return GS_OK;
}

int gs_join_filter_open(const struct gs_join_filter_ops *ops, struct gs_holder *holder,
                        struct gs_join_filter **result, struct gs_error *error)
{
    struct gs_join_filter *filter = *result = calloc(1, sizeof *filter);
    if (filter == NULL) return refuse(error);
    filter->ops = *ops;
    filter->promised = filter->reached = INT64_MIN;
    return ops->is_bloom ? open_blooms(filter, holder, error) : open_entries(filter, holder, error);
}

void gs_join_filter_close(struct gs_join_filter *filter, struct gs_holder *holder)
{
    if (filter == NULL) return;
    gs_let_go(holder, filter->held_bytes);
    for (uint32_t i = 0; i <= GS_BLOOM_MOST; i++)
        free(filter->blooms[i].blocks);
    free(filter->entries);
    free(filter->heads);
    free(filter);
}

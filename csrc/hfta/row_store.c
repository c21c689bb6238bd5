/* SPDX-License-Identifier: Apache-2.0 */
#include "row_store.h"

#include <stdlib.h>

#define LEAST_ROWS 8u
#define MOST_ROWS 4096u

bool gs_row_store_open(struct gs_row_store *store, const struct gs_schema *schema,
                       struct gs_holder *holder)
{
    store->schema = schema;
    store->holder = holder;
    store->lengths = calloc(schema->column_count + 1u, sizeof *store->lengths);
    return store->lengths != NULL;
}

void gs_row_store_close(struct gs_row_store *store)
{
    free(store->lengths);
}

static void chunk_free(struct gs_row_store *store, struct gs_row_chunk *chunk)
{
    if (store->newest == chunk) store->newest = NULL;
    store->filled -= chunk->batch->row_count;
    gs_let_go(store->holder, gs_batch_bytes(chunk->batch) + sizeof *chunk);
    gs_batch_release(chunk->batch);
    free(chunk);
}

/* As long as all that is held: chunks grow with what there is to hold, and shrink with it. */
static uint32_t rows_of_next(const struct gs_row_store *store)
{
    uint64_t rows = store->count < LEAST_ROWS ? LEAST_ROWS : store->count;
    return gs_batch_rows(store->schema, rows > MOST_ROWS ? MOST_ROWS : (uint32_t)rows);
}

static struct gs_row_chunk *chunk_new(struct gs_row_store *store)
{
    struct gs_row_chunk *chunk = calloc(1, sizeof *chunk);
    if (chunk == NULL) return NULL;
    chunk->batch = gs_batch_new(store->schema, rows_of_next(store));
    if (chunk->batch != NULL &&
        gs_hold(store->holder, gs_batch_bytes(chunk->batch) + sizeof *chunk))
        return chunk;
    if (chunk->batch != NULL) gs_batch_release(chunk->batch);
    free(chunk);
    return NULL;
}

static bool strings_reserve(struct gs_row_store *store, struct gs_batch *batch)
{
    uint64_t growth = gs_batch_growth(batch, store->lengths);
    if (growth == 0) return gs_batch_reserve(batch, store->lengths);
    uint64_t before = gs_batch_bytes(batch);
    if (!gs_hold(store->holder, growth)) return false;
    bool has_room = gs_batch_reserve(batch, store->lengths);
    gs_let_go(store->holder, growth - (gs_batch_bytes(batch) - before));
    return has_room;
}

struct gs_row_chunk *gs_row_store_add(struct gs_row_store *store, const struct gs_batch *from,
                                      uint32_t row)
{
    struct gs_row_chunk *chunk = store->newest;
    gs_batch_lengths(from, row, store->lengths);
    if (chunk == NULL || !gs_batch_takes(chunk->batch, store->lengths)) chunk = chunk_new(store);
    if (chunk == NULL) return NULL;
    if (!strings_reserve(store, chunk->batch)) {
        if (chunk->held == 0) chunk_free(store, chunk);
        return NULL;
    }
    store->newest = chunk;
    gs_batch_append(chunk->batch, from, row);
    chunk->held++;
    store->filled++;
    store->count++;
    return chunk;
}

bool gs_row_store_move(struct gs_row_store *store, struct gs_row_chunk **chunk, uint32_t *row)
{
    struct gs_row_chunk *before = *chunk, *fresh = gs_row_store_add(store, before->batch, *row);
    if (fresh == NULL) return false;
    *chunk = fresh;
    *row = fresh->batch->row_count - 1;
    gs_row_store_remove(store, before);
    return true;
}

void gs_row_store_remove(struct gs_row_store *store, struct gs_row_chunk *chunk)
{
    store->count--;
    if (--chunk->held == 0) chunk_free(store, chunk);
}

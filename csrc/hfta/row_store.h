/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of rows that wait: one row that stays must not hold the batch that brought it. Chunks of
 * rows are filled one after the other, and given back when none of their rows is held any more. */
#ifndef GS_HFTA_ROW_STORE_H
#define GS_HFTA_ROW_STORE_H

#include "../arrow/batch.h"
#include "../base/memory.h"

struct gs_row_chunk {
    struct gs_batch *batch;
    uint32_t held; /* of its rows */
};

struct gs_row_store {
    const struct gs_schema *schema;
    struct gs_holder *holder;
    struct gs_row_chunk *newest; /* that takes rows, or NULL */
    uint32_t *lengths;           /* of a row's strings */
    uint64_t count;              /* rows held */
    uint64_t filled;             /* rows of the chunks, held or not */
};

/* False where there is no memory. */
bool gs_row_store_open(struct gs_row_store *store, const struct gs_schema *schema,
                       struct gs_holder *holder);
/* A copy of a row: the last one of the chunk that is returned. NULL where the budget, or the
 * memory, has no room for it. */
struct gs_row_chunk *gs_row_store_add(struct gs_row_store *store, const struct gs_batch *from,
                                      uint32_t row);
/* A held row's copy, in the newest chunk, takes its place; false, and it stays where it is, where
 * there is no room. */
bool gs_row_store_move(struct gs_row_store *store, struct gs_row_chunk **chunk, uint32_t *row);
/* A row of this chunk is held no longer. */
void gs_row_store_remove(struct gs_row_store *store, struct gs_row_chunk *chunk);
/* All rows have been removed. */
void gs_row_store_close(struct gs_row_store *store);

#endif

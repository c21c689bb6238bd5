/* SPDX-License-Identifier: Apache-2.0 */
#include "order_rows.h"

#include <stdlib.h>

#define FIRST_ROWS 8u
/* With fewer a window grows, whatever LIMIT will cut: sorting them once costs less than a heap. */
#define AMPLE_ROWS 1024u
#define SPARSE_PART 4 /* of the rows of the chunks: with fewer held they are put together */
#define SMALL_ROWS 64u

/* ---- copies ---- */

static bool store_row(struct gs_row_store *store, const struct gs_batch *from, uint32_t row,
                      struct gs_order_row *held)
{
    struct gs_row_chunk *chunk = gs_row_store_add(store, from, row);
    if (chunk == NULL) return false;
    *held = (struct gs_order_row){chunk, chunk->batch->row_count - 1};
    return true;
}

static void remove_rows(struct gs_order_rows *rows, uint32_t first)
{
    for (uint32_t at = first; at < rows->count; at++)
        gs_row_store_remove(&rows->store, rows->rows[at].chunk);
    rows->count = first;
}

/* Rows of sparse chunks to new ones; those for which there is no room stay where they are. */
static void compact(struct gs_order_rows *rows)
{
    struct gs_row_chunk *before = rows->store.newest;
    rows->store.newest = NULL;
    for (uint32_t at = 0; at < rows->count; at++) {
        struct gs_order_row *held = &rows->rows[at];
        if (gs_row_store_move(&rows->store, &held->chunk, &held->row)) continue;
        if (at == 0) rows->store.newest = before;
        return;
    }
}

static void tidy(struct gs_order_rows *rows)
{
    const struct gs_row_store *store = &rows->store;
    if (store->filled > SMALL_ROWS && store->filled / SPARSE_PART > store->count) compact(rows);
}

/* ---- their list ---- */

static bool grow(struct gs_order_rows *rows, struct gs_holder *holder)
{
    uint32_t capacity = rows->capacity ? rows->capacity * 2 : FIRST_ROWS;
    uint64_t bytes = (uint64_t)(capacity - rows->capacity) * sizeof *rows->rows;
    if (!gs_hold(holder, bytes)) return false;
    struct gs_order_row *list = realloc(rows->rows, capacity * sizeof *list);
    if (list == NULL) {
        gs_let_go(holder, bytes);
        return false;
    }
    rows->rows = list;
    rows->capacity = capacity;
    return true;
}

static bool store_open(struct gs_order_rows *rows, struct gs_holder *holder,
                       const struct gs_schema *schema)
{
    return rows->store.lengths != NULL || gs_row_store_open(&rows->store, schema, holder);
}

bool gs_order_rows_add(struct gs_order_rows *rows, struct gs_holder *holder,
                       const struct gs_batch *from, uint32_t row)
{
    if (!store_open(rows, holder, from->schema)) return false;
    if (rows->count == rows->capacity && !grow(rows, holder)) return false;
    if (!store_row(&rows->store, from, row, &rows->rows[rows->count])) return false;
    rows->count++;
    return true;
}

bool gs_order_rows_is_ample(const struct gs_order_rows *rows, uint64_t limit)
{
    return rows->count >= AMPLE_ROWS && rows->count == rows->capacity && rows->count / 2 >= limit;
}

/* ---- their order ---- */

static int compare_rows(const void *a, const void *b, void *compare)
{
    const struct gs_order_row *x = a, *y = b;
    const struct gs_row_order *order = compare;
    return order->compare(x->chunk->batch, x->row, y->chunk->batch, y->row);
}

static int compare_groups(const void *a, const void *b, void *compare)
{
    const struct gs_order_row *x = a, *y = b;
    const struct gs_row_order *order = compare;
    return order->compare_groups(x->chunk->batch, x->row, y->chunk->batch, y->row);
}

static int compare_in_groups(const void *a, const void *b, void *compare)
{
    int order = compare_groups(a, b, compare);
    return order != 0 ? order : compare_rows(a, b, compare);
}

static void sort_by(struct gs_order_rows *rows, int (*compare)(const void *, const void *, void *),
                    const struct gs_row_order *order)
{
    if (rows->count > 0) /* else all of them were refused, or cut */
        qsort_r(rows->rows, rows->count, sizeof *rows->rows, compare, (void *)order);
}

bool gs_order_rows_should_cut(const struct gs_order_rows *rows, bool is_short)
{
    if (is_short) return rows->count >= rows->left + rows->left / 4 + SMALL_ROWS;
    return rows->count >= AMPLE_ROWS && rows->count / 2 >= rows->left;
}

uint32_t gs_order_rows_cut(struct gs_order_rows *rows, const struct gs_row_order *order)
{
    uint32_t before = rows->count, left = 0;
    uint64_t of_group = 0;
    struct gs_order_row group = {NULL, 0}; /* its first row, which stays */
    if (order->limit == 0) remove_rows(rows, 0);
    sort_by(rows, compare_in_groups, order);
    for (uint32_t at = 0; at < rows->count; at++, of_group++) {
        struct gs_order_row row = rows->rows[at];
        if (at > 0 && compare_groups(&group, &row, (void *)order) != 0) of_group = 0;
        if (of_group == 0) group = row;
        if (of_group < order->limit)
            rows->rows[left++] = row;
        else
            gs_row_store_remove(&rows->store, row.chunk);
    }
    rows->left = rows->count = left;
    tidy(rows);
    return before - left;
}

uint32_t gs_order_rows_sort(struct gs_order_rows *rows, const struct gs_row_order *order)
{
    uint32_t before = rows->count;
    if (order->compare_groups != NULL) gs_order_rows_cut(rows, order);
    sort_by(rows, compare_rows, order);
    if (order->compare_groups == NULL && before > order->limit)
        remove_rows(rows, (uint32_t)order->limit);
    return before - rows->count;
}

/* Sorted rows turned round are a heap. */
static void turn_round(struct gs_order_rows *rows)
{
    for (uint32_t low = 0, high = rows->count; low + 1 < high; low++) {
        struct gs_order_row row = rows->rows[low];
        rows->rows[low] = rows->rows[--high];
        rows->rows[high] = row;
    }
}

uint32_t gs_order_rows_fill(struct gs_order_rows *rows, const struct gs_row_order *order)
{
    uint32_t gone = gs_order_rows_sort(rows, order);
    turn_round(rows);
    tidy(rows);
    rows->is_full = true;
    return gone;
}

bool gs_order_rows_is_better(const struct gs_order_rows *rows, const struct gs_row_order *order,
                             const struct gs_batch *from, uint32_t row)
{
    if (rows->count == 0) return false; /* LIMIT 0 */
    const struct gs_order_row *worst = &rows->rows[0];
    return order->compare(from, row, worst->chunk->batch, worst->row) < 0;
}

static void sink_first(struct gs_order_rows *rows, const struct gs_row_order *order)
{
    struct gs_order_row *heap = rows->rows, sinking = heap[0];
    uint32_t at = 0;
    for (uint32_t child = 1; child < rows->count; child = 2 * at + 1) {
        if (child + 1 < rows->count &&
            compare_rows(&heap[child], &heap[child + 1], (void *)order) < 0)
            child++;
        if (compare_rows(&heap[child], &sinking, (void *)order) <= 0) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = sinking;
}

bool gs_order_rows_replace(struct gs_order_rows *rows, const struct gs_row_order *order,
                           const struct gs_batch *from, uint32_t row)
{
    struct gs_order_row better;
    if (!store_row(&rows->store, from, row, &better)) return false;
    gs_row_store_remove(&rows->store, rows->rows[0].chunk);
    rows->rows[0] = better;
    sink_first(rows, order);
    tidy(rows);
    return true;
}

void gs_order_rows_close(struct gs_order_rows *rows, struct gs_holder *holder, uint32_t first)
{
    for (uint32_t at = first; at < rows->count; at++)
        gs_row_store_remove(&rows->store, rows->rows[at].chunk);
    gs_row_store_close(&rows->store);
    gs_let_go(holder, rows->capacity * sizeof *rows->rows);
    free(rows->rows);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a window of ORDER BY … LIMIT. They are copied: one row that stays must not hold the
 * batch that brought it. Once a window may hold no more than LIMIT will let out, it has the best of
 * its rows alone, of which a heap gives the worst: a row that comes then is cut at once, or it
 * takes the worst one's place. */
#ifndef GS_HFTA_ORDER_ROWS_H
#define GS_HFTA_ORDER_ROWS_H

#include "row_store.h"

/* Which rows come first, and how many of them may leave. */
struct gs_row_order {
    int (*compare)(const struct gs_batch *a, uint32_t row_a, const struct gs_batch *b,
                   uint32_t row_b);
    /* 0 for rows of one group, of which each has the limit; NULL: all of them have it together. */
    int (*compare_groups)(const struct gs_batch *a, uint32_t row_a, const struct gs_batch *b,
                          uint32_t row_b);
    uint64_t limit;
};

struct gs_order_row {
    struct gs_row_chunk *chunk;
    uint32_t row;
};

struct gs_order_rows {
    struct gs_row_store store; /* its own, to be compacted; opened by the first row */
    struct gs_order_row *rows;
    uint32_t count, capacity;
    uint32_t left; /* of a limit by groups: rows that were there when it was last cut */
    bool is_full;  /* `limit` rows, as a heap, the worst first */
};

/* Keeps a copy of a row, which there may be more of than LIMIT lets out; false where the budget, or
 * the memory, has no room for it. */
bool gs_order_rows_add(struct gs_order_rows *rows, struct gs_holder *holder,
                       const struct gs_batch *from, uint32_t row);
/* Whether LIMIT will cut enough of the rows for one more not to need room of its own. */
bool gs_order_rows_is_ample(const struct gs_order_rows *rows, uint64_t limit);
/* The best `limit` rows, of at least as many, stay, and there will be no more than these; gives how
 * many go. */
uint32_t gs_order_rows_fill(struct gs_order_rows *rows, const struct gs_row_order *order);
/* Whether a row is better than the worst of those that are full. */
bool gs_order_rows_is_better(const struct gs_order_rows *rows, const struct gs_row_order *order,
                             const struct gs_batch *from, uint32_t row);
/* A better row takes the worst one's place; false where there is no room for its copy. */
bool gs_order_rows_replace(struct gs_order_rows *rows, const struct gs_row_order *order,
                           const struct gs_batch *from, uint32_t row);
/* Of a limit by groups, whether so many rows have come since it was last cut that cutting again
 * pays; `is_short`: where there is no room for more. */
bool gs_order_rows_should_cut(const struct gs_order_rows *rows, bool is_short);
/* The best `limit` rows of each group stay; gives how many go. */
uint32_t gs_order_rows_cut(struct gs_order_rows *rows, const struct gs_row_order *order);
/* In their order, the best first, and without those that LIMIT cuts; gives how many these are. No
 * row is added afterwards. */
uint32_t gs_order_rows_sort(struct gs_order_rows *rows, const struct gs_row_order *order);
/* The rows from `first` on go, and all that held them. */
void gs_order_rows_close(struct gs_order_rows *rows, struct gs_holder *holder, uint32_t first);

#endif

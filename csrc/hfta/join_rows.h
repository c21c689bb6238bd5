/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that a join holds of one input (M_i of Li et al., VLDB 2008, Figure 4): in chains by
 * their hash, where rows of the other input look for them, and in an order for each of their
 * times, in which they leave. Their memory is in pages, in the order of arrival; a page goes with
 * the last of its rows. What leaves costs what leaves, never what stays. */
#ifndef GS_HFTA_JOIN_ROWS_H
#define GS_HFTA_JOIN_ROWS_H

#include "join_order.h"

struct gs_join_page;

struct gs_join_rows {
    struct gs_join_side side; /* first: what generated code sees */
    struct gs_holder *holder;
    gs_bound *limits; /* by pair; side.limits */
    struct gs_join_order *orders;
    uint32_t pair_count, order_count; /* an order for each pair, then for each other value */
    struct gs_join_page *page;        /* that new rows go to */
    uint64_t count;
    uint64_t most, expected; /* held at once as rows came, since the last promise and before it */
};

/* False where there is no memory. */
bool gs_join_rows_open(struct gs_join_rows *rows, uint32_t pair_count, uint32_t order_count,
                       struct gs_holder *holder);
/* Room for a row with these values; NULL where there is none. */
struct gs_join_row *gs_join_rows_admit(struct gs_join_rows *rows, const gs_bound *values,
                                       uint64_t bytes);
/* The row that was let in last is held from now on. */
void gs_join_rows_keep(struct gs_join_rows *rows, struct gs_join_row *row);
/* The least of a value, and whose it is; NULL where nothing is held. */
const struct gs_join_entry *gs_join_rows_least(struct gs_join_rows *rows, uint32_t value);
/* The row with the least of a value leaves. */
void gs_join_rows_take(struct gs_join_rows *rows, uint32_t value);
/* The other input promises more: as many rows as came since it last did so may come again. */
void gs_join_rows_expect(struct gs_join_rows *rows);
/* Memory for chains is given back: of rows that have left and are not expected again. */
void gs_join_rows_fit(struct gs_join_rows *rows);
void gs_join_rows_close(struct gs_join_rows *rows);

#endif

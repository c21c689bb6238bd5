/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that a side of a join holds in the order of one of their values. What comes in order is
 * a queue, at both ends of which nothing is ever looked for; what does not is in a heap beside it.
 * Disorder costs those rows alone. */
#ifndef GS_HFTA_JOIN_ORDER_H
#define GS_HFTA_JOIN_ORDER_H

#include "../base/memory.h"
#include "gs_query_set.h"

struct gs_join_entry {
    gs_bound value;
    struct gs_join_row *row;
};

struct gs_join_order {
    struct gs_join_entry *queue;            /* a ring, its values rising */
    uint64_t first, queued, queue_capacity; /* a power of two, or 0 */
    struct gs_join_entry *heap;             /* the least on top */
    uint64_t heaped, heap_capacity;
    uint64_t gone; /* entries of rows that have left by another order */
};

/* Room for an entry of this value; false where there is none. */
bool gs_join_order_reserve(struct gs_join_order *order, gs_bound value, struct gs_holder *holder);
void gs_join_order_put(struct gs_join_order *order, gs_bound value, struct gs_join_row *row);
/* The entry of the least value; NULL where there is none. */
const struct gs_join_entry *gs_join_order_first(const struct gs_join_order *order);
/* One that is to come after about so many others; NULL where that is not known. */
struct gs_join_row *gs_join_order_ahead(const struct gs_join_order *order, uint64_t count);
void gs_join_order_take(struct gs_join_order *order, struct gs_holder *holder);
/* Takes out the entries of rows that have left, giving each to `drop`. */
void gs_join_order_sweep(struct gs_join_order *order,
                         void (*drop)(void *context, struct gs_join_row *row), void *context);
void gs_join_order_close(struct gs_join_order *order, struct gs_holder *holder);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "join_order.h"

#include <stdlib.h>

#define GS_ORDER_FIRST 64u /* entries */

static struct gs_join_entry *queue_at(const struct gs_join_order *order, uint64_t at)
{
    return &order->queue[(order->first + at) & (order->queue_capacity - 1)];
}

static bool is_in_order(const struct gs_join_order *order, gs_bound value)
{
    return order->queued == 0 || queue_at(order, order->queued - 1)->value <= value;
}

/* ---- room ---- */

static struct gs_join_entry *entries_new(struct gs_holder *holder, uint64_t capacity)
{
    if (!gs_hold(holder, capacity * sizeof(struct gs_join_entry))) return NULL;
    struct gs_join_entry *entries = malloc(capacity * sizeof *entries);
    if (entries == NULL) gs_let_go(holder, capacity * sizeof *entries);
    return entries;
}

static void entries_free(struct gs_holder *holder, struct gs_join_entry *entries, uint64_t capacity)
{
    gs_let_go(holder, capacity * sizeof *entries);
    free(entries);
}

static bool queue_resize(struct gs_join_order *order, uint64_t capacity, struct gs_holder *holder)
{
    struct gs_join_entry *queue = entries_new(holder, capacity);
    if (queue == NULL) return false;
    for (uint64_t at = 0; at < order->queued; at++)
        queue[at] = *queue_at(order, at);
    entries_free(holder, order->queue, order->queue_capacity);
    order->queue = queue;
    order->queue_capacity = capacity;
    order->first = 0;
    return true;
}

static bool heap_resize(struct gs_join_order *order, uint64_t capacity, struct gs_holder *holder)
{
    struct gs_join_entry *heap = entries_new(holder, capacity);
    if (heap == NULL) return false;
    if (order->heaped > 0) memcpy(heap, order->heap, order->heaped * sizeof *heap);
    entries_free(holder, order->heap, order->heap_capacity);
    order->heap = heap;
    order->heap_capacity = capacity;
    return true;
}

static uint64_t grown(uint64_t capacity)
{
    return capacity == 0 ? GS_ORDER_FIRST : 2 * capacity;
}

bool gs_join_order_reserve(struct gs_join_order *order, gs_bound value, struct gs_holder *holder)
{
    if (is_in_order(order, value))
        return order->queued < order->queue_capacity ||
               queue_resize(order, grown(order->queue_capacity), holder);
    return order->heaped < order->heap_capacity ||
           heap_resize(order, grown(order->heap_capacity), holder);
}

/* Half of the room goes once less than a quarter is used; where there is no memory for that, later.
 */
static void shrink(struct gs_join_order *order, struct gs_holder *holder)
{
    if (order->queue_capacity > GS_ORDER_FIRST && order->queued < order->queue_capacity / 4)
        queue_resize(order, order->queue_capacity / 2, holder);
    if (order->heap_capacity > GS_ORDER_FIRST && order->heaped < order->heap_capacity / 4)
        heap_resize(order, order->heap_capacity / 2, holder);
}

/* ---- the heap, of four children a node: half as deep as of two ---- */

static void rise(struct gs_join_order *order, uint64_t at, struct gs_join_entry entry)
{
    while (at > 0 && order->heap[(at - 1) / 4].value > entry.value) {
        order->heap[at] = order->heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    order->heap[at] = entry;
}

static uint64_t least_child(const struct gs_join_order *order, uint64_t at)
{
    uint64_t least = 4 * at + 1, end = least + 4 < order->heaped ? least + 4 : order->heaped;
    for (uint64_t child = least + 1; child < end; child++)
        if (order->heap[child].value < order->heap[least].value) least = child;
    return least;
}

static void sink(struct gs_join_order *order, uint64_t at, struct gs_join_entry entry)
{
    while (4 * at + 1 < order->heaped) {
        uint64_t child = least_child(order, at);
        if (order->heap[child].value >= entry.value) break;
        order->heap[at] = order->heap[child];
        at = child;
    }
    order->heap[at] = entry;
}

static void heap_take(struct gs_join_order *order)
{
    struct gs_join_entry last = order->heap[--order->heaped];
    if (order->heaped > 0) sink(order, 0, last);
}

/* ---- entries ---- */

void gs_join_order_put(struct gs_join_order *order, gs_bound value, struct gs_join_row *row)
{
    struct gs_join_entry entry = {value, row};
    if (is_in_order(order, value))
        *queue_at(order, order->queued++) = entry;
    else
        rise(order, order->heaped++, entry);
}

static bool queue_is_first(const struct gs_join_order *order)
{
    if (order->queued == 0 || order->heaped == 0) return order->queued > 0;
    return queue_at(order, 0)->value <= order->heap[0].value;
}

const struct gs_join_entry *gs_join_order_first(const struct gs_join_order *order)
{
    if (queue_is_first(order)) return queue_at(order, 0);
    return order->heaped > 0 ? &order->heap[0] : NULL;
}

struct gs_join_row *gs_join_order_ahead(const struct gs_join_order *order, uint64_t count)
{
    return order->queued > count ? queue_at(order, count)->row : NULL;
}

void gs_join_order_take(struct gs_join_order *order, struct gs_holder *holder)
{
    if (queue_is_first(order)) {
        order->first++;
        order->queued--;
    } else {
        heap_take(order);
    }
    shrink(order, holder);
}

static void sweep_queue(struct gs_join_order *order,
                        void (*drop)(void *context, struct gs_join_row *row), void *context)
{
    uint64_t kept = 0;
    for (uint64_t at = 0; at < order->queued; at++) {
        struct gs_join_entry entry = *queue_at(order, at);
        if (entry.row->has_left)
            drop(context, entry.row);
        else
            *queue_at(order, kept++) = entry;
    }
    order->queued = kept;
}

static void sweep_heap(struct gs_join_order *order,
                       void (*drop)(void *context, struct gs_join_row *row), void *context)
{
    uint64_t count = order->heaped;
    order->heaped = 0;
    for (uint64_t at = 0; at < count; at++) {
        struct gs_join_entry entry = order->heap[at];
        if (entry.row->has_left)
            drop(context, entry.row);
        else
            rise(order, order->heaped++, entry);
    }
}

void gs_join_order_sweep(struct gs_join_order *order,
                         void (*drop)(void *context, struct gs_join_row *row), void *context)
{
    sweep_queue(order, drop, context);
    sweep_heap(order, drop, context);
    order->gone = 0;
}

void gs_join_order_close(struct gs_join_order *order, struct gs_holder *holder)
{
    entries_free(holder, order->queue, order->queue_capacity);
    entries_free(holder, order->heap, order->heap_capacity);
}

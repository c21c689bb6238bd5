/* SPDX-License-Identifier: Apache-2.0 */
#include "join_rows.h"

#include <stdlib.h>

#define GS_HEADS_FIRST 64u  /* chains */
#define GS_PAGE_FIRST 4096u /* bytes; then twice as many */
#define GS_PAGE_LAST (1u << 18)
#define GS_AHEAD 8u        /* rows */
#define GS_SWEEP_FIRST 64u /* entries of rows that have left, before they are looked for */

struct gs_join_page {
    uint64_t capacity, used; /* bytes, with these */
    uint64_t rows;           /* that are still needed */
};

/* ---- pages ---- */

static struct gs_join_page *page_new(struct gs_join_rows *rows, uint64_t capacity)
{
    if (!gs_hold(rows->holder, capacity)) return NULL;
    struct gs_join_page *page = malloc(capacity);
    if (page == NULL) {
        gs_let_go(rows->holder, capacity);
        return NULL;
    }
    *page = (struct gs_join_page){.capacity = capacity, .used = sizeof *page};
    return page;
}

static void page_free(struct gs_join_rows *rows, struct gs_join_page *page)
{
    if (page == NULL) return;
    gs_let_go(rows->holder, page->capacity);
    free(page);
}

static uint64_t next_capacity(const struct gs_join_page *last, uint64_t bytes)
{
    uint64_t capacity = last == NULL ? GS_PAGE_FIRST : 2 * last->capacity;
    if (capacity > GS_PAGE_LAST) capacity = GS_PAGE_LAST;
    return capacity < sizeof *last + bytes ? sizeof *last + bytes : capacity;
}

/* In a smaller page where the budget has not so much left. */
static struct gs_join_page *page_for(struct gs_join_rows *rows, uint64_t bytes)
{
    struct gs_join_page *page = page_new(rows, next_capacity(rows->page, bytes));
    return page != NULL ? page : page_new(rows, next_capacity(NULL, bytes));
}

static bool page_reserve(struct gs_join_rows *rows, uint64_t bytes)
{
    struct gs_join_page *page = rows->page;
    if (page != NULL && page->capacity - page->used >= bytes) return true;
    if (bytes > UINT32_MAX / 2) return false;
    struct gs_join_page *fresh = page_for(rows, bytes);
    if (fresh == NULL) return false;
    if (page != NULL && page->rows == 0) page_free(rows, page);
    rows->page = fresh;
    return true;
}

/* An order names the row no more; its memory goes when none does. */
static void forget(void *owner, struct gs_join_row *row)
{
    struct gs_join_rows *rows = owner;
    struct gs_join_page *page = (struct gs_join_page *)((char *)row - row->in_page);
    if (--row->orders > 0 || --page->rows > 0) return;
    if (page == rows->page && rows->count > 0) {
        page->used = sizeof *page;
        return;
    }
    if (page == rows->page) rows->page = NULL;
    page_free(rows, page);
}

/* ---- chains ---- */

static void link_row(struct gs_join_row **heads, uint64_t mask, struct gs_join_row *row)
{
    struct gs_join_row **head = &heads[row->hash & mask];
    row->next = *head;
    row->at = head;
    if (row->next != NULL) row->next->at = &row->next;
    *head = row;
}

static void unlink_row(struct gs_join_row *row)
{
    *row->at = row->next;
    if (row->next != NULL) row->next->at = row->at;
}

static bool heads_resize(struct gs_join_rows *rows, uint64_t count)
{
    struct gs_join_side *side = &rows->side;
    if (!gs_hold(rows->holder, count * sizeof *side->heads)) return false;
    struct gs_join_row **heads = calloc(count, sizeof *heads);
    if (heads == NULL) {
        gs_let_go(rows->holder, count * sizeof *heads);
        return false;
    }
    for (uint64_t at = 0; side->heads != NULL && at <= side->mask; at++)
        for (struct gs_join_row *row = side->heads[at], *next; row != NULL; row = next) {
            next = row->next;
            link_row(heads, count - 1, row);
        }
    if (side->heads != NULL) gs_let_go(rows->holder, (side->mask + 1) * sizeof *heads);
    free(side->heads);
    side->heads = heads;
    side->mask = count - 1;
    return true;
}

/* About one row a chain; where there is no memory for that, chains are longer. */
static void heads_grow(struct gs_join_rows *rows)
{
    uint64_t heads = rows->side.mask + 1;
    if (rows->count >= heads)
        (void)(heads_resize(rows, 4 * heads) || heads_resize(rows, 2 * heads));
}

void gs_join_rows_expect(struct gs_join_rows *rows)
{
    rows->expected = rows->most;
    rows->most = 0;
}

/* A join of equal times is empty after each, and as full as before it soon after: it made its
 * chains anew each time while they followed what was held alone. */
void gs_join_rows_fit(struct gs_join_rows *rows)
{
    uint64_t heads = rows->side.mask + 1, fitting = heads, wanted = rows->count;
    if (!rows->side.is_over && rows->expected > wanted) wanted = rows->expected;
    while (fitting > GS_HEADS_FIRST && wanted < fitting / 16)
        fitting /= 4;
    if (fitting < heads) heads_resize(rows, fitting < GS_HEADS_FIRST ? GS_HEADS_FIRST : fitting);
}

/* ---- rows ---- */

bool gs_join_rows_open(struct gs_join_rows *rows, uint32_t pair_count, uint32_t order_count,
                       struct gs_holder *holder)
{
    rows->holder = holder;
    rows->pair_count = pair_count;
    rows->order_count = order_count;
    rows->orders = calloc(order_count, sizeof *rows->orders);
    rows->limits = calloc(pair_count, sizeof *rows->limits);
    if (rows->orders == NULL || rows->limits == NULL) return false;
    for (uint32_t pair = 0; pair < pair_count; pair++)
        rows->limits[pair] = GS_BOUND_NONE;
    rows->side.limits = rows->limits;
    return heads_resize(rows, GS_HEADS_FIRST);
}

/* A NULL in a column of its own bounds nothing. */
static bool is_in_order(const struct gs_join_rows *rows, const gs_bound *values, uint32_t value)
{
    return value < rows->pair_count || values[value] != GS_BOUND_END;
}

struct gs_join_row *gs_join_rows_admit(struct gs_join_rows *rows, const gs_bound *values,
                                       uint64_t bytes)
{
    bytes = (bytes + 7) & ~UINT64_C(7);
    for (uint32_t value = 0; value < rows->order_count; value++)
        if (is_in_order(rows, values, value) &&
            !gs_join_order_reserve(&rows->orders[value], values[value], rows->holder))
            return NULL;
    if (!page_reserve(rows, bytes)) return NULL;
    heads_grow(rows);
    struct gs_join_row *row = (struct gs_join_row *)((char *)rows->page + rows->page->used);
    rows->page->used += bytes;
    return row;
}

void gs_join_rows_keep(struct gs_join_rows *rows, struct gs_join_row *row)
{
    const gs_bound *values = gs_join_values(row);
    row->in_page = (uint32_t)((char *)row - (char *)rows->page);
    row->orders = 0;
    row->has_left = false;
    for (uint32_t value = 0; value < rows->order_count; value++)
        if (is_in_order(rows, values, value)) {
            gs_join_order_put(&rows->orders[value], values[value], row);
            row->orders++;
        }
    link_row(rows->side.heads, rows->side.mask, row);
    rows->page->rows++;
    if (++rows->count > rows->most) rows->most = rows->count;
}

const struct gs_join_entry *gs_join_rows_least(struct gs_join_rows *rows, uint32_t value)
{
    struct gs_join_order *order = &rows->orders[value];
    const struct gs_join_entry *first = gs_join_order_first(order);
    /* while none has left by another order no row need be looked at */
    for (; order->gone > 0 && first->row->has_left; first = gs_join_order_first(order)) {
        struct gs_join_row *row = first->row;
        gs_join_order_take(order, rows->holder);
        order->gone--;
        forget(rows, row);
    }
    return first;
}

/* The other orders learn of it as they come to it, or once most of what they have has left. */
static void tell_others(struct gs_join_rows *rows, const struct gs_join_row *row, uint32_t value)
{
    for (uint32_t other = 0; other < rows->order_count; other++) {
        struct gs_join_order *order = &rows->orders[other];
        if (other == value || !is_in_order(rows, gs_join_values(row), other)) continue;
        if (++order->gone > GS_SWEEP_FIRST && order->gone > rows->count)
            gs_join_order_sweep(order, forget, rows);
    }
}

/* What leaves was met long ago, and so were its neighbours in the chain: they are asked for before.
 */
static void prefetch(const struct gs_join_order *order)
{
    const struct gs_join_row *near = gs_join_order_ahead(order, GS_AHEAD);
    __builtin_prefetch(gs_join_order_ahead(order, 2 * GS_AHEAD), 1);
    if (near == NULL) return;
    __builtin_prefetch(near->at, 1);
    __builtin_prefetch(near->next, 1);
}

void gs_join_rows_take(struct gs_join_rows *rows, uint32_t value)
{
    struct gs_join_row *row = gs_join_rows_least(rows, value)->row;
    gs_join_order_take(&rows->orders[value], rows->holder);
    prefetch(&rows->orders[value]);
    unlink_row(row);
    row->has_left = true;
    rows->count--;
    tell_others(rows, row, value);
    forget(rows, row);
}

void gs_join_rows_close(struct gs_join_rows *rows)
{
    if (rows->holder == NULL) return;
    while (rows->orders != NULL && gs_join_rows_least(rows, 0) != NULL)
        gs_join_rows_take(rows, 0);
    for (uint32_t value = 0; rows->orders != NULL && value < rows->order_count; value++) {
        gs_join_order_sweep(&rows->orders[value], forget, rows);
        gs_join_order_close(&rows->orders[value], rows->holder);
    }
    page_free(rows, rows->page);
    if (rows->side.heads != NULL)
        gs_let_go(rows->holder, (rows->side.mask + 1) * sizeof *rows->side.heads);
    free(rows->side.heads);
    free(rows->orders);
    free(rows->limits);
}

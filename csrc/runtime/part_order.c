/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of several parts of the groups as one, window by window: a window goes on once every
 * part has put out all of it (Li et al., VLDB 2008, A-1). Where one of them has refused groups of
 * it, it is incomplete, and all of its rows say so. */
#include <stdlib.h>
#include <string.h>

#include "../base/shared_object.h"
#include "../gigastream.h"
#include "../hfta/operator.h"
#include "../stream/window.h"

struct part {
    struct gs_batch **waiting; /* from `first` on, in a ring */
    uint32_t first, count, capacity;
    uint32_t row;     /* of the first one, that is next */
    gs_bound *bounds; /* by column in order: below them nothing is behind what waits */
};

struct gs_part_order {
    uint32_t *columns; /* in whose order the rows of each part are: each grows with the window */
    uint32_t column_count, batch_rows;
    uint32_t count;
    struct gs_holder holder;   /* of what waits, and is gathered */
    bool is_going;             /* a window is, */
    gs_bound *window;          /* this one, by its values of the columns, */
    bool is_partial;           /* of which groups were refused, */
    uint32_t turn;             /* and this part's rows are next */
    gs_bound *another;         /* room for one that is compared */
    struct gs_batch *gathered; /* rows of windows that are small, or NULL */
    uint64_t gathered_bytes;   /* that are held for it */
    uint32_t *lengths;         /* of a row's strings; NULL as long as none has been gathered */
    bool has_ended[GS_PARTS_MAX];
    struct part parts[];
};

static bool allocate(struct gs_part_order *order, uint32_t parts, const uint32_t *columns,
                     uint32_t count)
{
    size_t bytes = ((size_t)count + 1) * sizeof(gs_bound);
    order->columns = calloc(count + 1, sizeof *columns);
    order->window = malloc(bytes);
    order->another = malloc(bytes);
    if (!order->columns || !order->window || !order->another) return false;
    if (count > 0) memcpy(order->columns, columns, count * sizeof *columns);
    for (; order->count < parts; order->count++) {
        gs_bound *bounds = order->parts[order->count].bounds = malloc(bytes);
        for (uint32_t k = 0; bounds != NULL && k < count; k++)
            bounds[k] = GS_BOUND_NONE;
        if (bounds == NULL) return false;
    }
    return true;
}

struct gs_part_order *gs_part_order_new(uint32_t parts, const uint32_t *columns,
                                        uint32_t column_count, uint32_t batch_rows,
                                        struct gs_memory *memory)
{
    if (parts > GS_PARTS_MAX) return NULL;
    struct gs_part_order *order = calloc(1, sizeof *order + parts * sizeof order->parts[0]);
    if (order == NULL) return NULL;
    order->column_count = column_count;
    order->batch_rows = batch_rows;
    order->holder.memory = memory;
    if (allocate(order, parts, columns, column_count)) return order;
    gs_part_order_free(order);
    return NULL;
}

static struct gs_batch *batch_at(const struct part *part, uint32_t at)
{
    return part->waiting[(part->first + at) & (part->capacity - 1)];
}

/* The batch goes to who called. */
static struct gs_batch *pop(struct gs_part_order *order, struct part *part)
{
    struct gs_batch *batch = batch_at(part, 0);
    part->first = (part->first + 1) & (part->capacity - 1);
    part->count--;
    part->row = 0;
    gs_let_go(&order->holder, gs_batch_bytes(batch));
    return batch;
}

/* As it is now: its strings may have grown. */
static void hold_gathered(struct gs_part_order *order)
{
    uint64_t bytes = order->gathered != NULL ? gs_batch_bytes(order->gathered) : 0;
    gs_let_go(&order->holder, order->gathered_bytes);
    gs_hold_anyway(&order->holder, bytes);
    order->gathered_bytes = bytes;
}

static struct gs_batch *give_gathered(struct gs_part_order *order)
{
    struct gs_batch *gathered = order->gathered;
    order->gathered = NULL;
    hold_gathered(order);
    return gathered;
}

void gs_part_order_free(struct gs_part_order *order)
{
    if (order == NULL) return;
    for (uint32_t p = 0; p < order->count; p++) {
        while (order->parts[p].count > 0)
            gs_batch_release(pop(order, &order->parts[p]));
        free(order->parts[p].waiting);
        free(order->parts[p].bounds);
    }
    gs_batch_release(give_gathered(order));
    free(order->lengths);
    free(order->columns);
    free(order->window);
    free(order->another);
    free(order);
}

static bool grow(struct part *part)
{
    uint32_t capacity = part->capacity == 0 ? 16 : 2 * part->capacity;
    struct gs_batch **waiting = malloc(capacity * sizeof *waiting);
    if (waiting == NULL) return false;
    for (uint32_t i = 0; i < part->count; i++)
        waiting[i] = batch_at(part, i);
    free(part->waiting);
    part->waiting = waiting;
    part->capacity = capacity;
    part->first = 0;
    return true;
}

int gs_part_order_add(struct gs_part_order *order, uint32_t p, struct gs_batch *batch,
                      struct gs_error *error)
{
    struct part *part = &order->parts[p];
    order->has_ended[p] |= batch->is_end;
    for (uint32_t k = 0; k < order->column_count; k++)
        part->bounds[k] = batch->punctuation.bounds[order->columns[k]];
    if (batch->row_count == 0 && !batch->is_partial) return GS_OK;
    if (part->count == part->capacity && !grow(part))
        return gs_fail(error, GS_ERROR, "no memory for rows that wait for others");
    gs_hold_anyway(&order->holder, gs_batch_bytes(batch));
    part->waiting[(part->first + part->count++) & (part->capacity - 1)] = gs_batch_retain(batch);
    return GS_OK;
}

/* ---- windows ---- */

/* Of a batch without rows: the window that its bounds have come to (gs_operator_tell_partial). They
 * are its values (gigastream/plan/named_windows.py). */
static void window_of(const struct gs_part_order *order, const struct gs_batch *batch, uint32_t row,
                      gs_bound *window)
{
    for (uint32_t k = 0; k < order->column_count; k++) {
        uint32_t column = order->columns[k];
        window[k] = batch->row_count == 0 ? batch->punctuation.bounds[column]
                                          : gs_row_bound(batch, column, row);
    }
}

/* <0, 0, >0 as the row is of an earlier window, of this one, or of a later one. */
static int compare(const struct gs_part_order *order, const struct gs_batch *batch, uint32_t row,
                   const gs_bound *window)
{
    window_of(order, batch, row, order->another);
    return gs_window_compare(order->another, window, order->column_count);
}

/* No row of the part is of it, or will be, but those that wait. */
static bool has_all_of(const struct gs_part_order *order, uint32_t p, const gs_bound *window)
{
    const struct part *part = &order->parts[p];
    if (order->has_ended[p] || gs_window_passed(window, part->bounds, order->column_count))
        return true;
    if (part->count == 0) return false;
    const struct gs_batch *last = batch_at(part, part->count - 1);
    return compare(order, last, last->row_count - 1, window) > 0;
}

/* The oldest that waits; false where nothing does. */
static bool find_oldest(struct gs_part_order *order)
{
    bool is_there = false;
    for (uint32_t p = 0; p < order->count; p++) {
        const struct part *part = &order->parts[p];
        if (part->count == 0) continue;
        const struct gs_batch *first = batch_at(part, 0);
        if (!is_there || compare(order, first, part->row, order->window) < 0)
            window_of(order, first, part->row, order->window);
        is_there = true;
    }
    return is_there;
}

/* Whether the part has refused groups of it. */
static bool lacks_some_of(const struct gs_part_order *order, const struct part *part,
                          const gs_bound *window)
{
    for (uint32_t at = 0; at < part->count; at++) {
        const struct gs_batch *batch = batch_at(part, at);
        if (compare(order, batch, at == 0 ? part->row : 0, window) > 0) return false;
        if (batch->is_partial) return true;
    }
    return false;
}

/* False: no window may go on yet. */
static bool begin_window(struct gs_part_order *order)
{
    if (!find_oldest(order)) return false;
    for (uint32_t p = 0; p < order->count; p++)
        if (!has_all_of(order, p, order->window)) return false;
    order->is_partial = false;
    for (uint32_t p = 0; p < order->count; p++)
        order->is_partial |= lacks_some_of(order, &order->parts[p], order->window);
    order->turn = 0;
    return true;
}

/* ---- rows ---- */

static bool begin_gathering(struct gs_part_order *order, const struct gs_batch *from)
{
    if (order->gathered != NULL) return true;
    if (order->lengths == NULL)
        order->lengths = calloc(from->schema->column_count + 1, sizeof *order->lengths);
    uint32_t rows = gs_batch_rows(from->schema, order->batch_rows);
    struct gs_batch *gathered = order->lengths ? gs_batch_new(from->schema, rows) : NULL;
    if (gathered == NULL) return false;
    gathered->object = from->object == NULL ? NULL : gs_shared_object_retain(from->object);
    gathered->is_partial = order->is_partial;
    order->gathered = gathered;
    return true;
}

/* The part's rows of the window, one by one. GS_AGAIN: what has been gathered goes first. */
static int gather(struct gs_part_order *order, struct part *part)
{
    struct gs_batch *from = batch_at(part, 0);
    if (order->gathered->is_partial != order->is_partial) return GS_AGAIN;
    while (part->row < from->row_count && compare(order, from, part->row, order->window) == 0) {
        gs_batch_lengths(from, part->row, order->lengths);
        if (!gs_batch_takes(order->gathered, order->lengths)) return GS_AGAIN;
        if (!gs_batch_reserve(order->gathered, order->lengths)) return GS_ERROR;
        gs_batch_append(order->gathered, from, part->row++);
    }
    if (part->row == from->row_count) gs_batch_release(pop(order, part));
    return GS_OK;
}

static int gather_and_hold(struct gs_part_order *order, struct part *part)
{
    if (!begin_gathering(order, batch_at(part, 0))) return GS_ERROR;
    int status = gather(order, part);
    hold_gathered(order);
    return status;
}

/* A batch of the window alone, that is worth going on as it is. */
static bool goes_whole(const struct gs_part_order *order, const struct part *part)
{
    const struct gs_batch *batch = batch_at(part, 0);
    return part->row == 0 && batch->row_count >= order->batch_rows / 2 &&
           compare(order, batch, batch->row_count - 1, order->window) == 0;
}

/* The same rows, of which nothing is promised: what a part has promised is not so of all. */
static struct gs_batch *without_bounds(const struct gs_part_order *order, struct gs_batch *batch)
{
    struct gs_batch *view = gs_batch_view(batch, batch->schema);
    if (view == NULL) return NULL;
    for (uint32_t c = 0; c < batch->schema->column_count; c++)
        view->punctuation.bounds[c] = GS_BOUND_NONE;
    view->object = batch->object == NULL ? NULL : gs_shared_object_retain(batch->object);
    view->is_partial = order->is_partial;
    view->is_end = view->is_heartbeat = false;
    return view;
}

/* What has been gathered, or else the part's next batch; NULL: there is no memory. */
static struct gs_batch *give(struct gs_part_order *order, struct part *part)
{
    if (order->gathered != NULL) return give_gathered(order);
    struct gs_batch *batch = pop(order, part), *given = without_bounds(order, batch);
    gs_batch_release(batch);
    return given;
}

/* The next batch of the window that is going on; NULL: all its rows are out, or gathered. */
static int go_on(struct gs_part_order *order, struct gs_batch **batch)
{
    for (; order->turn < order->count; order->turn++) {
        struct part *part = &order->parts[order->turn];
        while (part->count > 0 &&
               compare(order, batch_at(part, 0), part->row, order->window) == 0) {
            if (batch_at(part, 0)->row_count == 0) {
                gs_batch_release(pop(order, part)); /* what it says has been heard */
                continue;
            }
            int status = goes_whole(order, part) ? GS_AGAIN : gather_and_hold(order, part);
            if (status == GS_ERROR) return status;
            if (status != GS_AGAIN) continue;
            *batch = give(order, part);
            return *batch != NULL ? GS_OK : GS_ERROR;
        }
    }
    order->is_going = false;
    return GS_OK;
}

static bool have_ended(const struct gs_part_order *order)
{
    for (uint32_t p = 0; p < order->count; p++)
        if (!order->has_ended[p] || order->parts[p].count > 0) return false;
    return true;
}

int gs_part_order_take(struct gs_part_order *order, struct gs_batch **batch, struct gs_error *error)
{
    *batch = NULL;
    for (;;) {
        if (!order->is_going) order->is_going = begin_window(order);
        if (!order->is_going) break;
        if (go_on(order, batch) != GS_OK)
            return gs_fail(error, GS_ERROR, "no memory for rows in the order of their windows");
        if (*batch != NULL) return GS_OK;
    }
    if (have_ended(order)) *batch = give_gathered(order);
    return GS_OK;
}

/* ---- what may still come ---- */

static gs_bound bound_of(const struct gs_batch *batch, uint32_t row, uint32_t column)
{
    return gs_bound_of_held(batch->row_count == 0 ? batch->punctuation.bounds[column]
                                                  : gs_row_bound(batch, column, row));
}

/* Behind a row there are none that are below it in any column. */
static gs_bound bound_of_part(const struct gs_part_order *order, uint32_t p, uint32_t k)
{
    const struct part *part = &order->parts[p];
    if (part->count > 0) return bound_of(batch_at(part, 0), part->row, order->columns[k]);
    return order->has_ended[p] ? GS_BOUND_END : gs_bound_of_held(part->bounds[k]);
}

bool gs_part_order_bounds(const struct gs_part_order *order, int64_t *bounds)
{
    for (uint32_t k = 0; k < order->column_count; k++) {
        bounds[k] = GS_BOUND_END;
        if (order->gathered != NULL) bounds[k] = bound_of(order->gathered, 0, order->columns[k]);
        for (uint32_t p = 0; p < order->count; p++) {
            gs_bound bound = bound_of_part(order, p, k);
            if (bound < bounds[k]) bounds[k] = bound;
        }
    }
    return order->gathered == NULL && have_ended(order);
}

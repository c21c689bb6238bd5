/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of several parts of the groups as one, window by window: rows go on once no other
 * part can have one of an earlier window (Li et al., VLDB 2008, A-1). Those of one window go on as
 * they come. */
#include <stdlib.h>

#include "../base/shared_object.h"
#include "../hfta/operator.h"

struct part {
    struct gs_batch **waiting; /* from `first` on, in a ring */
    uint32_t first, count, capacity;
    uint32_t row;   /* of the first one, that is next */
    gs_bound bound; /* below it nothing is behind what waits */
};

struct gs_part_order {
    uint32_t column; /* in whose order the rows of each part are */
    uint32_t batch_rows;
    uint32_t count;
    struct gs_batch *gathered; /* rows of windows that are small, or NULL */
    uint32_t *lengths;         /* of a row's strings; NULL as long as none has been gathered */
    struct part parts[];
};

struct gs_part_order *gs_part_order_new(uint32_t parts, uint32_t column, uint32_t batch_rows)
{
    struct gs_part_order *order = calloc(1, sizeof *order + parts * sizeof order->parts[0]);
    if (order == NULL) return NULL;
    order->column = column;
    order->batch_rows = batch_rows;
    order->count = parts;
    for (uint32_t part = 0; part < parts; part++)
        order->parts[part].bound = GS_BOUND_NONE;
    return order;
}

static struct gs_batch *first_of(const struct part *part)
{
    return part->waiting[part->first];
}

/* The batch goes to who called. */
static struct gs_batch *pop(struct part *part)
{
    struct gs_batch *batch = first_of(part);
    part->first = (part->first + 1) & (part->capacity - 1);
    part->count--;
    part->row = 0;
    return batch;
}

void gs_part_order_free(struct gs_part_order *order)
{
    if (order == NULL) return;
    for (uint32_t p = 0; p < order->count; p++) {
        while (order->parts[p].count > 0)
            gs_batch_release(pop(&order->parts[p]));
        free(order->parts[p].waiting);
    }
    gs_batch_release(order->gathered);
    free(order->lengths);
    free(order);
}

static bool grow(struct part *part)
{
    uint32_t capacity = part->capacity == 0 ? 16 : 2 * part->capacity;
    struct gs_batch **waiting = malloc(capacity * sizeof *waiting);
    if (waiting == NULL) return false;
    for (uint32_t i = 0; i < part->count; i++)
        waiting[i] = part->waiting[(part->first + i) & (part->capacity - 1)];
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
    part->bound = batch->is_end ? GS_BOUND_END : batch->punctuation.bounds[order->column];
    if (batch->row_count == 0) return GS_OK;
    if (part->count == part->capacity && !grow(part))
        return gs_fail(error, GS_ERROR, "no memory for rows that wait for others");
    part->waiting[(part->first + part->count++) & (part->capacity - 1)] = gs_batch_retain(batch);
    return GS_OK;
}

/* No row of it that has not gone on is below this. */
static gs_bound least_of(const struct gs_part_order *order, const struct part *part)
{
    if (part->count == 0) return part->bound;
    return gs_row_bound(first_of(part), order->column, part->row);
}

/* The part whose next row is of the oldest window; up to which one its rows may go on. */
static struct part *oldest(struct gs_part_order *order, gs_bound *limit)
{
    struct part *found = &order->parts[0];
    gs_bound least = least_of(order, found);
    *limit = GS_BOUND_END;
    for (uint32_t p = 1; p < order->count; p++) {
        gs_bound own = least_of(order, &order->parts[p]);
        bool is_before = own == least && found->count == 0 && order->parts[p].count > 0;
        if (own < least || is_before) {
            *limit = least;
            least = own;
            found = &order->parts[p];
        } else if (own < *limit) {
            *limit = own;
        }
    }
    return found;
}

static struct gs_batch *give_gathered(struct gs_part_order *order)
{
    struct gs_batch *gathered = order->gathered;
    order->gathered = NULL;
    return gathered;
}

/* Whether a row goes into what has been gathered. */
static bool takes(const struct gs_part_order *order, const struct gs_batch *from,
                  const uint32_t *string_lengths)
{
    return order->gathered->is_partial == from->is_partial &&
           gs_batch_takes(order->gathered, string_lengths);
}

static bool begin(struct gs_part_order *order, const struct gs_batch *from)
{
    if (order->gathered != NULL) return true;
    if (order->lengths == NULL)
        order->lengths = calloc(from->schema->column_count + 1, sizeof *order->lengths);
    uint32_t rows = gs_batch_rows(from->schema, order->batch_rows);
    struct gs_batch *gathered = order->gathered = gs_batch_new(from->schema, rows);
    if (order->lengths == NULL || gathered == NULL) return false;
    gathered->object = from->object == NULL ? NULL : gs_shared_object_retain(from->object);
    gathered->is_partial = from->is_partial;
    return true;
}

/* The part's rows up to the limit, one by one. GS_AGAIN: what has been gathered goes first. */
static int gather(struct gs_part_order *order, struct part *part, gs_bound limit)
{
    struct gs_batch *from = first_of(part);
    if (!begin(order, from)) return GS_ERROR;
    while (part->row < from->row_count && gs_row_bound(from, order->column, part->row) <= limit) {
        gs_batch_lengths(from, part->row, order->lengths);
        if (!takes(order, from, order->lengths)) return GS_AGAIN;
        if (!gs_batch_reserve(order->gathered, order->lengths)) return GS_ERROR;
        gs_batch_append(order->gathered, from, part->row++);
    }
    if (part->row == from->row_count) gs_batch_release(pop(part));
    return GS_OK;
}

/* A batch that may go on as it is, and is worth it. */
static bool goes_whole(const struct gs_part_order *order, const struct part *part, gs_bound limit)
{
    const struct gs_batch *batch = first_of(part);
    return part->row == 0 && batch->row_count >= order->batch_rows / 2 &&
           gs_row_bound(batch, order->column, batch->row_count - 1) <= limit;
}

int gs_part_order_take(struct gs_part_order *order, struct gs_batch **batch, struct gs_error *error)
{
    for (;;) {
        gs_bound limit;
        struct part *part = oldest(order, &limit);
        *batch = NULL;
        if (part->count == 0) {
            if (part->bound == GS_BOUND_END) *batch = give_gathered(order);
            return GS_OK;
        }
        bool is_whole = goes_whole(order, part, limit);
        int status = is_whole ? GS_AGAIN : gather(order, part, limit);
        if (status == GS_ERROR)
            return gs_fail(error, GS_ERROR, "no memory for rows in the order of their windows");
        if (status != GS_AGAIN) continue;
        *batch = order->gathered != NULL ? give_gathered(order) : pop(part);
        return GS_OK;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Output: batches wait in a queue for whoever asked the query. */
#include <stdlib.h>

#include "operator.h"

struct output_state {
    struct gs_operator_state op;
    struct gs_output_queue *queue;
    bool passes_punctuation, only_whole;
};

bool gs_output_push(struct gs_output_queue *queue, uint32_t node, struct gs_batch *batch)
{
    if (queue->head + queue->count == queue->capacity) {
        uint32_t capacity = queue->count < 32 ? 64 : queue->count * 2;
        struct gs_output_item *items = malloc(capacity * sizeof *items);
        if (items == NULL) return false;
        for (uint32_t i = 0; i < queue->count; i++)
            items[i] = queue->items[queue->head + i];
        free(queue->items);
        queue->items = items;
        queue->head = 0;
        queue->capacity = capacity;
    }
    struct gs_batch *kept = gs_batch_keep(batch);
    struct gs_output_item item = {kept, gs_batch_bytes(kept), node};
    gs_hold_anyway(&queue->holder, item.bytes);
    queue->items[queue->head + queue->count++] = item;
    return true;
}

struct gs_batch *gs_output_take(struct gs_output_queue *queue, uint32_t *node)
{
    if (queue->count == 0) return NULL;
    struct gs_output_item item = queue->items[queue->head++];
    if (--queue->count == 0) queue->head = 0;
    *node = item.node;
    gs_let_go(&queue->holder, item.bytes); /* it is the taker's now */
    return item.batch;
}

void gs_output_clear(struct gs_output_queue *queue)
{
    uint32_t node;
    struct gs_batch *batch;
    while ((batch = gs_output_take(queue, &node)) != NULL)
        gs_batch_release(batch);
    free(queue->items);
    memset(queue, 0, sizeof *queue);
}

static int open_output(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                       struct gs_error *error)
{
    (void)error;
    struct output_state *state = (struct output_state *)op;
    state->queue = settings->outputs;
    state->passes_punctuation = settings->output_punctuation;
    state->queue->shows_heartbeats |= settings->output_punctuation;
    state->only_whole = settings->only_whole;
    return GS_OK;
}

static bool passes_punctuation(const struct gs_operator_state *op)
{
    const struct output_state *state = (const struct output_state *)op;
    return state->passes_punctuation || state->queue->passes_punctuation;
}

static void queue_batch(struct gs_operator_state *op, struct gs_batch *batch)
{
    if (!gs_output_push(((struct output_state *)op)->queue, op->index, batch)) *op->failed = true;
}

static void queue_rows(struct gs_operator_state *op, struct gs_batch *batch)
{
    op->base.counters.rows_out += batch->row_count;
    queue_batch(op, batch);
}

static uint32_t cut_rows(const struct gs_operator_state *op, const struct gs_batch *batch)
{
    uint32_t count = 0;
    if (!gs_cut_may_have(op, batch)) return 0;
    for (uint32_t row = 0; row < batch->row_count; row++)
        count += gs_cut_has_row(op, batch, row);
    return count;
}

static bool is_whole(const void *op, const struct gs_batch *batch, uint32_t row)
{
    return !gs_cut_has_row(op, batch, row);
}

/* The batch may be others' too: what is whole of it is copied. */
static void queue_whole(struct gs_operator_state *op, const struct gs_batch *batch, uint32_t cut)
{
    op->cut.rows += cut;
    if (cut == batch->row_count && !passes_punctuation(op)) return;
    struct gs_batch *whole = gs_batch_filtered(batch, is_whole, op);
    if (whole == NULL) {
        *op->failed = true;
        return;
    }
    whole->missing &= ~GS_MISSING_CUT;
    queue_rows(op, whole);
    gs_batch_release(whole);
}

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)port;
    uint32_t cut = cut_rows(op, batch);
    op->base.counters.rows_in += batch->row_count;
    if (cut == 0) batch->missing &= ~GS_MISSING_CUT; /* it was said of what might be */
    if (cut > 0 && ((struct output_state *)op)->only_whole && !op->cut.is_kept)
        queue_whole(op, batch, cut);
    else
        queue_rows(op, batch);
}

/* A batch of rows has carried its punctuation already. */
static void on_punctuation(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch)
{
    (void)port;
    if (batch->row_count == 0 && passes_punctuation(op)) queue_batch(op, (struct gs_batch *)batch);
}

const struct gs_operator_methods gs_output_methods = {
    .name = "output",
    .state_size = sizeof(struct output_state),
    .open = open_output,
    .on_batch = on_batch,
    .on_punctuation = on_punctuation,
    .on_request = gs_operator_ask_same,
};

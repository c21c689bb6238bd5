/* SPDX-License-Identifier: Apache-2.0 */
/* Sort: rows below the bound of a column leave in its order (OPERATORS section 4). It stands where
 * an operator needs its input in order, and nothing but punctuation says how far that is. */
#include "ordered.h"

static const struct gs_sort_ops *ops_of(const struct gs_operator_state *op)
{
    return (const struct gs_sort_ops *)op->base.ops;
}

static void take_row(struct gs_ordered *state, uint32_t port, const struct gs_batch *batch,
                     uint32_t row)
{
    gs_bound key;
    if (!gs_ordered_key(state, batch, row, &key)) return;
    const struct gs_sort_ops *ops = ops_of(&state->op);
    if (key < state->promised)
        state->op.base.counters.out_of_order++; /* a clock has wrapped */
    else if (ops->place != NULL)
        gs_ordered_hold_at(state, batch, row, key, ops->place(batch, row));
    else
        gs_ordered_hold(state, port, batch, row, key);
}

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    struct gs_ordered *state = (struct gs_ordered *)op;
    op->base.counters.rows_in += batch->row_count;
    for (uint32_t row = 0; row < batch->row_count; row++)
        take_row(state, port, batch, row);
    state->has_news = true;
}

static void on_punctuation(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch)
{
    struct gs_ordered *state = (struct gs_ordered *)op;
    gs_bound bound = op->inputs[port].bounds[ops_of(op)->column];
    state->promised = bound;
    state->limit = bound == GS_BOUND_NONE ? bound : bound - 1; /* one of the bound may still come */
    gs_ordered_progress(state, batch);
}

/* The least row that is held leaves when the bound has passed it. */
static void on_idle(struct gs_operator_state *op)
{
    struct gs_ordered *state = (struct gs_ordered *)op;
    gs_bound least = gs_row_runs_least(&state->runs, ops_of(op)->column);
    if (least >= state->promised && least < GS_BOUND_END - 1)
        gs_operator_ask_input(op, 0, ops_of(op)->column, least + 1);
}

static int open_sort(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                     struct gs_error *error)
{
    return gs_ordered_open((struct gs_ordered *)op, ops_of(op)->column, ops_of(op)->copy, settings,
                           error);
}

const struct gs_operator_methods gs_sort_methods = {
    .name = "sort",
    .state_size = sizeof(struct gs_ordered),
    .cut_kind = GS_CUT_HOLDS,
    .open = open_sort,
    .on_batch = on_batch,
    .on_punctuation = on_punctuation,
    .on_request = gs_operator_ask_same,
    .on_idle = on_idle,
    .step = gs_ordered_step,
    .held = gs_ordered_held,
    .close = gs_ordered_close,
};

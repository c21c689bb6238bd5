/* SPDX-License-Identifier: Apache-2.0 */
/* Merge of inputs that are in the order of a column (Bai et al., ICDE 2007, Figures 5 and 6;
 * Johnson et al., VLDB 2005, section 5.4). Each input has a time-stamp memory register: the
 * greatest timestamp seen of it, of a row, less SLACK, or of punctuation. Rows up to the least
 * register leave, so that equal timestamps never wait for each other. */
#include <stdlib.h>

#include "ordered.h"

struct merge_state {
    struct gs_ordered ordered; /* first */
    gs_bound *registers;       /* by port */
};

static const struct gs_merge_ops *ops_of(const struct gs_operator_state *op)
{
    return (const struct gs_merge_ops *)op->base.ops;
}

static gs_bound least_register(const struct merge_state *state)
{
    gs_bound least = GS_BOUND_END;
    for (uint32_t port = 0; port < state->ordered.op.port_count; port++)
        if (state->registers[port] < least) least = state->registers[port];
    return least;
}

static void raise_register(struct merge_state *state, uint32_t port, gs_bound reached)
{
    if (reached <= state->registers[port]) return;
    state->registers[port] = reached;
    state->ordered.limit = state->ordered.promised = least_register(state);
}

/* How far an input has come with a row of this key. */
static gs_bound reached(const struct merge_state *state, gs_bound key)
{
    uint64_t slack = ops_of(&state->ordered.op)->slack;
    uint64_t above_none = (uint64_t)key - (uint64_t)GS_BOUND_NONE;
    return slack >= above_none ? GS_BOUND_NONE : (gs_bound)((uint64_t)key - slack);
}

static void take_row(struct merge_state *state, uint32_t port, const struct gs_batch *batch,
                     uint32_t row)
{
    struct gs_operator_state *op = &state->ordered.op;
    gs_bound key;
    if (!gs_ordered_key(&state->ordered, batch, row, &key)) return;
    if (key < state->registers[port]) {
        op->base.counters.out_of_order++;
        return;
    }
    gs_ordered_hold(&state->ordered, port, batch, row, key);
    raise_register(state, port, reached(state, key));
}

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    op->base.counters.rows_in += batch->row_count;
    for (uint32_t row = 0; row < batch->row_count; row++)
        take_row((struct merge_state *)op, port, batch, row);
    ((struct gs_ordered *)op)->has_news = true;
}

static void on_punctuation(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch)
{
    struct merge_state *state = (struct merge_state *)op;
    raise_register(state, port, op->inputs[port].bounds[ops_of(op)->column]);
    gs_ordered_progress(&state->ordered, batch);
}

/* Of the column that is merged on, only who has not reached it is asked. */
static void on_request(struct gs_operator_state *op, uint32_t column, gs_bound value)
{
    const struct merge_state *state = (const struct merge_state *)op;
    for (uint32_t port = 0; port < op->port_count; port++)
        if (column != ops_of(op)->column || state->registers[port] < value)
            gs_operator_ask_input(op, port, column, value);
}

/* The least row that is held leaves when every register has reached it. */
static void on_idle(struct gs_operator_state *op)
{
    struct gs_ordered *state = (struct gs_ordered *)op;
    uint32_t column = ops_of(op)->column;
    const struct gs_held_row *least = gs_row_runs_first(&state->runs);
    if (least != NULL && least->key > state->limit && least->key != GS_BOUND_END)
        on_request(op, column, least->key);
}

static int open_merge(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                      struct gs_error *error)
{
    struct merge_state *state = (struct merge_state *)op;
    state->registers = calloc(op->port_count + 1u, sizeof *state->registers);
    if (state->registers == NULL)
        return gs_fail(error, GS_ERROR, "no memory for operator %s", op->node->name);
    for (uint32_t port = 0; port < op->port_count; port++)
        state->registers[port] = GS_BOUND_NONE;
    return gs_ordered_open(&state->ordered, ops_of(op)->column, ops_of(op)->copy, settings, error);
}

static void close_merge(struct gs_operator_state *op)
{
    gs_ordered_close(op);
    free(((struct merge_state *)op)->registers);
}

const struct gs_operator_methods gs_merge_methods = {
    .name = "merge",
    .state_size = sizeof(struct merge_state),
    .cut_kind = GS_CUT_HOLDS,
    .open = open_merge,
    .on_batch = on_batch,
    .on_punctuation = on_punctuation,
    .on_request = on_request,
    .on_idle = on_idle,
    .step = gs_ordered_step,
    .held = gs_ordered_held,
    .close = close_merge,
};

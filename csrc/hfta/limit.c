/* SPDX-License-Identifier: Apache-2.0 */
/* LIMIT of a selection: the first rows pass in the batches in which they came; behind the last of
 * them the stream has ended, whatever still comes in. */
#include "operator.h"

struct limit_state {
    struct gs_operator_state op;
    uint64_t left;
    bool has_ended;
};

static void end(struct gs_operator_state *op)
{
    struct limit_state *state = (struct limit_state *)op;
    if (state->has_ended) return;
    state->has_ended = true;
    for (uint32_t c = 0; c < op->node->schema->column_count; c++)
        op->next.bounds[c] = GS_BOUND_END;
    gs_operator_progress(op, NULL, true);
}

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)port;
    struct limit_state *state = (struct limit_state *)op;
    uint32_t row_count = batch->row_count;
    if (row_count > state->left) row_count = (uint32_t)state->left;
    op->base.counters.rows_in += batch->row_count;
    op->base.counters.beyond_limit += batch->row_count - row_count;
    state->left -= row_count;
    if (row_count > 0) gs_operator_pass(op, batch, row_count);
    if (state->left == 0) end(op);
}

static void on_punctuation(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch)
{
    if (((struct limit_state *)op)->has_ended) return;
    gs_punctuation_copy(&op->next, &op->inputs[port], op->node->schema->column_count);
    gs_operator_progress(op, batch, gs_operator_ended(op));
}

/* LIMIT 0 ends without having seen anything; the input's own end is passed on as it is. */
static bool step(struct gs_operator_state *op)
{
    if (((struct limit_state *)op)->left == 0 && !gs_operator_ended(op)) end(op);
    return false;
}

static int open_limit(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                      struct gs_error *error)
{
    (void)settings, (void)error;
    ((struct limit_state *)op)->left = ((const struct gs_limit_ops *)op->base.ops)->limit;
    return GS_OK;
}

const struct gs_operator_methods gs_limit_methods = {
    .name = "limit",
    .state_size = sizeof(struct limit_state),
    .open = open_limit,
    .on_batch = on_batch,
    .on_punctuation = on_punctuation,
    .on_request = gs_operator_ask_same,
    .step = step,
};

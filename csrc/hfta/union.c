/* SPDX-License-Identifier: Apache-2.0 */
/* Union (Li et al., VLDB 2008, A-1): rows pass unbuffered and unordered; the bound is the least
 * over the inputs, given only when it grows. */
#include "operator.h"

static void least_bounds(struct gs_operator_state *op)
{
    for (uint32_t c = 0; c < op->node->schema->column_count; c++) {
        op->next_bounds[c] = op->input_bounds[0][c];
        for (uint32_t port = 1; port < op->port_count; port++)
            if (op->input_bounds[port][c] < op->next_bounds[c])
                op->next_bounds[c] = op->input_bounds[port][c];
    }
}

/* The rows go on in the batch in which they came, under the union's own bounds. */
static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)port;
    struct gs_batch *view = gs_batch_view(batch, op->node->schema);
    if (view == NULL) {
        *op->failed = true;
        return;
    }
    memcpy(view->punctuation.bounds, op->bounds,
           op->node->schema->column_count * sizeof *op->bounds);
    view->sequence = op->sequence++;
    view->is_heartbeat = view->is_end = false;
    op->base.counters.rows_in += batch->row_count;
    op->base.counters.rows_out += batch->row_count;
    gs_stream_push(&op->stream, view);
    gs_batch_release(view);
}

static void on_punctuation(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch)
{
    (void)port;
    least_bounds(op);
    gs_operator_progress(op, batch, gs_operator_ended(op));
}

const struct gs_operator_methods gs_union_methods = {
    .name = "union",
    .state_size = sizeof(struct gs_operator_state),
    .on_batch = on_batch,
    .on_punctuation = on_punctuation,
};

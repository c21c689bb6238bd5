/* SPDX-License-Identifier: Apache-2.0 */
/* Union (Li et al., VLDB 2008, A-1): rows pass unbuffered and unordered; the bound is the least
 * over the inputs, given only when it grows. */
#include "least.h"

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)port;
    op->base.counters.rows_in += batch->row_count;
    gs_operator_pass(op, batch, batch->row_count);
}

static void on_punctuation(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch)
{
    (void)port;
    gs_least_of_inputs(op);
    gs_operator_progress(op, batch, gs_operator_ended(op));
}

const struct gs_operator_methods gs_union_methods = {
    .name = "union",
    .state_size = sizeof(struct gs_operator_state),
    .on_batch = on_batch,
    .on_punctuation = on_punctuation,
    .on_request = gs_operator_ask_same,
};

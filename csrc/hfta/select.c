/* SPDX-License-Identifier: Apache-2.0 */
/* Select: rows as they come; each bound through its function (OPERATORS section 4). */
#include "carry.h"
#include "operator.h"

static const struct gs_select_ops *ops_of(const struct gs_operator_state *op)
{
    return (const struct gs_select_ops *)op->base.ops;
}

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)port;
    op->base.counters.rows_in += batch->row_count;
    if (op->base.output->is_partial != batch->is_partial) gs_operator_flush_output(op);
    op->base.output->is_partial = batch->is_partial;
    ops_of(op)->rows(&op->base, batch);
}

static void on_punctuation(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch)
{
    bool lacks_groups = op->is_part && batch->is_partial && batch->row_count == 0;
    if (lacks_groups) gs_operator_flush_output(op); /* rows of windows before */
    gs_carry(ops_of(op)->bounds, &op->inputs[port], op->node->schema->column_count, &op->next,
             op->carried);
    gs_operator_progress(op, batch, gs_operator_ended(op));
    if (lacks_groups) gs_operator_tell_partial(op);
}

static void extend(struct gs_operator_state *op, uint32_t port, struct gs_punctuation *last,
                   struct gs_extent *extent)
{
    (void)port;
    ops_of(op)->bounds(last, extent->columns);
}

static void on_request(struct gs_operator_state *op, uint32_t column, gs_bound value)
{
    gs_operator_ask_through(op, ops_of(op)->bounds, column, value);
}

const struct gs_operator_methods gs_select_methods = {
    .name = "select",
    .state_size = sizeof(struct gs_operator_state),
    .on_batch = on_batch,
    .on_punctuation = on_punctuation,
    .on_request = on_request,
    .extend = extend,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "lacking.h"

#include "operator.h"

struct gs_batch *gs_lacking_new(struct gs_operator_state *op)
{
    struct gs_batch *name = gs_batch_new(op->node->schema, 0);
    if (name == NULL) {
        *op->failed = true;
        return NULL;
    }
    for (uint32_t c = 0; c < name->schema->column_count; c++)
        name->punctuation.bounds[c] = GS_BOUND_NONE;
    name->is_partial = true;
    return name;
}

/* The greatest bound but the end stands for all values that are beyond bounds. */
static void keep_known(struct gs_batch *name)
{
    gs_bound *bounds = name->punctuation.bounds;
    for (uint32_t c = 0; c < name->schema->column_count; c++)
        if (name->schema->fields[c].temporal == 0 || bounds[c] >= GS_BOUND_END - 1)
            bounds[c] = GS_BOUND_NONE;
}

/* Of a part of the groups behind the rows of windows before it (runtime/part_order.c). */
void gs_lacking_send(struct gs_operator_state *op, struct gs_batch *name)
{
    keep_known(name);
    if (op->is_part) gs_operator_flush_output(op);
    name->sequence = op->sequence++;
    name->source = op->index;
    gs_stream_push(&op->stream, name);
    gs_batch_release(name);
}

/* Its columns become the output's as those of the last row of a gap do. */
static void pass(struct gs_operator_state *op, uint32_t port, struct gs_batch *name)
{
    gs_bound own[GS_OWN_VALUES];
    struct gs_batch *made = gs_lacking_new(op);
    if (made == NULL) return;
    struct gs_extent extent = {made->punctuation.bounds, own};
    for (uint32_t at = 0; at < GS_OWN_VALUES; at++)
        own[at] = GS_BOUND_NONE;
    if (op->methods->extend != NULL)
        op->methods->extend(op, port, &name->punctuation, &extent);
    else
        memcpy(extent.columns, name->punctuation.bounds,
               made->schema->column_count * sizeof(gs_bound));
    gs_lacking_send(op, made);
}

void gs_lacking_take(struct gs_operator_state *op, uint32_t port, struct gs_batch *name)
{
    if (*op->failed) return;
    if (op->methods->on_lacking != NULL)
        op->methods->on_lacking(op, name);
    else
        pass(op, port, name);
}

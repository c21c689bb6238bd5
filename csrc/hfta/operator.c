/* SPDX-License-Identifier: Apache-2.0 */
/* What all operators of the high level share: ports, bounds, the batch on its way out. */
#include "operator.h"

#include <stdlib.h>

static const struct gs_operator_methods *const methods_of[] = {
    [GS_OPERATOR_SELECT] = &gs_select_methods, [GS_OPERATOR_AGGREGATE] = &gs_aggregate_methods,
    [GS_OPERATOR_UNION] = &gs_union_methods,   [GS_OPERATOR_ORDER] = &gs_order_methods,
    [GS_OPERATOR_OUTPUT] = &gs_output_methods, [GS_OPERATOR_LIMIT] = &gs_limit_methods,
};

static gs_bound *bounds_new(uint32_t count)
{
    gs_bound *bounds = calloc(count + 1, sizeof *bounds);
    for (uint32_t c = 0; bounds != NULL && c < count; c++)
        bounds[c] = GS_BOUND_NONE;
    return bounds;
}

static bool ports_open(struct gs_operator_state *op, uint32_t count,
                       const struct gs_schema *const *inputs)
{
    op->port_count = count;
    op->input_bounds = calloc(count + 1, sizeof *op->input_bounds);
    op->port_columns = calloc(count + 1, sizeof *op->port_columns);
    if (op->input_bounds == NULL || op->port_columns == NULL) return false;
    for (uint32_t port = 0; port < count; port++) {
        op->port_columns[port] = inputs[port]->column_count;
        op->input_bounds[port] = bounds_new(inputs[port]->column_count);
        if (op->input_bounds[port] == NULL) return false;
    }
    return true;
}

static bool state_open(struct gs_operator_state *op, uint32_t port_count,
                       const struct gs_schema *const *inputs,
                       const struct gs_operator_settings *settings)
{
    uint32_t columns = op->node->schema->column_count;
    op->base.output = gs_batch_new(op->node->schema, settings->batch_rows);
    op->bounds = bounds_new(columns);
    op->next_bounds = bounds_new(columns);
    return gs_scratch_open(&op->scratch) && op->base.output != NULL && op->bounds != NULL &&
           op->next_bounds != NULL && ports_open(op, port_count, inputs);
}

int gs_operator_open(struct gs_operator_state **result, const struct gs_node *node, uint32_t index,
                     uint32_t port_count, const struct gs_schema *const *inputs,
                     const struct gs_operator_settings *settings, const struct gs_host *host,
                     void *const *handles, struct gs_error *error)
{
    const struct gs_operator_methods *methods = methods_of[node->operator_kind];
    struct gs_operator_state *op = calloc(1, methods->state_size);
    *result = op;
    if (op == NULL) return gs_fail(error, GS_ERROR, "no memory for operator %s", node->name);
    op->methods = methods;
    op->node = node;
    op->index = index;
    op->base.ops = node->ops;
    op->base.host = host;
    op->base.handles = handles;
    op->base.scratch = &op->scratch;
    op->base.hash_key = settings->hash_key;
    op->holder.memory = settings->memory;
    op->failed = settings->failed;
    if (!state_open(op, port_count, inputs, settings))
        return gs_fail(error, GS_ERROR, "no memory for operator %s", node->name);
    return methods->open != NULL ? methods->open(op, settings, error) : GS_OK;
}

void gs_operator_close(struct gs_operator_state *op)
{
    if (op == NULL) return;
    if (op->methods->close != NULL) op->methods->close(op);
    for (uint32_t port = 0; op->input_bounds != NULL && port < op->port_count; port++)
        free(op->input_bounds[port]);
    free(op->input_bounds);
    free(op->port_columns);
    free(op->bounds);
    free(op->next_bounds);
    gs_scratch_close(&op->scratch);
    free(op->stream.consumers);
    gs_batch_release(op->base.output);
    free(op);
}

bool gs_operator_raise(struct gs_operator_state *op)
{
    bool grew = false;
    for (uint32_t c = 0; c < op->node->schema->column_count; c++) {
        if (op->node->schema->fields[c].temporal == 0 || op->next_bounds[c] <= op->bounds[c])
            continue;
        op->bounds[c] = op->next_bounds[c];
        grew = true;
    }
    return grew;
}

bool gs_operator_ended(const struct gs_operator_state *op)
{
    return op->ended_ports == op->port_count;
}

void gs_operator_progress(struct gs_operator_state *op, const struct gs_batch *cause, bool is_end)
{
    bool grew = gs_operator_raise(op);
    if (*op->failed) return;
    op->base.output->is_end = is_end;
    if (grew || is_end || (cause != NULL && cause->is_heartbeat)) gs_operator_send(op, cause);
}

static void trace(struct gs_operator_state *op, const struct gs_batch *cause)
{
    struct gs_trace *to = &op->base.output->trace;
    *to = cause->trace;
    if (to->step_count == GS_TRACE_CAPACITY) return;
    struct gs_trace_step *step = &to->steps[to->step_count++];
    int64_t now = gs_monotonic_ns();
    step->node = op->index;
    step->received_ns = now;
    step->queue_length = (uint32_t)(op->methods->held != NULL ? op->methods->held(op) : 0);
    step->rows_in = op->base.counters.rows_in;
    step->rows_out = op->base.counters.rows_out;
    step->cost_ns = now - cause->made_at_ns;
}

void gs_operator_send(struct gs_operator_state *op, const struct gs_batch *cause)
{
    struct gs_batch *batch = op->base.output;
    if (*op->failed) return; /* the batch may be another's already */
    memcpy(batch->punctuation.bounds, op->bounds,
           op->node->schema->column_count * sizeof *op->bounds);
    batch->sequence = op->sequence++;
    batch->source = op->index;
    batch->made_at_ns = gs_monotonic_ns();
    batch->is_heartbeat = cause != NULL && cause->is_heartbeat;
    if (batch->is_heartbeat) trace(op, cause);
    op->base.counters.rows_out += batch->row_count;
    gs_stream_push(&op->stream, batch);
    struct gs_batch *renewed = gs_batch_renew(batch);
    if (renewed == NULL)
        *op->failed = true;
    else
        op->base.output = renewed;
}

void gs_operator_flush_output(struct gs_operator_state *op)
{
    if (op->base.output->row_count > 0) gs_operator_send(op, NULL);
}

bool gs_operator_room(struct gs_operator *base, const uint32_t *string_lengths)
{
    struct gs_operator_state *op = (struct gs_operator_state *)base;
    if (!gs_batch_takes(base->output, string_lengths)) gs_operator_send(op, NULL);
    if (*op->failed) return false;
    *op->failed = !gs_batch_reserve(base->output, string_lengths);
    return !*op->failed;
}

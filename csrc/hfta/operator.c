/* SPDX-License-Identifier: Apache-2.0 */
/* What all operators of the high level share: ports, bounds, the batch on its way out. */
#include "operator.h"

#include <stdlib.h>

#include "../base/clocks.h"
#include "carry.h"

/* An operator is its file and its line here. */
#define OPERATORS(DO)                                                                              \
    DO(aggregate)                                                                                  \
    DO(host_map)                                                                                   \
    DO(join)                                                                                       \
    DO(limit)                                                                                      \
    DO(merge)                                                                                      \
    DO(order)                                                                                      \
    DO(output)                                                                                     \
    DO(running)                                                                                    \
    DO(sample)                                                                                     \
    DO(select)                                                                                     \
    DO(slide)                                                                                      \
    DO(slide_rows)                                                                                 \
    DO(sort)                                                                                       \
    DO(union)
#define DECLARE(name) extern const struct gs_operator_methods gs_##name##_methods;
#define ADDRESS(name) &gs_##name##_methods,

OPERATORS(DECLARE)
static const struct gs_operator_methods *const all_methods[] = {OPERATORS(ADDRESS)};

/* NULL where the engine has none of that name. */
static const struct gs_operator_methods *methods_of(const char *kind)
{
    for (size_t i = 0; i < sizeof all_methods / sizeof *all_methods; i++)
        if (strcmp(all_methods[i]->name, kind) == 0) return all_methods[i];
    return NULL;
}

static bool ports_open(struct gs_operator_state *op, uint32_t count,
                       const struct gs_schema *const *inputs)
{
    op->port_count = count;
    op->inputs = calloc(count + 1, sizeof *op->inputs);
    op->sources = calloc(count + 1, sizeof *op->sources);
    op->port_columns = calloc(count + 1, sizeof *op->port_columns);
    if (op->inputs == NULL || op->sources == NULL || op->port_columns == NULL) return false;
    for (uint32_t port = 0; port < count; port++) {
        op->port_columns[port] = inputs[port]->column_count;
        if (!gs_punctuation_open(&op->inputs[port], inputs[port]->column_count)) return false;
    }
    return true;
}

static bool state_open(struct gs_operator_state *op, uint32_t port_count,
                       const struct gs_schema *const *inputs,
                       const struct gs_operator_settings *settings)
{
    uint32_t columns = op->node->schema->column_count;
    op->base.output =
        gs_batch_new(op->node->schema, gs_batch_rows(op->node->schema, settings->batch_rows));
    op->carried = calloc(columns + GS_TEMPORAL_MAX, sizeof *op->carried);
    return gs_scratch_open(&op->scratch) && op->base.output != NULL && op->carried != NULL &&
           gs_punctuation_open(&op->given, columns) && gs_punctuation_open(&op->next, columns) &&
           ports_open(op, port_count, inputs) && gs_missing_open(op, port_count);
}

int gs_operator_open(struct gs_operator_state **result, const struct gs_node *node, uint32_t index,
                     uint32_t port_count, const struct gs_schema *const *inputs,
                     const struct gs_operator_settings *settings, const struct gs_host *host,
                     void *const *handles, struct gs_error *error)
{
    const struct gs_operator_ops *ops = node->ops;
    const struct gs_operator_methods *methods = methods_of(ops->kind);
    *result = NULL;
    if (methods == NULL) return gs_fail(error, GS_ERROR, "no operator %s", ops->kind);
    struct gs_operator_state *op = calloc(1, methods->state_size);
    *result = op;
    if (op == NULL) return gs_fail(error, GS_ERROR, "no memory for operator %s", node->name);
    op->methods = methods;
    op->cut.kind = methods->cut_kind;
    op->node = node;
    op->index = index;
    op->base.ops = ops;
    op->base.host = host;
    op->base.handles = handles;
    op->base.scratch = &op->scratch;
    op->base.hash_key = settings->hash_key;
    op->holder.memory = settings->memory;
    op->failed = settings->failed;
    op->is_part = settings->is_part;
    op->shows_heartbeats = &settings->outputs->shows_heartbeats;
    op->stream.maker = op;
    op->stream.ask = gs_operator_ask;
    if (!state_open(op, port_count, inputs, settings))
        return gs_fail(error, GS_ERROR, "no memory for operator %s", node->name);
    return methods->open != NULL ? methods->open(op, settings, error) : GS_OK;
}

void gs_operator_close(struct gs_operator_state *op)
{
    if (op == NULL) return;
    if (op->methods->close != NULL) op->methods->close(op);
    for (uint32_t port = 0; op->inputs != NULL && port < op->port_count; port++)
        gs_punctuation_close(&op->inputs[port]);
    free(op->inputs);
    free(op->sources);
    free(op->port_columns);
    gs_missing_close(op);
    gs_cut_close(op);
    gs_punctuation_close(&op->given);
    gs_punctuation_close(&op->next);
    free(op->carried);
    gs_scratch_close(&op->scratch);
    free(op->stream.consumers);
    gs_batch_release(op->base.output);
    free(op);
}

static void receive_heartbeat(struct gs_operator_state *op)
{
    op->received_ns = gs_monotonic_ns();
    op->away_ns = 0;
    op->queue_length = op->base.output->row_count;
}

void gs_operator_take(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    struct gs_stage_span span = gs_stages_enter(op->stages);
    if (batch->is_heartbeat && *op->shows_heartbeats) receive_heartbeat(op);
    gs_cut_take(op, batch);
    gs_missing_take(op, port, batch);
    if (batch->row_count > 0) op->methods->on_batch(op, port, batch);
    op->ended_ports += batch->is_end;
    bool grew =
        gs_punctuation_raise(&op->inputs[port], &batch->punctuation, op->port_columns[port]);
    if (grew || batch->row_count == 0 || batch->is_heartbeat || batch->is_end)
        op->methods->on_punctuation(op, port, batch);
    op->received_ns = 0;
    gs_stages_leave(op->stages, GS_STAGE_HIGH, span);
}

void gs_operator_ask(void *maker, uint32_t column, gs_bound value)
{
    struct gs_operator_state *op = maker;
    if (op->given.bounds[column] < value) op->methods->on_request(op, column, value);
}

void gs_operator_ask_input(const struct gs_operator_state *op, uint32_t port, uint32_t column,
                           gs_bound value)
{
    if (op->inputs[port].bounds[column] < value && value != GS_BOUND_END)
        gs_stream_ask(op->sources[port], column, value);
}

void gs_operator_ask_through(struct gs_operator_state *op, gs_carry_function carry, uint32_t at,
                             gs_bound value)
{
    for (uint32_t c = 0; c < op->port_columns[0]; c++)
        gs_operator_ask_input(op, 0, c,
                              gs_carry_back(carry, &op->inputs[0], c, at, value, op->carried));
}

void gs_operator_ask_same(struct gs_operator_state *op, uint32_t column, gs_bound value)
{
    for (uint32_t port = 0; port < op->port_count; port++)
        gs_operator_ask_input(op, port, column, value);
}

bool gs_operator_raise(struct gs_operator_state *op)
{
    const struct gs_schema *schema = op->node->schema;
    struct gs_joint_bound *joint = &op->next.joint;
    for (uint32_t c = 0; c < schema->column_count; c++)
        if (schema->fields[c].temporal == 0) op->next.bounds[c] = GS_BOUND_NONE;
    joint->is_given = joint->is_given && schema->fields[joint->columns[0]].temporal != 0 &&
                      schema->fields[joint->columns[1]].temporal != 0;
    return gs_punctuation_raise(&op->given, &op->next, schema->column_count);
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
    if (op->base.output->row_count == 0) op->base.output->is_partial = false; /* of none so far */
    if (grew || is_end || (cause != NULL && cause->is_heartbeat))
        gs_operator_send(op, cause);
    else
        gs_missing_review(op);
}

static void trace(struct gs_operator_state *op, const struct gs_batch *cause)
{
    struct gs_trace *to = &op->base.output->trace;
    *to = cause->trace;
    if (to->step_count == GS_TRACE_CAPACITY) return;
    to->steps[to->step_count++] = (struct gs_trace_step){
        .origin = op->index,
        .queue_length = op->queue_length,
        .received_ns = op->received_ns,
        .rows_in = op->base.counters.rows_in,
        .rows_out = op->base.counters.rows_out,
        .held = op->methods->held != NULL ? op->methods->held(op) : 0,
        .cost_ns = op->base.output->made_at_ns - op->received_ns - op->away_ns,
    };
}

/* What consumers take of the time while a heartbeat is on its way is theirs. */
static void push(struct gs_operator_state *op, struct gs_batch *batch, int64_t began_ns)
{
    gs_stream_push(&op->stream, batch);
    if (op->received_ns != 0) op->away_ns += gs_monotonic_ns() - began_ns;
}

void gs_operator_send(struct gs_operator_state *op, const struct gs_batch *cause)
{
    struct gs_batch *batch = op->base.output;
    if (*op->failed) return; /* the batch may be another's already */
    gs_punctuation_copy(&batch->punctuation, &op->given, op->node->schema->column_count);
    batch->sequence = op->sequence++;
    batch->source = op->index;
    bool is_shown = batch->row_count > 0 || *op->shows_heartbeats;
    batch->made_at_ns = is_shown ? gs_monotonic_ns() : 0;
    gs_missing_mark(op, batch);
    batch->is_heartbeat = cause != NULL && cause->is_heartbeat;
    op->base.counters.rows_out += batch->row_count;
    batch->trace.step_count = 0;
    if (batch->is_heartbeat && op->received_ns != 0) trace(op, cause);
    push(op, batch, batch->made_at_ns);
    struct gs_batch *renewed = gs_batch_renew(batch);
    if (renewed == NULL)
        *op->failed = true;
    else
        op->base.output = renewed;
}

void gs_operator_pass(struct gs_operator_state *op, struct gs_batch *batch, uint32_t row_count)
{
    struct gs_batch *view = gs_batch_view(batch, op->node->schema);
    if (view == NULL) {
        *op->failed = true;
        return;
    }
    gs_punctuation_copy(&view->punctuation, &op->given, op->node->schema->column_count);
    view->row_count = row_count;
    view->sequence = op->sequence++;
    view->is_heartbeat = view->is_end = false;
    gs_missing_mark(op, view);
    op->base.counters.rows_out += row_count;
    push(op, view, op->received_ns != 0 ? gs_monotonic_ns() : 0);
    gs_batch_release(view);
}

void gs_operator_flush_output(struct gs_operator_state *op)
{
    if (op->base.output->row_count > 0) gs_operator_send(op, NULL);
}

void gs_operator_tell_partial(struct gs_operator_state *op)
{
    gs_operator_flush_output(op);
    if (!*op->failed) op->base.output->is_partial = true;
    gs_operator_send(op, NULL);
}

void gs_operator_mark(struct gs_operator *base, bool is_partial)
{
    struct gs_operator_state *op = (struct gs_operator_state *)base;
    if (base->output->is_partial == is_partial) return;
    gs_operator_flush_output(op);
    if (!*op->failed) base->output->is_partial = is_partial;
}

bool gs_operator_room(struct gs_operator *base, const uint32_t *string_lengths)
{
    struct gs_operator_state *op = (struct gs_operator_state *)base;
    if (!gs_batch_takes(base->output, string_lengths)) {
        bool is_partial = base->output->is_partial; /* that of the row to come */
        gs_operator_send(op, NULL);
        if (!*op->failed) base->output->is_partial = is_partial;
    }
    if (*op->failed) return false;
    *op->failed = !gs_batch_reserve(base->output, string_lengths);
    return !*op->failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The high level alone: batches of LFTAs that ran elsewhere come in where the LFTAs would stand. */
#include "../base/clocks.h"
#include "attached_set.h"

static int batch_of(const struct gs_push *push, const struct gs_schema *schema,
                    struct gs_batch **batch, struct gs_error *error)
{
    if (push->array != NULL)
        return gs_batch_import_as(push->array, push->schema, schema, batch, error);
    *batch = gs_batch_new(schema, 0);
    return *batch != NULL ? GS_OK : gs_fail(error, GS_ERROR, "no memory for a batch");
}

/* The bounds of columns that are not temporal say nothing, whatever they are. */
static void punctuate(struct gs_batch *batch, const struct gs_push *push)
{
    for (uint32_t c = 0; c < batch->schema->column_count; c++)
        if (batch->schema->fields[c].temporal != 0)
            batch->punctuation.bounds[c] = push->is_end ? GS_BOUND_END : push->bounds[c];
    batch->punctuation.joint = push->joint;
}

static int check_joint(const struct gs_joint_bound *joint, const struct gs_schema *schema,
                       struct gs_error *error)
{
    if (!joint->is_given) return GS_OK;
    if (joint->columns[0] >= joint->columns[1] || joint->columns[1] >= schema->column_count ||
        schema->fields[joint->columns[0]].temporal == 0 ||
        schema->fields[joint->columns[1]].temporal == 0)
        return gs_fail(error, GS_ERROR, "a joint bound is of two temporal columns in their order");
    return GS_OK;
}

static int check(const struct gs_attached_set *set, uint32_t port, struct gs_error *error)
{
    if (!set->settings.high_level_only)
        return gs_fail(error, GS_ERROR, "batches are pushed where there is no low level");
    if (port >= set->graph.port_count) return gs_fail(error, GS_ERROR, "there is no port %u", port);
    if (set->graph.ports[port].is_ended)
        return gs_fail(error, GS_ERROR, "a stream that goes on after its end");
    return GS_OK;
}

static void enter(struct gs_attached_set *set, uint32_t at, struct gs_batch *batch)
{
    struct gs_port *port = &set->graph.ports[at];
    batch->source = set->query_set->node_count + at;
    if (batch->trace.step_count > 0) batch->trace.steps[0].origin = batch->source;
    batch->sequence = port->sequence++;
    if (batch->missing != 0) batch->missing = gs_missing_bit(port->interface);
    if (batch->still_missing != 0) batch->still_missing = gs_missing_bit(port->interface);
    port->is_ended = batch->is_end;
    (void)gs_wanted_forget(&port->wanted); /* who wants more asks again */
    gs_stream_push(&port->stream, batch);
}

static int refuse(const struct gs_push *push, int status)
{
    if (push->array == NULL) return status;
    push->array->release(push->array);
    push->schema->release(push->schema);
    return status;
}

int gs_attached_push(struct gs_attached_set *set, const struct gs_push *push,
                     struct gs_error *error)
{
    int status = check(set, push->port, error);
    if (status != GS_OK) return refuse(push, status);
    const struct gs_port *port = &set->graph.ports[push->port];
    const struct gs_schema *schema = set->query_set->nodes[port->node].schema;
    struct gs_batch *batch;
    status = check_joint(&push->joint, schema, error);
    if (status != GS_OK) return refuse(push, status);
    GS_RETURN_IF_ERROR(batch_of(push, schema, &batch, error));
    punctuate(batch, push);
    batch->made_at_ns = gs_monotonic_ns();
    batch->is_heartbeat = push->is_heartbeat;
    batch->is_end = push->is_end;
    batch->missing = batch->still_missing = push->is_missing;
    batch->trace.trace_id = push->is_heartbeat ? port->sequence + 1 : 0;
    enter(set, push->port, batch);
    gs_batch_release(batch);
    return GS_OK;
}

int gs_attached_hand_over(struct gs_attached_set *set, uint32_t port, struct gs_batch *batch,
                          struct gs_error *error)
{
    GS_RETURN_IF_ERROR(check(set, port, error));
    if (batch->schema != set->query_set->nodes[set->graph.ports[port].node].schema)
        return gs_fail(error, GS_ERROR, "a batch of another stream");
    enter(set, port, batch);
    return GS_OK;
}

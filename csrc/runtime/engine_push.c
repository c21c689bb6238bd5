/* SPDX-License-Identifier: Apache-2.0 */
/* The high level alone: batches of LFTAs that ran elsewhere come in where the LFTAs would stand. */
#include "engine_state.h"

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
}

static int check(const struct gs_engine *engine, const struct gs_push *push, struct gs_error *error)
{
    if (!engine->settings.high_level_only)
        return gs_fail(error, GS_ERROR, "batches are pushed where there is no low level");
    if (push->port >= engine->graph.port_count)
        return gs_fail(error, GS_ERROR, "there is no port %u", push->port);
    if (engine->graph.ports[push->port].is_ended)
        return gs_fail(error, GS_ERROR, "a stream that goes on after its end");
    return GS_OK;
}

static int refuse(const struct gs_push *push, int status)
{
    if (push->array == NULL) return status;
    push->array->release(push->array);
    push->schema->release(push->schema);
    return status;
}

int gs_engine_push(struct gs_engine *engine, const struct gs_push *push, struct gs_error *error)
{
    int status = check(engine, push, error);
    if (status != GS_OK) return refuse(push, status);
    struct gs_port *port = &engine->graph.ports[push->port];
    struct gs_batch *batch;
    GS_RETURN_IF_ERROR(batch_of(push, engine->query_set->nodes[port->node].schema, &batch, error));
    punctuate(batch, push);
    batch->source = push->port;
    batch->sequence = port->sequence++;
    batch->made_at_ns = gs_monotonic_ns();
    batch->is_heartbeat = push->is_heartbeat;
    batch->is_end = port->is_ended = push->is_end;
    batch->trace.trace_id = push->is_heartbeat ? port->sequence : 0;
    gs_stream_push(&port->stream, batch);
    gs_batch_release(batch);
    return GS_OK;
}

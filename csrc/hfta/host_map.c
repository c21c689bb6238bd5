/* SPDX-License-Identifier: Apache-2.0 */
/* The host makes more columns of a batch: its functions run there, and C knows none of them. Rows
 * stay what they are, in their order, so that all that is promised of them passes as it is. */
#include "../base/shared_object.h"
#include "operator.h"

struct host_map_state {
    struct gs_operator_state op;
    struct gs_shared_object *object; /* that the rows' schema is in: the host may keep them */
    struct gs_error *failure;
    gs_host_map_function *map;
    void *context;
};

/* NULL: the failure says what was wrong with the rows, or the host why it has none. */
static struct gs_batch *mapped(struct gs_operator_state *op, struct gs_batch *batch)
{
    const struct host_map_state *state = (const struct host_map_state *)op;
    struct ArrowArray array;
    struct ArrowSchema schema;
    struct gs_batch *made = NULL;
    if (batch->object == NULL) batch->object = gs_shared_object_retain(state->object);
    if (state->map(state->context, op->index, batch, &array, &schema) != GS_OK) return NULL;
    if (gs_batch_import_as(&array, &schema, op->node->schema, &made, state->failure) != GS_OK)
        return NULL;
    if (made->row_count == batch->row_count) return made;
    gs_fail(state->failure, GS_ERROR, "functions in Python gave %u rows for %u", made->row_count,
            batch->row_count);
    gs_batch_release(made);
    return NULL;
}

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)port;
    op->base.counters.rows_in += batch->row_count;
    struct gs_batch *made = mapped(op, batch);
    if (made == NULL) {
        *op->failed = true;
        return;
    }
    made->is_partial = batch->is_partial;
    made->source = op->index;
    made->made_at_ns = batch->made_at_ns;
    gs_operator_pass(op, made, made->row_count);
    gs_batch_release(made);
}

static void on_punctuation(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch)
{
    gs_punctuation_copy(&op->next, &op->inputs[port], op->port_columns[port]);
    gs_operator_progress(op, batch, gs_operator_ended(op));
}

/* The host's columns are never temporal: what is asked for is one of the input's. */
static int open_host_map(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                         struct gs_error *error)
{
    struct host_map_state *state = (struct host_map_state *)op;
    state->failure = settings->failure;
    state->map = settings->host_map;
    state->context = settings->host_context;
    state->object = settings->object;
    if (state->map != NULL) return GS_OK;
    return gs_fail(error, GS_ERROR, "%s has functions that nobody here can run", op->node->name);
}

/* What a gap reaches to in the input's columns it reaches to in the same of the output. */
static void extend(struct gs_operator_state *op, uint32_t port, struct gs_punctuation *last,
                   struct gs_extent *extent)
{
    memcpy(extent->columns, last->bounds, op->port_columns[port] * sizeof *extent->columns);
}

const struct gs_operator_methods gs_host_map_methods = {
    .name = "host_map",
    .state_size = sizeof(struct host_map_state),
    .open = open_host_map,
    .on_batch = on_batch,
    .on_punctuation = on_punctuation,
    .on_request = gs_operator_ask_same,
    .extend = extend,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "ordered.h"

#include "least.h"

#define PORT_SHIFT 48 /* of a row's place: below it 2^48 arrivals */

int gs_ordered_open(struct gs_ordered *state, uint32_t column,
                    void (*copy)(struct gs_operator *, const struct gs_batch *, uint32_t),
                    const struct gs_operator_settings *settings, struct gs_error *error)
{
    state->copy = copy;
    state->max_rows = settings->max_rows;
    state->limit = state->promised = GS_BOUND_NONE;
    if (gs_row_runs_open(&state->runs, state->op.node->schema, column, &state->op.holder))
        return GS_OK;
    return gs_fail(error, GS_ERROR, "no memory for operator %s", state->op.node->name);
}

void gs_ordered_close(struct gs_operator_state *op)
{
    gs_row_runs_close(&((struct gs_ordered *)op)->runs);
}

uint64_t gs_ordered_held(const struct gs_operator_state *op)
{
    return ((const struct gs_ordered *)op)->runs.store.count;
}

bool gs_ordered_key(struct gs_ordered *state, const struct gs_batch *batch, uint32_t row,
                    gs_bound *key)
{
    uint32_t column = state->runs.key_column;
    *key = gs_row_bound(batch, column, row);
    if (gs_row_has_time(batch, column, row)) return true;
    state->op.base.counters.no_value++;
    return false;
}

void gs_ordered_hold(struct gs_ordered *state, uint32_t port, const struct gs_batch *batch,
                     uint32_t row, gs_bound key)
{
    uint64_t place = ((uint64_t)port << PORT_SHIFT) | state->arrivals++;
    gs_ordered_hold_at(state, batch, row, key, place);
}

void gs_ordered_hold_at(struct gs_ordered *state, const struct gs_batch *batch, uint32_t row,
                        gs_bound key, uint64_t place)
{
    bool has_room = state->runs.store.count < state->max_rows;
    if (has_room && gs_row_runs_add(&state->runs, batch, row, key, place)) return;
    state->op.base.counters.rows_refused++;
    state->op.refused_for_memory += has_room;
}

/* The least of what the inputs promise and what is held; a joint bound waits until no row that is
 * held is below it. */
static void promise(struct gs_ordered *state)
{
    struct gs_operator_state *op = &state->op;
    const struct gs_row_runs *runs = &state->runs;
    gs_bound *next = op->next.bounds;
    gs_least_of_inputs(op);
    next[runs->key_column] = state->promised;
    for (uint32_t c = 0; c < op->node->schema->column_count; c++) {
        if (op->node->schema->fields[c].temporal == 0) continue;
        gs_bound held = gs_row_runs_least(runs, c);
        if (held < next[c]) next[c] = held;
    }
    if (op->next.joint.is_given && gs_row_runs_has_below(runs, &op->next.joint))
        op->next.joint.is_given = false;
}

void gs_ordered_progress(struct gs_ordered *state, const struct gs_batch *cause)
{
    promise(state);
    state->has_news = false;
    state->has_ended = gs_operator_ended(&state->op) && state->runs.store.count == 0;
    gs_operator_progress(&state->op, cause, state->has_ended);
}

static const struct gs_held_row *due_row(const struct gs_ordered *state)
{
    const struct gs_held_row *row = gs_row_runs_first(&state->runs);
    if (row == NULL || gs_operator_ended(&state->op)) return row;
    return state->limit != GS_BOUND_NONE && row->key <= state->limit ? row : NULL;
}

/* The output may be another batch afterwards. */
static void put_out(struct gs_ordered *state, const struct gs_held_row *row)
{
    struct gs_operator_state *op = &state->op;
    if (op->base.output->is_partial != row->is_partial) gs_operator_flush_output(op);
    state->copy(&op->base, row->chunk->batch, row->row);
    op->base.output->is_partial = row->is_partial;
    gs_row_runs_remove_first(&state->runs);
}

bool gs_ordered_step(struct gs_operator_state *op)
{
    struct gs_ordered *state = (struct gs_ordered *)op;
    const struct gs_held_row *row = due_row(state);
    if (state->has_ended || (row == NULL && !state->has_news)) return false;
    uint32_t budget = op->base.output->row_capacity;
    for (; row != NULL && budget > 0 && !*op->failed; row = due_row(state), budget--)
        put_out(state, row);
    gs_row_runs_tidy(&state->runs);
    gs_ordered_progress(state, NULL);
    gs_operator_flush_output(op);
    return row != NULL;
}

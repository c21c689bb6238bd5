/* SPDX-License-Identifier: Apache-2.0 */
/* Join (Li et al., VLDB 2008, Figure 4, as OPERATORS section 4 has it): a row meets those of the
 * other side that are held, and is held itself until punctuation of the other side says that
 * nothing is still to come that it could match. A kept side's row that never matched goes out
 * alone then, a batch a step, before the punctuation that covers it. Generated code meets rows;
 * here is what is held, and when it leaves. */
#include "join.h"

static void leave(struct join_state *state, uint32_t side, uint32_t pair, uint32_t *budget)
{
    const struct gs_join_row *row = gs_join_rows_least(&state->rows[side], pair)->row;
    if (gs_join_ops_of(state)->keeps[side] && !row->is_matched) {
        gs_join_ops_of(state)->alone(&state->op.base, side, row);
        --*budget;
    }
    gs_join_rows_take(&state->rows[side], pair);
}

/* Of a kept side at most so many rows go out; true where all that was due has left. */
static bool purge(struct join_state *state, uint32_t side, uint32_t *budget)
{
    uint64_t sequence = state->op.sequence;
    for (uint32_t pair = 0; pair < state->rows[side].pair_count; pair++)
        while (gs_join_is_due(state, side, pair)) {
            if (*budget == 0 || state->op.sequence != sequence || *state->op.failed) return false;
            leave(state, side, pair, budget);
        }
    return true;
}

static uint64_t held(const struct gs_operator_state *op)
{
    const struct join_state *state = (const struct join_state *)op;
    return state->rows[0].count + state->rows[1].count;
}

static void progress(struct join_state *state, const struct gs_batch *cause)
{
    for (uint32_t side = 0; side < 2; side++)
        gs_join_rows_fit(&state->rows[side]);
    gs_join_promise(state);
    gs_operator_progress(&state->op, cause, gs_operator_ended(&state->op) && held(&state->op) == 0);
}

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    op->base.counters.rows_in += batch->row_count;
    gs_join_ops_of((struct join_state *)op)->rows[port](&op->base, batch);
}

/* A side whose rows come with a match alone has nothing to put out when they leave. */
static void on_punctuation(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch)
{
    struct join_state *state = (struct join_state *)op;
    uint32_t other = 1 - port, no_limit = UINT32_MAX;
    state->has_ended[port] |= batch->is_end;
    gs_join_take_promise(state, port);
    gs_join_rows_expect(&state->rows[other]);
    if (!gs_join_ops_of(state)->keeps[other]) purge(state, other, &no_limit);
    progress(state, batch);
}

static bool has_due(struct join_state *state)
{
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t pair = 0; pair < state->rows[side].pair_count; pair++)
            if (gs_join_is_due(state, side, pair)) return true;
    return false;
}

static bool step(struct gs_operator_state *op)
{
    struct join_state *state = (struct join_state *)op;
    if (!has_due(state)) return false;
    uint32_t budget = op->base.output->row_capacity;
    bool is_done = purge(state, 0, &budget) && purge(state, 1, &budget);
    progress(state, NULL);
    gs_operator_flush_output(op);
    return !is_done;
}

/* ---- the host's part ---- */

const struct gs_join_side *gs_join_side(struct gs_operator *base, uint32_t side)
{
    return &((struct join_state *)base)->rows[side].side;
}

struct gs_join_row *gs_join_admit(struct gs_operator *base, uint32_t side,
                                  const struct gs_join_row *row, uint64_t bytes)
{
    struct join_state *state = (struct join_state *)base;
    bool by_count = held(&state->op) >= state->max_rows;
    struct gs_join_row *admitted =
        by_count ? NULL : gs_join_rows_admit(&state->rows[side], gs_join_values(row), bytes);
    if (admitted != NULL) return admitted;
    base->counters.rows_refused++;
    state->op.refused_for_memory += !by_count;
    return NULL;
}

void gs_join_keep(struct gs_operator *base, uint32_t side, struct gs_join_row *row)
{
    gs_join_rows_keep(&((struct join_state *)base)->rows[side], row);
}

static bool side_open(struct join_state *state, uint32_t side)
{
    const struct gs_join_ops *ops = gs_join_ops_of(state);
    for (uint32_t pair = 0; pair < ops->pair_count; pair++)
        state->times[side][pair] = GS_BOUND_NONE;
    return gs_join_rows_open(&state->rows[side], ops->pair_count, ops->value_counts[side],
                             &state->op.holder) &&
           gs_punctuation_open(&state->alone[side], state->op.port_columns[side]);
}

static int open_join(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                     struct gs_error *error)
{
    struct join_state *state = (struct join_state *)op;
    uint64_t of_query = gs_join_ops_of(state)->max_rows;
    state->max_rows = of_query < settings->max_rows ? of_query : settings->max_rows;
    if (side_open(state, 0) && side_open(state, 1)) return GS_OK;
    return gs_fail(error, GS_ERROR, "no memory for operator %s", op->node->name);
}

static void close_join(struct gs_operator_state *op)
{
    struct join_state *state = (struct join_state *)op;
    for (uint32_t side = 0; side < 2; side++) {
        gs_join_rows_close(&state->rows[side]);
        gs_punctuation_close(&state->alone[side]);
    }
}

const struct gs_operator_methods gs_join_methods = {
    .name = "join",
    .state_size = sizeof(struct join_state),
    .cut_kind = GS_CUT_JOINS,
    .open = open_join,
    .on_batch = on_batch,
    .on_punctuation = on_punctuation,
    .on_request = gs_join_on_request,
    .on_idle = gs_join_on_idle,
    .extend = gs_join_extend,
    .reach = gs_join_reach,
    .step = step,
    .held = held,
    .close = close_join,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* ORDER BY … LIMIT: rows are held by window and leave in order when a bound has passed it. */
#include "gs_bounds.h"
#include "order_rows.h"
#include "window_operator.h"

struct order_window {
    struct gs_window window; /* first */
    struct gs_order_rows rows;
    uint32_t cursor; /* rows before it have left */
    bool is_sorted;
};

struct order_state {
    struct gs_window_operator shared; /* first */
    struct gs_row_order order;
    uint64_t held, max_rows;
};

static const struct gs_order_ops *ops_of(const struct order_state *state)
{
    return (const struct gs_order_ops *)state->shared.op.base.ops;
}

/* ---- windows of rows ---- */

static struct gs_window *window_admit(void *owner, const gs_bound *values)
{
    struct gs_window_operator *op = owner;
    const size_t size = sizeof(struct order_window);
    uint64_t bytes = gs_windows_bytes(&op->windows, size);
    if (!gs_hold(&op->op.holder, bytes)) return NULL;
    struct gs_window *window = gs_windows_add(&op->windows, values, size);
    if (window == NULL) gs_let_go(&op->op.holder, bytes);
    return window;
}

/* Of a window that there is none of, because it had no room: one that is made later lacks the row.
 */
static void mark(struct order_state *state, struct order_window *window, const gs_bound *values)
{
    if (window != NULL)
        window->window.is_partial = true;
    else
        gs_windows_refuse(&state->shared.windows, values);
}

static void refuse_for_memory(struct order_state *state)
{
    state->shared.op.base.counters.groups_refused++;
    state->shared.op.refused_for_memory++;
}

/* Rows that were held until now. */
static void cut(struct order_state *state, uint32_t count)
{
    state->held -= count;
    state->shared.op.base.counters.beyond_limit += count;
}

/* Whether the window has only the rows that LIMIT will let out: it does from when no more may be
 * held, or when most of what it holds would be cut. */
static bool is_full(struct order_state *state, struct order_window *window)
{
    const struct gs_row_order *order = &state->order;
    struct gs_order_rows *rows = &window->rows;
    if (rows->is_full) return true;
    if (order->compare_groups != NULL) {
        if (gs_order_rows_should_cut(rows, state->held >= state->max_rows))
            cut(state, gs_order_rows_cut(rows, order));
        return false;
    }
    bool has_reached = state->held >= state->max_rows && rows->count >= order->limit;
    if (!has_reached && !gs_order_rows_is_ample(rows, order->limit)) return false;
    cut(state, gs_order_rows_fill(rows, order));
    return true;
}

/* To a window that is full: the row, or the worst of those that it has, is cut. */
static bool hold_better(struct order_state *state, struct order_window *window,
                        const struct gs_batch *batch, uint32_t row)
{
    bool has_room = !gs_order_rows_is_better(&window->rows, &state->order, batch, row) ||
                    gs_order_rows_replace(&window->rows, &state->order, batch, row);
    if (has_room)
        state->shared.op.base.counters.beyond_limit++;
    else
        refuse_for_memory(state);
    return has_room;
}

/* False, and counted, where there is no room for the row, or for its window. */
static bool hold_in(struct order_state *state, struct order_window *window,
                    const struct gs_batch *batch, uint32_t row)
{
    if (window != NULL && is_full(state, window)) return hold_better(state, window, batch, row);
    if (state->held >= state->max_rows) {
        state->shared.op.base.counters.rows_refused++;
        return false;
    }
    if (window == NULL || !gs_order_rows_add(&window->rows, &state->shared.op.holder, batch, row)) {
        refuse_for_memory(state);
        return false;
    }
    state->held++;
    return true;
}

static void hold(struct order_state *state, struct gs_batch *batch, uint32_t row)
{
    gs_bound values[GS_TEMPORAL_MAX];
    for (uint32_t k = 0; k < state->shared.windows.value_count; k++)
        values[k] = gs_row_bound(batch, ops_of(state)->temporal_columns[k], row);
    if (gs_window_operator_is_late(&state->shared, values)) return;
    struct gs_window *met = gs_window_operator_meet(&state->shared, values);
    struct order_window *window = (struct order_window *)met;
    if (!hold_in(state, window, batch, row))
        mark(state, window, values);
    else
        window->window.is_partial |= batch->is_partial;
}

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)port;
    op->base.counters.rows_in += batch->row_count;
    for (uint32_t row = 0; row < batch->row_count; row++)
        hold((struct order_state *)op, batch, row);
}

/* ---- progress ---- */

/* Which of the window's values a column is; their number where it is none. */
static uint32_t value_of_column(const struct gs_order_ops *ops, uint32_t column)
{
    uint32_t k = 0;
    while (k < ops->temporal_count && ops->temporal_columns[k] != column)
        k++;
    return k;
}

static void promise_windows(struct gs_window_operator *op, uint32_t port,
                            struct gs_punctuation *values)
{
    const struct gs_order_ops *ops = ops_of((struct order_state *)op);
    const struct gs_punctuation *input = &op->op.inputs[port];
    const struct gs_joint_bound *joint = &input->joint;
    for (uint32_t k = 0; k < ops->temporal_count; k++)
        values->bounds[k] = input->bounds[ops->temporal_columns[k]];
    if (!joint->is_given) return;
    uint32_t a = value_of_column(ops, joint->columns[0]);
    uint32_t b = value_of_column(ops, joint->columns[1]);
    if (a < ops->temporal_count && b < ops->temporal_count)
        values->joint = gs_joint_bound(a, joint->bounds[0], b, joint->bounds[1]);
}

/* A stream ends in all of its columns: where some go on, one at its end is beyond all bounds, and
 * only shown beside a window, which closes by its own time. */
static void extend(struct gs_window_operator *op, struct gs_punctuation *last,
                   struct gs_extent *extent)
{
    const struct gs_order_ops *ops = ops_of((struct order_state *)op);
    gs_bound least = GS_BOUND_END;
    for (uint32_t k = 0; k < ops->temporal_count; k++) {
        extent->own[k] = last->bounds[ops->temporal_columns[k]];
        least = gs_bound_min(least, extent->own[k]);
    }
    for (uint32_t k = 0; least != GS_BOUND_END && k < ops->temporal_count; k++)
        if (extent->own[k] == GS_BOUND_END) extent->own[k] = GS_BOUND_NONE;
    memcpy(extent->columns, last->bounds, op->op.node->schema->column_count * sizeof(gs_bound));
}

static void ask(struct gs_window_operator *op, uint32_t k, gs_bound value)
{
    const struct gs_order_ops *ops = ops_of((struct order_state *)op);
    gs_operator_ask_input(&op->op, 0, ops->temporal_columns[k], value);
}

/* A joint bound of other columns than the windows' waits until nothing is held. */
static struct gs_joint_bound joint_after_windows(const struct order_state *state,
                                                 const struct gs_punctuation *windows)
{
    const struct gs_order_ops *ops = ops_of(state);
    const struct gs_joint_bound *out = &windows->joint, *input = &state->shared.op.inputs[0].joint;
    struct gs_joint_bound joint = {0};
    if (out->is_given)
        joint = gs_joint_bound(ops->temporal_columns[out->columns[0]], out->bounds[0],
                               ops->temporal_columns[out->columns[1]], out->bounds[1]);
    else if (state->shared.windows.count == 0)
        joint = *input;
    joint.is_given =
        joint.is_given && joint.columns[1] < state->shared.op.node->schema->column_count;
    return joint;
}

/* Output bounds are the input's, of the columns that it keeps, lowered to the windows that are
 * still held. */
static void promise_output(struct gs_window_operator *windowed, struct gs_punctuation *values)
{
    const struct order_state *state = (struct order_state *)windowed;
    const struct gs_order_ops *ops = ops_of(state);
    struct gs_operator_state *op = &windowed->op;
    uint32_t columns = op->node->schema->column_count;
    memcpy(op->next.bounds, op->inputs[0].bounds, columns * sizeof(gs_bound));
    for (uint32_t k = 0; k < ops->temporal_count; k++)
        if (ops->temporal_columns[k] < columns)
            op->next.bounds[ops->temporal_columns[k]] = values->bounds[k];
    op->next.joint = joint_after_windows(state, values);
}

static void window_clear(struct gs_window_operator *op, struct gs_window *base)
{
    struct order_window *window = (struct order_window *)base;
    gs_order_rows_close(&window->rows, &op->op.holder, window->cursor);
}

static bool window_leave(struct gs_window_operator *op, struct gs_window *due, uint32_t *budget)
{
    struct order_state *state = (struct order_state *)op;
    struct order_window *window = (struct order_window *)due;
    struct gs_operator *base = &op->op.base;
    uint64_t sequence = op->op.sequence;
    if (!window->is_sorted) cut(state, gs_order_rows_sort(&window->rows, &state->order));
    window->is_sorted = true;
    for (; window->cursor < window->rows.count; window->cursor++, state->held--, --*budget) {
        if (*budget == 0 || op->op.sequence != sequence) return false;
        struct gs_order_row *held = &window->rows.rows[window->cursor];
        ops_of(state)->copy(base, held->chunk->batch, held->row);
        gs_row_store_remove(&window->rows.store, held->chunk);
    }
    return true;
}

static const struct gs_window_methods window_methods = {
    .window_size = sizeof(struct order_window),
    .admit = window_admit,
    .promise_windows = promise_windows,
    .extend = extend,
    .promise_output = promise_output,
    .ask = ask,
    .leave = window_leave,
    .clear = window_clear,
};

static int open_order(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                      struct gs_error *error)
{
    struct order_state *state = (struct order_state *)op;
    state->max_rows = settings->max_rows;
    const struct gs_order_ops *ops = ops_of(state);
    state->order = (struct gs_row_order){ops->compare, ops->compare_groups, ops->limit};
    if (gs_window_operator_open(&state->shared, &window_methods, ops_of(state)->temporal_count,
                                settings))
        return GS_OK;
    return gs_fail(error, GS_ERROR, "no memory for ORDER BY");
}

static uint64_t held(const struct gs_operator_state *op)
{
    return ((const struct order_state *)op)->held;
}

static void close_order(struct gs_operator_state *op)
{
    gs_window_operator_close(&((struct order_state *)op)->shared);
}

const struct gs_operator_methods gs_order_methods = {
    .name = "order",
    .state_size = sizeof(struct order_state),
    .cut_kind = GS_CUT_BY_WINDOW,
    .open = open_order,
    .on_batch = on_batch,
    .on_punctuation = gs_window_operator_on_punctuation,
    .on_request = gs_operator_ask_same,
    .extend = gs_window_operator_extend,
    .reach = gs_window_operator_reach,
    .on_idle = gs_window_operator_on_idle,
    .step = gs_window_operator_step,
    .held = held,
    .close = close_order,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* ORDER BY … LIMIT: rows are held by window and leave in order when a bound has passed it. They
 * are copied: one row that stays must not hold the batch that brought it. */
#include <stdlib.h>

#include "row_store.h"
#include "window_operator.h"

#define FIRST_ROWS 8u

struct held_row {
    struct gs_row_chunk *chunk;
    uint32_t row;
};

struct order_window {
    struct gs_window window;   /* first */
    struct gs_row_store store; /* its own, to be compacted; opened by the first row */
    struct held_row *rows;
    uint32_t count, capacity;
    uint32_t cursor;
    bool is_sorted;
};

struct order_state {
    struct gs_window_operator shared; /* first */
    uint64_t held, max_rows;
};

static const struct gs_order_ops *ops_of(const struct order_state *state)
{
    return (const struct gs_order_ops *)state->shared.op.base.ops;
}

/* ---- rows ---- */

/* A copy of a row; false where the budget, or the memory, has no room for it. */
static bool store_row(struct gs_row_store *store, const struct gs_batch *from, uint32_t row,
                      struct held_row *held)
{
    struct gs_row_chunk *chunk = gs_row_store_add(store, from, row);
    if (chunk == NULL) return false;
    *held = (struct held_row){chunk, chunk->batch->row_count - 1};
    return true;
}

static void remove_rows(struct gs_row_store *store, const struct held_row *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        gs_row_store_remove(store, rows[i].chunk);
}

static bool store_open(struct order_state *state, struct gs_row_store *store,
                       const struct gs_schema *schema)
{
    return store->lengths != NULL || gs_row_store_open(store, schema, &state->shared.op.holder);
}

/* ---- windows of rows ---- */

static int compare_rows(const void *a, const void *b, void *compare)
{
    const struct held_row *x = a, *y = b;
    const struct gs_order_ops *ops = compare;
    return ops->compare(x->chunk->batch, x->row, y->chunk->batch, y->row);
}

static void sort(const struct order_state *state, struct order_window *window)
{
    if (window->count == 0) return; /* all of its rows were refused */
    qsort_r(window->rows, window->count, sizeof *window->rows, compare_rows, (void *)ops_of(state));
}

/* Chunks of the rows that stay alone; as it is where there is no room for both. */
static void compact(struct order_state *state, struct order_window *window)
{
    struct gs_row_store fresh = {0};
    struct held_row *rows = window->rows, *copies = rows + window->count;
    uint32_t count = window->count, moved = 0;
    bool is_open = store_open(state, &fresh, window->store.schema);
    while (is_open && moved < count &&
           store_row(&fresh, rows[moved].chunk->batch, rows[moved].row, &copies[moved]))
        moved++;
    if (!is_open || moved < count) {
        remove_rows(&fresh, copies, moved);
        gs_row_store_close(&fresh);
        return;
    }
    remove_rows(&window->store, rows, count);
    gs_row_store_close(&window->store);
    memcpy(rows, copies, count * sizeof *rows);
    window->store = fresh;
}

/* Keeps the best `limit` rows. */
static void trim(struct order_state *state, struct order_window *window)
{
    uint64_t limit = ops_of(state)->limit;
    if (window->count <= limit) return;
    sort(state, window);
    remove_rows(&window->store, window->rows + limit, window->count - (uint32_t)limit);
    state->held -= window->count - limit;
    state->shared.op.base.counters.beyond_limit += window->count - limit;
    window->count = (uint32_t)limit;
}

static bool rows_grow(struct order_state *state, struct order_window *window)
{
    uint32_t capacity = window->capacity ? window->capacity * 2 : FIRST_ROWS;
    uint64_t bytes = (uint64_t)(capacity - window->capacity) * sizeof *window->rows;
    if (!gs_hold(&state->shared.op.holder, bytes)) return false;
    struct held_row *rows = realloc(window->rows, capacity * sizeof *rows);
    if (rows == NULL) {
        gs_let_go(&state->shared.op.holder, bytes);
        return false;
    }
    window->rows = rows;
    window->capacity = capacity;
    return true;
}

/* With a limit a window holds at most about twice as many rows. */
static bool make_room(struct order_state *state, struct order_window *window)
{
    if (window->count < window->capacity) return true;
    if (window->capacity < 1024 || window->count / 2 < ops_of(state)->limit)
        return rows_grow(state, window);
    trim(state, window);
    compact(state, window);
    return true;
}

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

static void refuse(struct order_state *state, struct order_window *window, const gs_bound *values)
{
    state->shared.op.base.counters.groups_refused++;
    state->shared.op.refused_for_memory++;
    if (window != NULL)
        window->window.is_partial = true;
    else
        gs_windows_refuse(&state->shared.windows, values);
}

/* False, and counted, where as many rows wait as may; those that LIMIT will cut need not. */
static bool may_hold(struct order_state *state, struct order_window *window)
{
    if (window != NULL && state->held >= state->max_rows) trim(state, window);
    if (state->held < state->max_rows) return true;
    state->shared.op.base.counters.rows_refused++;
    if (window != NULL) window->window.is_partial = true;
    return false;
}

static void hold(struct order_state *state, struct gs_batch *batch, uint32_t row)
{
    gs_bound values[GS_TEMPORAL_MAX];
    for (uint32_t k = 0; k < state->shared.windows.value_count; k++)
        values[k] = gs_row_bound(batch, ops_of(state)->temporal_columns[k], row);
    struct gs_window *met = gs_window_operator_meet(&state->shared, values);
    struct order_window *window = (struct order_window *)met;
    if (!may_hold(state, window)) return;
    if (window == NULL || !store_open(state, &window->store, batch->schema) ||
        !make_room(state, window) ||
        !store_row(&window->store, batch, row, &window->rows[window->count])) {
        refuse(state, window, values);
        return;
    }
    window->count++;
    window->window.is_partial |= batch->is_partial;
    state->held++;
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

static void extend(struct gs_window_operator *op, struct gs_punctuation *last,
                   struct gs_extent *extent)
{
    const struct gs_order_ops *ops = ops_of((struct order_state *)op);
    for (uint32_t k = 0; k < ops->temporal_count; k++)
        extent->own[k] = last->bounds[ops->temporal_columns[k]];
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
    remove_rows(&window->store, window->rows + window->cursor, window->count - window->cursor);
    gs_row_store_close(&window->store);
    gs_let_go(&op->op.holder, window->capacity * sizeof *window->rows);
    free(window->rows);
}

static bool window_leave(struct gs_window_operator *op, struct gs_window *due, uint32_t *budget)
{
    struct order_state *state = (struct order_state *)op;
    struct order_window *window = (struct order_window *)due;
    struct gs_operator *base = &op->op.base;
    uint64_t sequence = op->op.sequence;
    if (!window->is_sorted) {
        trim(state, window);
        sort(state, window);
        window->is_sorted = true;
    }
    for (; window->cursor < window->count; window->cursor++, state->held--, --*budget) {
        if (*budget == 0 || op->op.sequence != sequence) return false;
        struct held_row *held = &window->rows[window->cursor];
        ops_of(state)->copy(base, held->chunk->batch, held->row);
        gs_row_store_remove(&window->store, held->chunk);
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

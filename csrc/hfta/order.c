/* SPDX-License-Identifier: Apache-2.0 */
/* ORDER BY … LIMIT: rows are held by window and leave in order when a bound has passed it. Rows are
 * held as references into the batches that brought them. */
#include <stdlib.h>

#include "operator.h"
#include "windows.h"

struct held_row {
    struct gs_batch *batch;
    uint32_t row;
};

struct order_window {
    struct gs_window window; /* first */
    struct held_row *rows;
    uint32_t count, capacity;
    uint32_t cursor;
    bool is_sorted, is_partial;
};

struct order_state {
    struct gs_operator_state op;
    struct gs_windows windows;
    gs_bound window_bounds[GS_TEMPORAL_MAX];
    uint64_t held;
    gs_bound *output_bounds;
};

static int compare_rows(const void *a, const void *b, void *compare)
{
    const struct held_row *x = a, *y = b;
    const struct gs_operator_ops *ops = compare;
    return ops->compare(x->batch, x->row, y->batch, y->row);
}

static void sort(const struct order_state *state, struct order_window *window)
{
    qsort_r(window->rows, window->count, sizeof *window->rows, compare_rows,
            (void *)state->op.base.ops);
}

/* Keeps the best `limit` rows, so that a window holds at most about twice as many. */
static void trim(struct order_state *state, struct order_window *window)
{
    uint64_t limit = state->op.base.ops->limit;
    if (window->count <= limit) return;
    sort(state, window);
    for (uint32_t i = (uint32_t)limit; i < window->count; i++)
        gs_batch_release(window->rows[i].batch);
    state->held -= window->count - limit;
    window->count = (uint32_t)limit;
}

static bool make_room(struct order_state *state, struct order_window *window)
{
    if (window->count < window->capacity) return true;
    if (window->capacity >= 1024 && window->count / 2 >= state->op.base.ops->limit) {
        trim(state, window);
        return true;
    }
    uint32_t capacity = window->capacity ? window->capacity * 2 : 64;
    struct held_row *rows = realloc(window->rows, capacity * sizeof *rows);
    if (rows == NULL) return false;
    window->rows = rows;
    window->capacity = capacity;
    return true;
}

static struct order_window *window_at(struct order_state *state, const gs_bound *values)
{
    struct gs_window *found = gs_windows_find(&state->windows, values);
    if (found != NULL) return (struct order_window *)found;
    struct order_window *window = calloc(1, sizeof *window);
    if (window == NULL) return NULL;
    memcpy(window->window.values, values, state->windows.value_count * sizeof *values);
    if (gs_windows_add(&state->windows, &window->window)) return window;
    free(window);
    return NULL;
}

static gs_bound value_at(const struct gs_batch *batch, uint32_t column, uint32_t row)
{
    const void *values = batch->columns[column].values;
    gs_bound value;
    switch (batch->schema->fields[column].type) {
    case GS_USHORT:
        value = ((const uint16_t *)values)[row];
        break;
    case GS_UINT:
    case GS_IP:
        value = ((const uint32_t *)values)[row];
        break;
    case GS_INT:
        value = ((const int32_t *)values)[row];
        break;
    default:
        value = ((const int64_t *)values)[row];
        break;
    }
    return batch->schema->fields[column].temporal < 0 ? -value : value;
}

static void hold(struct order_state *state, struct gs_batch *batch, uint32_t row)
{
    gs_bound values[GS_TEMPORAL_MAX];
    for (uint32_t k = 0; k < state->windows.value_count; k++)
        values[k] = value_at(batch, state->op.base.ops->temporal_columns[k], row);
    struct order_window *window = window_at(state, values);
    if (window == NULL || !make_room(state, window)) {
        state->op.failed = true;
        return;
    }
    window->rows[window->count++] = (struct held_row){gs_batch_retain(batch), row};
    window->is_partial |= batch->is_partial;
    state->held++;
}

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)port;
    op->base.counters.rows_in += batch->row_count;
    for (uint32_t row = 0; row < batch->row_count; row++)
        hold((struct order_state *)op, batch, row);
}

/* Output bounds are the input's, lowered to the windows that are still held. */
static void bound_after_windows(struct order_state *state)
{
    gs_bound windows[GS_TEMPORAL_MAX];
    const struct gs_operator_ops *ops = state->op.base.ops;
    struct gs_operator_state *op = &state->op;
    memcpy(windows, state->window_bounds, sizeof windows);
    gs_windows_lower(&state->windows, windows);
    uint32_t columns = op->port_columns[0];
    memcpy(state->output_bounds, op->input_bounds[0], columns * sizeof(gs_bound));
    for (uint32_t k = 0; k < ops->temporal_count; k++)
        state->output_bounds[ops->temporal_columns[k]] = windows[k];
    ops->bounds(state->output_bounds, op->next_bounds);
}

static struct order_window *due_window(const struct order_state *state)
{
    if (gs_operator_ended(&state->op) && state->windows.count > 0)
        return (struct order_window *)state->windows.heap[0];
    return (struct order_window *)gs_windows_due(&state->windows, state->window_bounds);
}

static void window_close(struct order_state *state, struct order_window *window)
{
    gs_windows_remove(&state->windows, &window->window);
    free(window->rows);
    free(window);
}

static bool window_leave(struct order_state *state, struct order_window *window)
{
    struct gs_operator *base = &state->op.base;
    if (!window->is_sorted) {
        trim(state, window);
        sort(state, window);
        window->is_sorted = true;
    }
    struct gs_batch *output = base->output;
    for (; window->cursor < window->count; window->cursor++) {
        if (base->output != output || output->row_count == output->row_capacity) return false;
        struct held_row *held = &window->rows[window->cursor];
        base->ops->copy(base, held->batch, held->row);
        gs_batch_release(held->batch);
        state->held--;
    }
    return true;
}

/* A batch of what is due, of as many windows as it holds. */
static bool step(struct gs_operator_state *op)
{
    struct order_state *state = (struct order_state *)op;
    struct order_window *window = due_window(state);
    if (window == NULL) return false;
    bool is_partial = window->is_partial;
    for (; window != NULL && window->is_partial == is_partial; window = due_window(state)) {
        op->base.output->is_partial = is_partial;
        if (!window_leave(state, window)) break;
        window_close(state, window);
    }
    op->base.output->is_partial = is_partial;
    bound_after_windows(state);
    gs_operator_progress(op, NULL, gs_operator_ended(op) && state->windows.count == 0);
    gs_operator_flush_output(op);
    return window != NULL;
}

static void on_punctuation(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch)
{
    struct order_state *state = (struct order_state *)op;
    for (uint32_t k = 0; k < op->base.ops->temporal_count; k++)
        state->window_bounds[k] = op->input_bounds[port][op->base.ops->temporal_columns[k]];
    bound_after_windows(state);
    gs_operator_progress(op, batch, gs_operator_ended(op) && state->windows.count == 0);
}

static int open_order(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                      struct gs_error *error)
{
    struct order_state *state = (struct order_state *)op;
    (void)settings;
    state->windows.value_count = op->base.ops->temporal_count;
    for (uint32_t k = 0; k < GS_TEMPORAL_MAX; k++)
        state->window_bounds[k] = GS_BOUND_NONE;
    state->output_bounds = calloc(op->port_columns[0] + 1u, sizeof(gs_bound));
    if (state->output_bounds == NULL) return gs_fail(error, GS_ERROR, "no memory for ORDER BY");
    return GS_OK;
}

static uint64_t held(const struct gs_operator_state *op)
{
    return ((const struct order_state *)op)->held;
}

static void close_order(struct gs_operator_state *op)
{
    struct order_state *state = (struct order_state *)op;
    for (uint32_t i = 0; i < state->windows.count; i++) {
        struct order_window *window = (struct order_window *)state->windows.heap[i];
        for (uint32_t row = window->cursor; row < window->count; row++)
            gs_batch_release(window->rows[row].batch);
        free(window->rows);
        free(window);
    }
    gs_windows_free(&state->windows);
    free(state->output_bounds);
}

const struct gs_operator_methods gs_order_methods = {
    .name = "order",
    .state_size = sizeof(struct order_state),
    .open = open_order,
    .on_batch = on_batch,
    .on_punctuation = on_punctuation,
    .step = step,
    .held = held,
    .close = close_order,
};

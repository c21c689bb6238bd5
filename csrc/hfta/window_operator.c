/* SPDX-License-Identifier: Apache-2.0 */
#include "window_operator.h"

bool gs_window_operator_open(struct gs_window_operator *op, const struct gs_window_methods *methods,
                             uint32_t value_count, const struct gs_operator_settings *settings)
{
    op->methods = methods;
    return gs_windows_open(&op->windows, value_count, settings->hash_key, &op->op.holder);
}

static void progress(struct gs_window_operator *op, const struct gs_batch *cause)
{
    gs_bound bounds[GS_TEMPORAL_MAX];
    struct gs_punctuation values = {.bounds = bounds};
    gs_windows_promise(&op->windows, &values);
    op->methods->promise_output(op, &values);
    gs_operator_progress(&op->op, cause, gs_operator_ended(&op->op) && op->windows.count == 0);
}

void gs_window_operator_on_punctuation(struct gs_operator_state *state, uint32_t port,
                                       const struct gs_batch *batch)
{
    struct gs_window_operator *op = (struct gs_window_operator *)state;
    gs_bound bounds[GS_TEMPORAL_MAX];
    struct gs_punctuation values = {.bounds = bounds};
    op->methods->promise_windows(op, port, &values);
    gs_windows_pass(&op->windows, &values);
    if (op->methods->end != NULL && gs_operator_ended(state)) op->methods->end(op);
    progress(op, batch);
}

/* The one window of an operator without temporal values is of all that comes. */
void gs_window_operator_extend(struct gs_operator_state *state, uint32_t port,
                               struct gs_punctuation *last, struct gs_extent *extent)
{
    struct gs_window_operator *op = (struct gs_window_operator *)state;
    (void)port;
    op->methods->extend(op, last, extent);
    if (op->windows.value_count == 0) extent->own[0] = GS_BOUND_END;
}

void gs_window_operator_reach(struct gs_operator_state *state, gs_bound *own)
{
    struct gs_window_operator *op = (struct gs_window_operator *)state;
    struct gs_punctuation values = {.bounds = own};
    bool has_left = gs_operator_ended(state) && op->windows.count == 0;
    own[0] = has_left ? GS_BOUND_END : GS_BOUND_NONE;
    gs_windows_promise(&op->windows, &values);
}

static struct gs_window *due_window(struct gs_window_operator *op)
{
    if (gs_operator_ended(&op->op)) gs_windows_end(&op->windows);
    return gs_windows_due(&op->windows);
}

/* The window that waits leaves as soon as any one of its values is passed, which nothing but the
 * end does to the greatest. */
void gs_window_operator_on_idle(struct gs_operator_state *state)
{
    struct gs_window_operator *op = (struct gs_window_operator *)state;
    for (uint32_t k = 0; k < op->windows.value_count; k++) {
        const struct gs_window *window = gs_windows_waiting(&op->windows, k);
        if (window != NULL && window->values[k] < GS_BOUND_END - 1)
            op->methods->ask(op, k, window->values[k] + 1);
    }
}

static void window_close(struct gs_window_operator *op, struct gs_window *window)
{
    op->methods->clear(op, window);
    gs_windows_remove(&op->windows, window, op->methods->window_size);
}

static bool is_cut(const struct gs_window_operator *op, const struct gs_window *window)
{
    return gs_cut_has_window(&op->op, window->values, op->windows.value_count);
}

/* Rows of both go in one batch. */
static bool is_like(const struct gs_window_operator *op, const struct gs_window *window,
                    bool is_partial)
{
    return window->is_partial == is_partial && is_cut(op, window) == op->op.cut.is_now;
}

/* A batch of what is due, of as many windows as it holds: small ones would make a batch each. */
bool gs_window_operator_step(struct gs_operator_state *state)
{
    struct gs_window_operator *op = (struct gs_window_operator *)state;
    struct gs_window *window = due_window(op);
    if (window == NULL) return false;
    bool is_partial = window->is_partial;
    uint32_t budget = state->base.output->row_capacity;
    bool is_told = is_partial && state->is_part;
    if (is_told) gs_operator_tell_partial(state);
    state->cut.is_now = is_cut(op, window);
    for (; window != NULL && is_like(op, window, is_partial); window = due_window(op)) {
        state->base.output->is_partial = is_partial;
        if (!op->methods->leave(op, window, &budget)) break;
        window_close(op, window);
        if (is_told) break; /* each by itself */
    }
    state->base.output->is_partial = is_partial;
    progress(op, NULL);
    gs_operator_flush_output(state);
    state->cut.is_now = false;
    return window != NULL;
}

void gs_window_operator_close(struct gs_window_operator *op)
{
    struct gs_window *window;
    while ((window = gs_windows_any(&op->windows)) != NULL)
        window_close(op, window);
    gs_windows_close(&op->windows);
}

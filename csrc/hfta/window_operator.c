/* SPDX-License-Identifier: Apache-2.0 */
#include "window_operator.h"

#include "../stream/window.h"
#include "gs_bounds.h"

bool gs_window_operator_open(struct gs_window_operator *op, const struct gs_window_methods *methods,
                             uint32_t value_count, const struct gs_operator_settings *settings)
{
    op->methods = methods;
    return gs_windows_open(&op->windows, value_count, settings->hash_key, &op->op.holder);
}

/* ---- windows that lack rows ---- */

void gs_window_operator_lack(struct gs_window_operator *op, const gs_bound *values)
{
    *op->op.failed |= !gs_windows_lack(&op->windows, values);
}

void gs_window_operator_on_lacking(struct gs_operator_state *state, struct gs_batch *name)
{
    struct gs_window_operator *op = (struct gs_window_operator *)state;
    gs_bound values[GS_TEMPORAL_MAX];
    uint64_t count = op->methods->find(op, &name->punctuation, values);
    for (uint32_t k = 0; k < op->windows.value_count; k++)
        if (gs_bound_is_special(values[k])) return;
    for (; count > 0; count--, values[0]++)
        gs_window_operator_lack(op, values);
}

static void tell(struct gs_window_operator *op, const gs_bound *values)
{
    struct gs_batch *name = gs_lacking_new(&op->op);
    if (name == NULL) return;
    op->methods->name(op, values, name->punctuation.bounds);
    gs_lacking_send(&op->op, name);
}

static bool will_pass(const struct gs_window_operator *op, const struct gs_punctuation *promised,
                      const gs_bound *values)
{
    const struct gs_joint_bound *joint = &promised->joint;
    if (op->windows.value_count == 0) return gs_operator_ended(&op->op) && op->windows.count == 0;
    return gs_window_passed(values, promised->bounds, op->windows.value_count) ||
           (joint->is_given && values[joint->columns[0]] < joint->bounds[0] &&
            values[joint->columns[1]] < joint->bounds[1]);
}

/* Those that never were there say so before the bound that passes them. */
static void tell_passed(struct gs_window_operator *op, const struct gs_punctuation *promised)
{
    struct gs_window_names *names = &op->windows.lacking;
    for (uint32_t at = 0; at < names->count;) {
        const gs_bound *values = gs_window_names_at(names, at);
        if (will_pass(op, promised, values)) {
            tell(op, values);
            gs_window_names_remove(names, at);
        } else if (op->windows.value_count == 1) {
            break; /* nor are those behind it */
        } else {
            at++;
        }
    }
}

/* One that is there says so before its rows, which a condition may drop; those that never were come
 * in their order with it, by which who puts parts together knows them. */
static void tell_leaving(struct gs_window_operator *op, struct gs_window *window)
{
    gs_bound bounds[GS_TEMPORAL_MAX];
    struct gs_punctuation values = {.bounds = bounds};
    if (op->windows.lacking.count > 0) {
        gs_windows_promise(&op->windows, &values);
        tell_passed(op, &values);
    }
    if (!window->is_partial || window->is_told) return;
    window->is_told = true;
    tell(op, window->values);
}

/* ---- progress ---- */

static void progress(struct gs_window_operator *op, const struct gs_batch *cause)
{
    gs_bound bounds[GS_TEMPORAL_MAX];
    struct gs_punctuation values = {.bounds = bounds};
    gs_windows_promise(&op->windows, &values);
    tell_passed(op, &values);
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
    state->cut.is_now = is_cut(op, window);
    for (; window != NULL && is_like(op, window, is_partial); window = due_window(op)) {
        tell_leaving(op, window);
        state->base.output->is_partial = is_partial;
        if (!op->methods->leave(op, window, &budget)) break;
        window_close(op, window);
        if (is_partial && state->is_part) break; /* each by itself, behind its name */
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

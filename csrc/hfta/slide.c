/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that slide over panes (OPERATORS section 4; Bucket and Aggregate, A-2 and A-3): rows are
 * aggregated once, in the pane of gcd(RANGE, SLIDE) that they are in, and a window is made of the
 * panes that are complete.
 *
 * Windows that differ in other temporal values than their id are lanes, each with the panes and the
 * groups of its own. A lane's windows leave in their order, so that only the next one, the least
 * that has a row and is not out, stands among the operator's windows. When it leaves, the panes up
 * to its end have entered the lane's groups, and those behind the next one's start go. */
#include <stdlib.h>

#include "pane_groups.h"

struct lane {
    struct gs_window window; /* first: by the values beside the id */
    struct gs_group_operator *op;
    struct gs_windows panes;      /* by id: those that have entered the groups are due */
    struct gs_pane_groups groups; /* of the panes that are due */
    struct slide_window *next;
};

struct pane {
    struct gs_window window; /* first: by id */
    struct gs_groups groups;
};

/* The next of a lane. */
struct slide_window {
    struct gs_window window; /* first */
    struct lane *lane;
    uint32_t cursor; /* groups before it have left */
    bool has_panes;  /* all that are in it have entered the groups */
};

struct slide_state {
    struct gs_group_operator shared; /* first */
    struct gs_windows lanes;
    void *whole; /* an entry: the aggregate of front and back */
};

static const struct gs_slide_ops *ops_of(const struct gs_group_operator *op)
{
    return (const struct gs_slide_ops *)op->shared.op.base.ops;
}

static size_t entry_size(const struct gs_group_operator *op)
{
    return ops_of(op)->groups.entry_size;
}

static struct gs_windows *windows_of(struct gs_group_operator *op)
{
    return &op->shared.windows;
}

static void fail(struct gs_group_operator *op)
{
    *op->shared.op.failed = true;
}

/* ---- which windows a pane is in ---- */

static gs_bound first_window(const struct gs_group_operator *op, gs_bound pane)
{
    return gs_sliding_ids(ops_of(op)->panes, pane).first;
}

static gs_bound last_window(const struct gs_group_operator *op, gs_bound pane)
{
    struct gs_window_ids ids = gs_sliding_ids(ops_of(op)->panes, pane);
    return ids.first + (gs_bound)ids.count - 1;
}

/* The first pane behind a window. */
static gs_bound end_of(const struct gs_group_operator *op, gs_bound window)
{
    return gs_bound_mul(gs_bound_add(window, 1), ops_of(op)->panes.slide);
}

static gs_bound id_of(const struct gs_window *window)
{
    return window->values[0];
}

static void pane_free(struct lane *lane, struct pane *pane)
{
    gs_groups_close(lane->op, &pane->groups);
    gs_windows_remove(&lane->panes, &pane->window, sizeof *pane);
}

static void pane_leave(struct lane *lane, struct pane *pane)
{
    gs_pane_groups_leave(&lane->groups, &pane->groups);
    pane_free(lane, pane);
}

/* The oldest that has entered; NULL: none has. */
static struct pane *oldest_entered(const struct lane *lane)
{
    return (struct pane *)gs_windows_due(&lane->panes);
}

/* ---- lanes and their next windows ---- */

static struct gs_window *lane_admit(void *owner, const gs_bound *values)
{
    struct gs_group_operator *op = owner;
    struct slide_state *state = owner;
    uint64_t bytes = gs_windows_bytes(&state->lanes, sizeof(struct lane));
    if (!gs_groups_hold_window(op, bytes)) return NULL;
    struct lane *lane = (struct lane *)gs_windows_add(&state->lanes, values, sizeof *lane);
    if (lane == NULL) {
        gs_let_go(&op->shared.op.holder, bytes);
        return NULL;
    }
    lane->op = lane->groups.op = op;
    if (gs_windows_open(&lane->panes, 1, op->shared.op.base.hash_key, &op->shared.op.holder))
        return &lane->window;
    gs_windows_close(&lane->panes);
    gs_windows_remove(&state->lanes, &lane->window, sizeof *lane);
    return NULL;
}

static void lane_free(struct lane *lane)
{
    struct slide_state *state = (struct slide_state *)lane->op;
    struct gs_window *pane;
    while ((pane = gs_windows_any(&lane->panes)) != NULL)
        pane_free(lane, (struct pane *)pane);
    gs_windows_close(&lane->panes);
    gs_pane_groups_close(&lane->groups);
    gs_windows_remove(&state->lanes, &lane->window, sizeof *lane);
}

/* The values of a window, or pane, of a lane: its id, then the lane's. */
static void values_in(const struct lane *lane, gs_bound id, gs_bound *values)
{
    const struct slide_state *state = (const struct slide_state *)lane->op;
    values[0] = id;
    memcpy(values + 1, lane->window.values, state->lanes.value_count * sizeof *values);
}

/* In the place of the one before. One window a lane: it is held in any case. */
static bool next_window(struct lane *lane, gs_bound id)
{
    gs_bound values[GS_TEMPORAL_MAX];
    struct gs_windows *windows = windows_of(lane->op);
    struct slide_window *before = lane->next;
    values_in(lane, id, values);
    struct slide_window *next =
        (struct slide_window *)gs_windows_add(windows, values, sizeof *next);
    if (next == NULL) return false;
    gs_hold_anyway(&lane->op->shared.op.holder, gs_windows_bytes(windows, sizeof *next));
    next->lane = lane;
    lane->next = next;
    if (before != NULL) gs_windows_remove(windows, &before->window, sizeof *before);
    return true;
}

/* Rows of the pane have been refused: windows up to its last one lack them. */
static struct gs_window *pane_refuse(struct lane *lane, gs_bound id, bool by_count)
{
    gs_bound values[GS_TEMPORAL_MAX];
    values_in(lane, last_window(lane->op, id), values);
    gs_groups_count_refused(lane->op, by_count);
    gs_windows_refuse(windows_of(lane->op), values);
    if (lane->next != NULL && first_window(lane->op, id) <= id_of(&lane->next->window) &&
        id_of(&lane->next->window) <= last_window(lane->op, id))
        lane->next->window.is_partial = true;
    return NULL;
}

static struct pane *pane_new(struct lane *lane, gs_bound id)
{
    uint64_t bytes = gs_windows_bytes(&lane->panes, sizeof(struct pane));
    struct gs_groups groups;
    if (!gs_groups_hold_window(lane->op, bytes)) return NULL;
    if (gs_groups_begin(lane->op, &groups)) {
        struct pane *pane = (struct pane *)gs_windows_add(&lane->panes, &id, sizeof *pane);
        if (pane != NULL) {
            groups.is_partial = &pane->window.is_partial;
            pane->groups = groups;
            return pane;
        }
        gs_groups_close(lane->op, &groups);
    }
    gs_let_go(&lane->op->shared.op.holder, bytes);
    return NULL;
}

static struct gs_window *pane_admit(void *owner, const gs_bound *id)
{
    struct lane *lane = owner;
    bool by_count = lane->op->group_count >= lane->op->max_groups;
    struct pane *pane = by_count ? NULL : pane_new(lane, *id);
    if (pane == NULL) return pane_refuse(lane, *id, by_count);
    gs_bound first = first_window(lane->op, *id);
    if (lane->next != NULL && id_of(&lane->next->window) <= first) return &pane->window;
    if (next_window(lane, first)) return &pane->window;
    pane_free(lane, pane);
    return pane_refuse(lane, *id, false);
}

static struct gs_groups *find(struct gs_group_operator *op, const gs_bound *values)
{
    struct slide_state *state = (struct slide_state *)op;
    gs_bound window[GS_TEMPORAL_MAX];
    memcpy(window, values, windows_of(op)->value_count * sizeof *window);
    window[0] = first_window(op, values[0]);
    /* of the row's windows the first closes first */
    if (gs_window_operator_is_late(&op->shared, window)) return NULL;
    struct lane *lane = (struct lane *)gs_windows_meet(&state->lanes, values + 1, lane_admit, op);
    if (lane == NULL) {
        gs_groups_count_refused(op, false);
        window[0] = last_window(op, values[0]);
        gs_windows_refuse(windows_of(op), window);
        return NULL;
    }
    struct gs_window *pane = gs_windows_meet(&lane->panes, values, pane_admit, lane);
    if (pane == NULL && lane->panes.count == 0 && lane->next == NULL) lane_free(lane);
    return pane == NULL ? NULL : gs_groups_begun(op, &((struct pane *)pane)->groups);
}

/* ---- a window leaves ---- */

/* The panes before its end enter, the oldest first: no row of them is still to come. */
static void panes_enter(struct lane *lane, gs_bound end)
{
    struct gs_window *pane;
    while ((pane = gs_windows_waiting(&lane->panes, 0)) != NULL && id_of(pane) < end) {
        gs_bound after = gs_bound_add(id_of(pane), 1);
        gs_groups_fit(lane->op, &((struct pane *)pane)->groups);
        if (!gs_pane_groups_enter(&lane->groups, &((struct pane *)pane)->groups)) {
            fail(lane->op);
            return;
        }
        gs_windows_pass(&lane->panes, &(struct gs_punctuation){.bounds = &after});
    }
}

/* Rows of one of the panes that have entered, all of which are in the next window, were refused. */
static bool has_partial_pane(const struct lane *lane)
{
    const struct gs_window_heap *entered = &lane->panes.due[0];
    for (uint32_t at = 0; at < entered->count; at++)
        if (entered->items[at]->is_partial) return true;
    return false;
}

/* Its panes are complete. */
static void window_begin(struct slide_window *window)
{
    panes_enter(window->lane, end_of(window->lane->op, id_of(&window->window)));
    window->has_panes = true;
    window->window.is_partial |= has_partial_pane(window->lane);
}

/* HAVING does not save the budget. */
static bool window_leave(struct gs_window_operator *op, struct gs_window *due, uint32_t *budget)
{
    struct slide_window *window = (struct slide_window *)due;
    struct gs_operator *base = &op->op.base;
    uint64_t sequence = op->op.sequence;
    bool was_partial = due->is_partial;
    if (!window->has_panes) window_begin(window);
    if (*op->op.failed) return false;                 /* not all of its panes have entered */
    if (due->is_partial != was_partial) return false; /* its rows go in a batch that says so */
    for (; window->cursor < window->lane->groups.table.count; window->cursor++, --*budget) {
        if (*budget == 0 || op->op.sequence != sequence) return false;
        gs_group_ops_of(base)->emit(base,
                                    gs_pane_groups_at(&window->lane->groups, window->cursor,
                                                      ((struct slide_state *)op)->whole),
                                    due->values);
    }
    return true;
}

/* The panes of which it was the last window go; then the lane's next one is made, which is expected
 * to have as many groups: windows that share no pane would make the table anew each time. */
static void window_clear(struct gs_window_operator *base, struct gs_window *window)
{
    struct gs_group_operator *op = (struct gs_group_operator *)base;
    struct lane *lane = ((struct slide_window *)window)->lane;
    struct pane *pane;
    uint32_t expected = lane->groups.table.count;
    lane->next = NULL;
    while ((pane = oldest_entered(lane)) != NULL &&
           last_window(op, id_of(&pane->window)) <= id_of(window))
        pane_leave(lane, pane);
    if (lane->panes.count == 0) {
        lane_free(lane);
        return;
    }
    gs_pane_groups_fit(&lane->groups, expected);
    const struct gs_window *oldest = oldest_entered(lane) != NULL
                                         ? &oldest_entered(lane)->window
                                         : gs_windows_waiting(&lane->panes, 0);
    gs_bound first = first_window(op, id_of(oldest));
    if (!next_window(lane, first > id_of(window) ? first : id_of(window) + 1)) fail(op);
}

/* The last value is known by the first window that it is in. */
static void extend(struct gs_window_operator *base, struct gs_punctuation *last,
                   struct gs_extent *extent)
{
    struct gs_group_operator *op = (struct gs_group_operator *)base;
    gs_group_operator_extend(base, last, extent);
    extent->own[0] = gs_sliding_last(ops_of(op)->panes, extent->own[0]);
    gs_group_operator_extend_output(base, extent);
}

static const struct gs_window_methods window_methods = {
    .window_size = sizeof(struct slide_window),
    .promise_windows = gs_group_operator_promise_windows,
    .extend = extend,
    .promise_output = gs_group_operator_promise_output,
    .ask = gs_group_operator_ask,
    .leave = window_leave,
    .clear = window_clear,
};

/* Whether the rows of the first window are partial is known before the batch begins. */
static bool step(struct gs_operator_state *op)
{
    struct gs_window *due = gs_windows_due(windows_of((struct gs_group_operator *)op));
    if (due != NULL && !((struct slide_window *)due)->has_panes)
        window_begin((struct slide_window *)due);
    return gs_window_operator_step(op);
}

static int open_slide(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                      struct gs_error *error)
{
    struct gs_group_operator *shared = (struct gs_group_operator *)op;
    struct slide_state *state = (struct slide_state *)op;
    shared->find = find;
    int status = gs_group_operator_open(shared, &window_methods, settings, error);
    if (status != GS_OK) return status;
    state->whole = malloc(entry_size(shared));
    if (state->whole != NULL && gs_windows_open(&state->lanes, windows_of(shared)->value_count - 1,
                                                settings->hash_key, &op->holder))
        return GS_OK;
    return gs_fail(error, GS_ERROR, "no memory for operator %s", op->node->name);
}

/* With their next windows; one that got none, for want of memory, is known by its lane alone. */
static void lanes_free(struct slide_state *state)
{
    struct gs_window *found;
    while ((found = gs_windows_any(&state->lanes)) != NULL) {
        struct lane *lane = (struct lane *)found;
        struct slide_window *next = lane->next;
        if (next != NULL)
            gs_windows_remove(windows_of(&state->shared), &next->window, sizeof *next);
        lane_free(lane);
    }
}

static void close_slide(struct gs_operator_state *op)
{
    struct slide_state *state = (struct slide_state *)op;
    lanes_free(state);
    gs_group_operator_close(&state->shared);
    gs_windows_close(&state->lanes);
    free(state->whole);
}

const struct gs_operator_methods gs_slide_methods = {
    .name = "slide",
    .state_size = sizeof(struct slide_state),
    .cut_kind = GS_CUT_BY_WINDOW,
    .open = open_slide,
    .on_batch = gs_group_operator_on_batch,
    .on_punctuation = gs_window_operator_on_punctuation,
    .on_request = gs_group_operator_on_request,
    .extend = gs_window_operator_extend,
    .reach = gs_window_operator_reach,
    .on_idle = gs_window_operator_on_idle,
    .step = step,
    .held = gs_group_operator_held,
    .close = close_slide,
};

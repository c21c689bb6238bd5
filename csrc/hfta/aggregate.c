/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregate (Li et al., VLDB 2008, A-2): a hash table per window; when a bound passes a window its
 * groups are due and leave by themselves, a batch a step, oldest window first (OPERATORS section
 * 4). Generated code finds groups and adds to them; here are the windows. */
#include "group_windows.h"

/* The answer of an aggregation without group variables to which no row came. */
static void meet_nothing(struct gs_window_operator *op)
{
    static const gs_bound no_values[1];
    struct gs_operator *base = &op->op.base;
    if (!((const struct gs_aggregate_ops *)base->ops)->is_of_all ||
        ((struct gs_group_operator *)op)->has_met)
        return;
    struct gs_group_table *table = gs_group_window(base, no_values);
    if (table == NULL || !gs_group_admit(base, table, 0)) return; /* counted */
    memset(table->entries, 0, gs_group_ops_of(base)->entry_size);
}

static const struct gs_window_methods window_methods = {
    .window_size = sizeof(struct gs_group_window),
    .promise_windows = gs_group_operator_promise_windows,
    .extend = gs_group_operator_extend,
    .promise_output = gs_group_operator_promise_output,
    .admit = gs_group_window_admit,
    .ask = gs_group_operator_ask,
    .end = meet_nothing,
    .leave = gs_group_window_leave,
    .clear = gs_group_window_clear,
};

static int open_aggregate(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                          struct gs_error *error)
{
    struct gs_group_operator *state = (struct gs_group_operator *)op;
    state->find = gs_group_window_find;
    return gs_group_operator_open(state, &window_methods, settings, error);
}

static void close_aggregate(struct gs_operator_state *op)
{
    gs_group_operator_close((struct gs_group_operator *)op);
}

const struct gs_operator_methods gs_aggregate_methods = {
    .name = "aggregate",
    .state_size = sizeof(struct gs_group_operator),
    .cut_kind = GS_CUT_BY_WINDOW,
    .open = open_aggregate,
    .on_batch = gs_group_operator_on_batch,
    .on_punctuation = gs_window_operator_on_punctuation,
    .on_request = gs_group_operator_on_request,
    .extend = gs_window_operator_extend,
    .reach = gs_window_operator_reach,
    .on_idle = gs_window_operator_on_idle,
    .step = gs_window_operator_step,
    .held = gs_group_operator_held,
    .close = close_aggregate,
};

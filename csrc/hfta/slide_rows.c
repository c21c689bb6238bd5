/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that overlap whose groups keep values (DISTINCT, lists), of which panes would have as
 * many again: generated code puts a row into each of its windows, which are an aggregation's. */
#include "group_windows.h"

/* What came may be in all windows up to the last one of the last pane. */
static void extend(struct gs_window_operator *op, struct gs_punctuation *last,
                   struct gs_extent *extent)
{
    const struct gs_slide_rows_ops *ops = (const struct gs_slide_rows_ops *)op->op.base.ops;
    gs_group_operator_extend(op, last, extent);
    extent->own[0] = gs_sliding_last(ops->panes, extent->own[0]);
    gs_group_operator_extend_output(op, extent);
}

static const struct gs_window_methods window_methods = {
    .window_size = sizeof(struct gs_group_window),
    .promise_windows = gs_group_operator_promise_windows,
    .extend = extend,
    .promise_output = gs_group_operator_promise_output,
    .admit = gs_group_window_admit,
    .ask = gs_group_operator_ask,
    .leave = gs_group_window_leave,
    .clear = gs_group_window_clear,
};

static int open_slide_rows(struct gs_operator_state *op,
                           const struct gs_operator_settings *settings, struct gs_error *error)
{
    struct gs_group_operator *state = (struct gs_group_operator *)op;
    state->find = gs_group_window_find;
    return gs_group_operator_open(state, &window_methods, settings, error);
}

static void close_slide_rows(struct gs_operator_state *op)
{
    gs_group_operator_close((struct gs_group_operator *)op);
}

const struct gs_operator_methods gs_slide_rows_methods = {
    .name = "slide_rows",
    .state_size = sizeof(struct gs_group_operator),
    .cut_kind = GS_CUT_BY_WINDOW,
    .open = open_slide_rows,
    .on_batch = gs_group_operator_on_batch,
    .on_punctuation = gs_window_operator_on_punctuation,
    .on_request = gs_group_operator_on_request,
    .extend = gs_window_operator_extend,
    .reach = gs_window_operator_reach,
    .on_idle = gs_window_operator_on_idle,
    .step = gs_window_operator_step,
    .held = gs_group_operator_held,
    .close = close_slide_rows,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* What operators with windows share: a window waits until what the input promises has passed it,
 * then it leaves, oldest first and a batch a step, and the output's bounds follow (OPERATORS
 * section 4). What a window holds, and how that becomes rows, is the operator's. */
#ifndef GS_HFTA_WINDOW_OPERATOR_H
#define GS_HFTA_WINDOW_OPERATOR_H

#include "operator.h"
#include "windows.h"

struct gs_window_operator;

struct gs_window_methods {
    size_t window_size; /* of the struct that begins with struct gs_window */
    /* Makes a window that is met for the first time; its owner is the operator. */
    gs_window_admit_function *admit;
    /* What the input of a port promises of the windows' values. */
    void (*promise_windows)(struct gs_window_operator *op, uint32_t port,
                            struct gs_punctuation *values);
    /* As struct gs_operator_methods has it; the own values are those of the last window. */
    void (*extend)(struct gs_window_operator *op, struct gs_punctuation *last,
                   struct gs_extent *extent);
    /* What holds of the windows still to leave, or to come, to op->next. */
    void (*promise_output)(struct gs_window_operator *op, struct gs_punctuation *values);
    /* Asks the inputs for what promises at least so much of the windows' value k. */
    void (*ask)(struct gs_window_operator *op, uint32_t k, gs_bound value);
    /* All input has come; NULL: nothing is to be done then. */
    void (*end)(struct gs_window_operator *op);
    /* Puts out rows as long as the budget of rows lasts and the output stays the same batch; true
     * when the window is completely out. */
    bool (*leave)(struct gs_window_operator *op, struct gs_window *window, uint32_t *budget);
    /* Frees what the window holds. */
    void (*clear)(struct gs_window_operator *op, struct gs_window *window);
};

struct gs_window_operator {
    struct gs_operator_state op; /* first */
    const struct gs_window_methods *methods;
    struct gs_windows windows;
};

/* False where there is no memory. */
bool gs_window_operator_open(struct gs_window_operator *op, const struct gs_window_methods *methods,
                             uint32_t value_count, const struct gs_operator_settings *settings);
/* Whether a row is below the punctuation: its window is closed or leaving, and a promise was not
 * kept. It is counted then. */
static inline bool gs_window_operator_is_late(struct gs_window_operator *op, const gs_bound *values)
{
    bool is_late = gs_windows_have_passed(&op->windows, values);
    op->op.base.counters.no_value += is_late;
    return is_late;
}
/* The window of a row; NULL where it has no room. */
static inline struct gs_window *gs_window_operator_meet(struct gs_window_operator *op,
                                                        const gs_bound *values)
{
    return gs_windows_meet(&op->windows, values, op->methods->admit, op);
}
/* For struct gs_operator_methods. */
void gs_window_operator_on_punctuation(struct gs_operator_state *op, uint32_t port,
                                       const struct gs_batch *batch);
void gs_window_operator_extend(struct gs_operator_state *op, uint32_t port,
                               struct gs_punctuation *last, struct gs_extent *extent);
void gs_window_operator_reach(struct gs_operator_state *op, gs_bound *own);
bool gs_window_operator_step(struct gs_operator_state *op);
void gs_window_operator_on_idle(struct gs_operator_state *op);
/* Whatever is left leaves unseen. */
void gs_window_operator_close(struct gs_window_operator *op);

#endif

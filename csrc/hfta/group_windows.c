/* SPDX-License-Identifier: Apache-2.0 */
#include "group_windows.h"

static struct gs_window *window_new(struct gs_group_operator *op, const gs_bound *values)
{
    const size_t size = op->shared.methods->window_size;
    uint64_t bytes = gs_windows_bytes(&op->shared.windows, size);
    struct gs_groups groups;
    if (!gs_groups_hold_window(op, bytes)) return NULL;
    if (gs_groups_begin(op, &groups)) {
        struct gs_window *window = gs_windows_add(&op->shared.windows, values, size);
        if (window != NULL) {
            groups.is_partial = &window->is_partial;
            ((struct gs_group_window *)window)->groups = groups;
            return window;
        }
        gs_groups_close(op, &groups);
    }
    gs_let_go(&op->shared.op.holder, bytes);
    return NULL;
}

/* A window without groups would be memory that max_groups does not bound. */
struct gs_window *gs_group_window_admit(void *owner, const gs_bound *values)
{
    struct gs_group_operator *op = owner;
    bool by_count = op->group_count >= op->max_groups;
    struct gs_window *window = by_count ? NULL : window_new(op, values);
    if (window != NULL) return window;
    gs_groups_count_refused(op, by_count);
    gs_windows_refuse(&op->shared.windows, values);
    return NULL;
}

struct gs_groups *gs_group_window_find(struct gs_group_operator *op, const gs_bound *values)
{
    if (gs_window_operator_is_late(&op->shared, values)) return NULL;
    struct gs_window *window = gs_window_operator_meet(&op->shared, values);
    if (window == NULL) return NULL;
    return gs_groups_begun(op, &((struct gs_group_window *)window)->groups);
}

/* HAVING does not save the budget. */
bool gs_group_window_leave(struct gs_window_operator *op, struct gs_window *due, uint32_t *budget)
{
    struct gs_group_window *window = (struct gs_group_window *)due;
    struct gs_operator *base = &op->op.base;
    uint64_t sequence = op->op.sequence;
    const struct gs_group_ops *ops = gs_group_ops_of(base);
    for (; window->cursor < window->groups.table.count; window->cursor++, --*budget) {
        if (*budget == 0 || op->op.sequence != sequence) return false;
        ops->emit(base, window->groups.table.entries + window->cursor * (size_t)ops->entry_size,
                  due->values);
    }
    return true;
}

void gs_group_window_clear(struct gs_window_operator *op, struct gs_window *base)
{
    gs_groups_close((struct gs_group_operator *)op, &((struct gs_group_window *)base)->groups);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that have a table of groups each: of an aggregation, whether its groups leave with their
 * window (aggregate.c, slide_rows.c) or go on (running.c). */
#ifndef GS_HFTA_GROUP_WINDOWS_H
#define GS_HFTA_GROUP_WINDOWS_H

#include "groups.h"

struct gs_group_window {
    struct gs_window window; /* first */
    struct gs_groups groups;
    uint32_t cursor; /* what is before it has left */
};

/* For struct gs_window_methods, and `find` of struct gs_group_operator. */
struct gs_window *gs_group_window_admit(void *op, const gs_bound *values);
bool gs_group_window_leave(struct gs_window_operator *op, struct gs_window *due, uint32_t *budget);
void gs_group_window_clear(struct gs_window_operator *op, struct gs_window *window);
struct gs_groups *gs_group_window_find(struct gs_group_operator *op, const gs_bound *values);

#endif

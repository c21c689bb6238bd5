/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of panes that follow on each other, of which the oldest goes and a newer one comes.
 *
 * A group is a queue of its entries in the panes, the oldest of which leaves first, with two
 * stacks' way of combining (as in Tangwongsan, Hirzel, Schneider, DEBS 2017): the entries of the
 * front each hold the aggregate of themselves and of all newer ones of the front, those of the back
 * are aggregated in the group as they come. When the front is empty, the back is turned into it.
 * Each entry is combined twice at most, however many windows it is in, and nothing is ever
 * subtracted, so that MIN and LAST are no different from COUNT. */
#ifndef GS_HFTA_PANE_GROUPS_H
#define GS_HFTA_PANE_GROUPS_H

#include "groups.h"

struct gs_pane_groups {
    struct gs_group_operator *op; /* its ops are struct gs_slide_ops */
    struct gs_group_table table;  /* as many entries as there are groups */
};

/* The groups of a pane, which nothing is added to any more; it is the newest, and stays where it is
 * until it leaves. False where there is no memory. */
bool gs_pane_groups_enter(struct gs_pane_groups *all, const struct gs_groups *pane);
/* The oldest pane goes. */
void gs_pane_groups_leave(struct gs_pane_groups *all, const struct gs_groups *pane);
/* What is held follows what is in the panes: memory for about so many groups stays. */
void gs_pane_groups_fit(struct gs_pane_groups *all, uint32_t count);
/* An entry: the aggregate of a group over all panes; `scratch` has room for one. */
const void *gs_pane_groups_at(const struct gs_pane_groups *all, uint32_t number, void *scratch);
/* All panes go at once. */
void gs_pane_groups_close(struct gs_pane_groups *all);

#endif

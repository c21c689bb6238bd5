/* SPDX-License-Identifier: Apache-2.0 */
/* The values that the groups of a window, or of a pane, have met: one index for all of them, whose
 * values lie in the window's memory and leave with it. A group has a set for each argument that is
 * kept so (count(DISTINCT x)); what is kept is counted against the budget. */
#ifndef GS_HFTA_VALUE_SETS_H
#define GS_HFTA_VALUE_SETS_H

#include "operator.h"

struct gs_group_operator;

struct gs_value_sets {
    struct gs_group_value **places; /* open addressing; NULL where empty */
    uint32_t mask, count;
};

void gs_value_sets_close(struct gs_group_operator *op, struct gs_value_sets *sets);

#endif

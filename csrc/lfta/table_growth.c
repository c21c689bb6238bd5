/* SPDX-License-Identifier: Apache-2.0 */
/* A table whose groups push each other out grows, between bursts: when a window ends or at a
 * heartbeat. Its groups leave first, as partial rows, so that nothing has to be hashed again. A
 * flood of groups that never come again is not helped by more slots: there must be packets that
 * meet their group, and the growth before must have kept more groups in. */
#include "lfta.h"

#define SLOTS_MAX (1u << 26)
#define EVICTED_PART (1.0 / 8) /* of the accepted packets: fewer are not worth it */
#define MET_PART (1.0 / 64)    /* of them, that met their group: fewer are a flood */
#define HELPED_PART (7.0 / 8)  /* of the evictions before the growth, that it may have left */

struct period {
    uint64_t accepted, evicted, met;
};

/* False: too little has come to judge by. */
static bool look_back(struct gs_lfta_state *lfta, struct period *period)
{
    struct gs_table_growth *growth = &lfta->growth;
    const struct gs_lfta_counters *counters = &lfta->base.counters;
    period->accepted = counters->accepted - growth->accepted_before;
    period->evicted = counters->evicted - growth->evicted_before;
    uint64_t entered = period->evicted + growth->occupied - growth->occupied_before;
    period->met = entered < period->accepted ? period->accepted - entered : 0;
    if (period->accepted < 2 * (uint64_t)lfta->base.table.slot_count) return false;
    growth->accepted_before = counters->accepted;
    growth->evicted_before = counters->evicted;
    growth->occupied_before = growth->occupied;
    return true;
}

static bool is_too_small(const struct gs_lfta_state *lfta, const struct period *period)
{
    double accepted = (double)period->accepted, evicted = (double)period->evicted;
    if (evicted < EVICTED_PART * accepted || (double)period->met < MET_PART * accepted)
        return false;
    double before = lfta->growth.evicted_part;
    return before == 0 || evicted < HELPED_PART * before * accepted;
}

void gs_table_grow_if_it_helps(struct gs_lfta_state *lfta)
{
    struct period period;
    uint32_t slots = lfta->base.table.slot_count;
    if (!lfta->growth.is_wanted || slots > SLOTS_MAX / 4 || !look_back(lfta, &period) ||
        !is_too_small(lfta, &period))
        return;
    double evicted_part = (double)period.evicted / (double)period.accepted;
    bool is_far_too_small = evicted_part > 2 * EVICTED_PART;
    if ((is_far_too_small && gs_table_resize(lfta, 4 * slots)) || gs_table_resize(lfta, 2 * slots))
        lfta->growth.evicted_part = evicted_part;
}

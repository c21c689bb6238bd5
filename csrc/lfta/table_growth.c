/* SPDX-License-Identifier: Apache-2.0 */
/* A table whose groups push each other out grows, between bursts: when a window ends or at a
 * heartbeat. One that the query calls adaptive also becomes smaller where a few windows have left
 * most of it empty: what is touched at random should lie in a cache. Its groups leave first, as
 * partial rows, so that nothing has to be hashed again. A flood of groups that never come again is
 * not helped by more slots: there must be packets that meet their group, and the growth before must
 * have let fewer groups in. */
#include "lfta.h"

#define SLOTS_MAX (1u << 26)
#define EVICTED_PART (1.0 / 8)        /* of the accepted packets: fewer are not worth it */
#define EVICTED_OF_MEMBERS (1.0 / 32) /* where several fill it: a group is rows of many of them */
#define MET_PART (1.0 / 64)           /* of them, that met their group: fewer are a flood */
#define HELPED_PART (7.0 / 8)         /* of the groups that entered before it, that may enter yet */
#define SHRINK_WINDOWS 3              /* that have said how many groups there are */
#define SLOTS_A_GROUP 8 /* at least, of a table that has become smaller: it need not grow */
#define LEAST_SLOTS 64

struct period {
    uint64_t accepted, evicted, entered; /* each group that enters is a row later */
};

/* False: too little has come to judge by. */
static bool look_back(struct gs_lfta_state *lfta, struct period *period)
{
    struct gs_table_growth *growth = &lfta->growth;
    uint64_t accepted = gs_table_accepted(lfta), evicted = gs_table_evicted(lfta);
    period->accepted = accepted - growth->accepted_before;
    period->evicted = evicted - growth->evicted_before;
    period->entered = period->evicted + growth->occupied - growth->occupied_before;
    if (period->accepted < 2 * (uint64_t)lfta->base.table.slot_count) return false;
    growth->accepted_before = accepted;
    growth->evicted_before = evicted;
    growth->occupied_before = growth->occupied;
    return true;
}

static bool is_too_small(const struct gs_lfta_state *lfta, const struct period *period)
{
    double accepted = (double)period->accepted, entered = (double)period->entered;
    double few = lfta->base.members != NULL ? EVICTED_OF_MEMBERS : EVICTED_PART;
    if ((double)period->evicted < few * accepted || entered > accepted * (1 - MET_PART))
        return false;
    double before = lfta->growth.entered_part;
    return before == 0 || entered < HELPED_PART * before * accepted;
}

/* What a growth was for is forgotten: the traffic is another. */
static void shrink(struct gs_lfta_state *lfta)
{
    struct gs_table_growth *growth = &lfta->growth;
    uint32_t slots = lfta->base.table.slot_count, wanted = slots;
    while (wanted / 2 >= LEAST_SLOTS && wanted / 2 >= SLOTS_A_GROUP * growth->groups_most)
        wanted /= 2;
    if (wanted < slots && gs_table_resize(lfta, wanted)) growth->entered_part = 0;
}

static void shrink_if_it_is_empty(struct gs_lfta_state *lfta, uint64_t groups, bool window_ended)
{
    struct gs_table_growth *growth = &lfta->growth;
    if (groups > growth->groups_most) growth->groups_most = groups;
    growth->windows += window_ended;
    if (growth->windows <= SHRINK_WINDOWS) return; /* the first may have begun before */
    shrink(lfta);
    growth->windows = 0;
    growth->groups_most = 0;
}

static void grow_if_it_helps(struct gs_lfta_state *lfta)
{
    struct period period;
    uint32_t slots = lfta->base.table.slot_count;
    if (slots > SLOTS_MAX / 4 || !look_back(lfta, &period) || !is_too_small(lfta, &period)) return;
    double evicted_part = (double)period.evicted / (double)period.accepted;
    bool is_far_too_small = evicted_part > 2 * EVICTED_PART;
    if ((is_far_too_small && gs_table_resize(lfta, 4 * slots)) || gs_table_resize(lfta, 2 * slots))
        lfta->growth.entered_part = (double)period.entered / (double)period.accepted;
}

void gs_table_fit(struct gs_lfta_state *lfta, uint64_t groups, bool window_ended)
{
    if (!lfta->growth.is_wanted) return;
    grow_if_it_helps(lfta);
    if (lfta->growth.may_shrink) shrink_if_it_is_empty(lfta, groups, window_ended);
}

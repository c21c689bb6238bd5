/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that several LFTAs fill. Each keeps time for itself and promises by the windows in which
 * it has groups; who has the table ages it for all of them. */
#include <stdlib.h>

#include "lfta.h"

int gs_lfta_join(struct gs_lfta_state *lfta, struct gs_lfta_state *owner, struct gs_error *error)
{
    if (lfta == owner) lfta->base.members = calloc(1, sizeof *lfta->base.members);
    if (owner->base.members == NULL)
        return gs_fail(error, GS_ERROR, "no memory for a table of several queries");
    lfta->owner = owner;
    lfta->base.members = owner->base.members;
    lfta->base.members->lftas[lfta->base.ops->member->number] = &lfta->base;
    return GS_OK;
}

uint32_t gs_lfta_groups_in(const struct gs_lfta_state *lfta, uint32_t window)
{
    const struct gs_members *members = lfta->base.members;
    if (members == NULL) return lfta->base.table.windows[window].group_count;
    return members->groups[lfta->base.ops->member->predicate][window];
}

uint32_t gs_lfta_ways(const struct gs_lfta_state *lfta)
{
    return lfta->base.members != NULL ? GS_MEMBERS_WAYS : GS_LFTA_WAYS(lfta->base.ops->slot_size);
}

uint64_t gs_table_groups(const struct gs_lfta_state *lfta)
{
    uint64_t count = 0;
    for (uint32_t w = 0; w < GS_LFTA_WINDOWS; w++)
        count += lfta->owner->base.table.windows[w].group_count;
    return count;
}

uint64_t gs_table_accepted(const struct gs_lfta_state *lfta)
{
    const struct gs_members *members = lfta->base.members;
    return members == NULL ? lfta->base.counters.accepted : members->accepted;
}

uint64_t gs_table_evicted(const struct gs_lfta_state *lfta)
{
    const struct gs_members *members = lfta->base.members;
    return members == NULL ? lfta->base.counters.evicted : members->evicted;
}

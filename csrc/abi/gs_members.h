/* SPDX-License-Identifier: Apache-2.0 */
/* LFTAs that fill one table together: of the same packets and groups, each with its own predicate,
 * aggregates and stream. The first has the table. Those of one predicate have a number in common,
 * which is a bit of a packet and of a slot: the packet passes it, the group is there for it. */
#ifndef GS_MEMBERS_H
#define GS_MEMBERS_H

#include "gs_query_set.h"

#define GS_MEMBERS_MAX 32

struct gs_member {
    const struct gs_lfta_ops *owner; /* who has the table, itself perhaps */
    uint32_t number;                 /* which of them it is */
    uint32_t predicate;              /* the number of its predicate */
};

struct gs_members {
    uint64_t accepted, evicted; /* of the table: packets of any predicate, slots */
    /* Groups of each predicate that are in the table, by window. */
    uint32_t groups[GS_MEMBERS_MAX][GS_LFTA_WINDOWS];
    struct gs_lfta *lftas[GS_MEMBERS_MAX]; /* in the order of the query set */
};

/* Each predicate of the bits has one more group in the window. */
static inline void gs_members_enter(struct gs_members *members, uint32_t bits, uint32_t window)
{
    for (; bits != 0; bits &= bits - 1)
        members->groups[__builtin_ctz(bits)][window]++;
}

static inline void gs_members_leave(struct gs_members *members, uint32_t bits, uint32_t window)
{
    for (; bits != 0; bits &= bits - 1)
        members->groups[__builtin_ctz(bits)][window]--;
}

/* One more of each of the bits. */
static inline void gs_members_count(uint64_t *counts, uint32_t bits)
{
    for (; bits != 0; bits &= bits - 1)
        counts[__builtin_ctz(bits)]++;
}

/* What an LFTA has counted of a burst is so of another with its predicate, too. */
static inline void gs_members_follow(struct gs_lfta_counters *to, const struct gs_lfta_counters *of,
                                     const struct gs_lfta_counters *before)
{
    to->not_of_protocol += of->not_of_protocol - before->not_of_protocol;
    to->prefiltered += of->prefiltered - before->prefiltered;
    to->rejected += of->rejected - before->rejected;
    to->no_value += of->no_value - before->no_value;
    to->accepted += of->accepted - before->accepted;
    to->evicted += of->evicted - before->evicted;
}

#endif

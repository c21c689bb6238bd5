/* SPDX-License-Identifier: Apache-2.0 */
/* LFTAs that fill one table together: of the same packets and groups, each with its own predicate,
 * aggregates and stream. The first has the table. Those of one predicate have a number in common,
 * which is a bit of a packet and of a slot: the packet passes it, the group is there for it. */
#ifndef GS_MEMBERS_H
#define GS_MEMBERS_H

#include "gs_query_set.h"

#define GS_MEMBERS_MAX 32
#define GS_MEMBERS_WAYS 4  /* slots in which a group may lie: one pushed out is rows of many */
#define GS_MEMBERS_AHEAD 8 /* packets, for which a slot is fetched */
#define GS_MEMBERS_LANES 8

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

/* Turns bits of 32 packets by predicate into bits of predicates by packet: a square of bits over
 * its diagonal, halves first (Warren, Hacker's Delight, 7-3). */
static inline void gs_members_turn_half(uint32_t *square)
{
    for (uint32_t step = 16, mask = 0xffff; step != 0; step >>= 1, mask ^= mask << step)
        for (uint32_t row = 0; row < 32; row = (row + step + 1) & ~step) {
            const uint32_t moved = (square[row] >> step ^ square[row + step]) & mask;
            square[row] ^= moved << step;
            square[row + step] ^= moved;
        }
}

/* `passed` of 64 packets, a bit for each of the predicates, from a word of packets for each. */
static inline void gs_members_turn(const uint64_t *passes, uint32_t predicates, uint32_t *passed)
{
    memset(passed, 0, 64 * sizeof *passed);
    for (uint32_t p = 0; p < predicates; p++) {
        passed[p] = (uint32_t)passes[p];
        passed[32 + p] = (uint32_t)(passes[p] >> 32);
    }
    gs_members_turn_half(passed);
    gs_members_turn_half(passed + 32);
}

typedef uint32_t gs_members_sums __attribute__((vector_size(4 * GS_MEMBERS_LANES)));
typedef uint16_t gs_members_counts __attribute__((vector_size(2 * GS_MEMBERS_LANES)));

/* Adds to the sums of those predicates whose bits are set, without a branch for any; there are
 * cells for whole vectors. */
static inline void gs_members_sum(uint32_t *cells, uint32_t predicates, uint32_t bits,
                                  uint32_t value)
{
    const gs_members_sums each = {1, 2, 4, 8, 16, 32, 64, 128};
    for (uint32_t p = 0; p < predicates; p += GS_MEMBERS_LANES, bits >>= GS_MEMBERS_LANES) {
        gs_members_sums lanes;
        memcpy(&lanes, cells + p, sizeof lanes);
        lanes += (gs_members_sums)((each & bits) == each) & value;
        memcpy(cells + p, &lanes, sizeof lanes);
    }
}

/* The same of counts: one more. */
static inline void gs_members_one_more(uint16_t *cells, uint32_t predicates, uint32_t bits)
{
    const gs_members_counts each = {1, 2, 4, 8, 16, 32, 64, 128};
    for (uint32_t p = 0; p < predicates; p += GS_MEMBERS_LANES, bits >>= GS_MEMBERS_LANES) {
        gs_members_counts lanes;
        memcpy(&lanes, cells + p, sizeof lanes);
        lanes -= (gs_members_counts)((each & (uint16_t)(bits & 0xff)) == each);
        memcpy(cells + p, &lanes, sizeof lanes);
    }
}

/* What sums of 32 bits have at most, with one more packet. */
static inline uint32_t gs_members_more(uint32_t most, uint64_t weight)
{
    return most + weight > UINT32_MAX ? UINT32_MAX : (uint32_t)(most + weight);
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

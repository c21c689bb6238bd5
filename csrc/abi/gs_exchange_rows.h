/* SPDX-License-Identifier: Apache-2.0 */
/* Where engines exchange rows: an LFTA's own groups are those of a part of the hash, and rows of
 * other groups are put into lanes, by whose they are. */
#ifndef GS_EXCHANGE_ROWS_H
#define GS_EXCHANGE_ROWS_H

#include "gs_types.h"

#define GS_PARTS_MAX 64

/* Rows on their way to one of the parts, which has room for those of a burst. */
struct gs_lane {
    uint8_t *rows;
    uint32_t count;
};

struct gs_lanes {
    uint32_t parts, own;
    bool has_window; /* W has not passed the last one of which a row was dealt */
    const gs_bound *window;
    struct gs_lane lanes[GS_PARTS_MAX]; /* the own one: what stays here of the burst at hand */
};

/* Whose a group is, by the uppermost bits of what says in which slot it lies, which a table of 2^24
 * slots has no use for; a larger one is the sparser for it. */
static inline uint32_t gs_part_of(uint32_t slot, uint32_t parts)
{
    return (slot >> 24) * parts >> 8;
}

#endif

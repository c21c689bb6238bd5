/* SPDX-License-Identifier: Apache-2.0 */
/* What records that follow one another have in common, as far as their source's time goes: from
 * that it is seen that nothing happens at any of them, without asking each. */
#ifndef GS_FRAME_RUN_H
#define GS_FRAME_RUN_H

#include "gs_packet.h"

/* How far a run may go: the first record that is outside is not of it. */
struct gs_frame_reach {
    int64_t least_ns;      /* timestamp */
    int64_t high_ns;       /* H behind it: less than this */
    uint64_t until_offset; /* where the record begins in the source: before this */
};

struct gs_frame_run {
    int64_t high_ns, previous_ns; /* H and the last timestamp: before the run, then behind it */
    int64_t least_ns, greatest_ns;
    uint64_t last_offset; /* where the last record begins in the source */
    size_t bytes;         /* of all of them, where they lie one behind the other */
    uint64_t captured;    /* bytes of packets */
    uint32_t truncated;
};

static inline struct gs_frame_run gs_frame_run_of(int64_t high_ns, int64_t previous_ns)
{
    return (struct gs_frame_run){.high_ns = high_ns,
                                 .previous_ns = previous_ns,
                                 .least_ns = INT64_MAX,
                                 .greatest_ns = INT64_MIN};
}

/* H behind one more record, as gs_source_time_observe has it. */
static inline int64_t gs_frame_run_high(const struct gs_frame_run *run, int64_t timestamp_ns)
{
    int64_t both_reached = timestamp_ns < run->previous_ns ? timestamp_ns : run->previous_ns;
    return both_reached > run->high_ns ? both_reached : run->high_ns;
}

/* Whether one more record is within reach, as far as time goes. */
static inline bool gs_frame_is_within(const struct gs_frame_reach *reach,
                                      const struct gs_frame_run *run, int64_t timestamp_ns)
{
    return timestamp_ns >= reach->least_ns && gs_frame_run_high(run, timestamp_ns) < reach->high_ns;
}

/* Of so many bytes, from this offset of the source on: how many have a begin of a record within
 * reach. */
static inline size_t gs_frame_reach_bytes(const struct gs_frame_reach *reach, uint64_t offset,
                                          size_t bytes)
{
    if (reach->until_offset <= offset) return 0;
    return reach->until_offset - offset < bytes ? (size_t)(reach->until_offset - offset) : bytes;
}

static inline void gs_frame_run_see(struct gs_frame_run *run, int64_t timestamp_ns)
{
    run->high_ns = gs_frame_run_high(run, timestamp_ns);
    run->least_ns = timestamp_ns < run->least_ns ? timestamp_ns : run->least_ns;
    run->greatest_ns = timestamp_ns > run->greatest_ns ? timestamp_ns : run->greatest_ns;
    run->previous_ns = timestamp_ns;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Time at a source: how far it has come (H) and what it promises (W), packet by packet.
 *
 * Punctuation starts here (Li et al., VLDB 2008, section 3; heartbeats: Johnson et al., VLDB 2005):
 * every bound that any operator ever gives is a function of some source's W. Both only grow, and
 * for files and pipes they are a function of the input's bytes alone, never of bursts or clocks.
 *
 * A file's disorder is counted in its own bytes. It is cut into blocks, a record belongs to the
 * block in which it begins, and a block in which none begins does not count. When block k is done,
 * no later packet may be below the least timestamp of blocks k-1 and k: a step back of less than
 * one block is never late. A pipe's disorder is counted in time: W = H - slack. So is a live
 * link's, where W also follows the clock: a packet may be so far behind it, the skew, and no more.
 */
#ifndef GS_CAPTURE_SOURCE_TIME_H
#define GS_CAPTURE_SOURCE_TIME_H

#include "gs_frame_run.h"

struct gs_source_time {
    /* H: the greatest timestamp that two consecutive packets have both reached, so that one lying
     * timestamp raises nothing; GS_BOUND_NONE before. */
    int64_t high_timestamp_ns;
    /* W: no later tuple of the source is below it; GS_BOUND_NONE: nothing is promised yet. */
    int64_t promise_ns;
    int64_t previous_timestamp_ns;
    /* What the clock of a live link last raised W to: while W is that, what lies below it is skew.
     */
    int64_t clock_promise_ns;

    bool has_slack;
    int64_t slack_ns;

    uint64_t block_bytes;
    uint64_t block_end_offset; /* where the next block begins; UINT64_MAX without blocks */
    uint64_t blocks_begun;     /* all but the last are done */
    int64_t least_in_block_ns; /* INT64_MAX: none yet */
    int64_t least_in_previous_block_ns;
};

/* What the packet just observed is. */
enum gs_timeliness {
    GS_TIMELY,
    GS_LATE,    /* below W when it was read: to be dropped and counted */
    GS_TIMELESS /* GS_FRAME_NO_TIME: it has no part in H or W, but its block counts */
};

/* A capture file, with `--disorder`; block_bytes > 0. */
struct gs_source_time gs_source_time_by_blocks(uint64_t block_bytes);
/* A pipe, record stream or live link, or a file with `--slack` or `--speed`; slack_ns >= 0. */
struct gs_source_time gs_source_time_by_slack(int64_t slack_ns);
/* `--disorder all`: it promises nothing before its end. */
struct gs_source_time gs_source_time_without_bound(void);

/* Raises W from outside, to what a source must keep that joins a running interface or was scanned
 * before it was opened. Never lowers it. */
void gs_source_time_raise(struct gs_source_time *time, int64_t promise_ns);

/* The same for a live link on which all that has come was read when the clock was. */
void gs_source_time_raise_by_clock(struct gs_source_time *time, int64_t promise_ns);

/* Of the block that is being read and the one before; INT64_MAX: there is none. */
int64_t gs_source_time_least_of_two_blocks(const struct gs_source_time *time);

/* The slow path of gs_source_time_observe: a record begins in a later block than the ones before.
 */
void gs_source_time_enter_block(struct gs_source_time *time, uint64_t offset);

/* W behind a run of records that begins where the source is, and in which no block begins; nowhere
 * in it is it greater. */
static inline int64_t gs_source_time_promise_after(const struct gs_source_time *time,
                                                   const struct gs_frame_run *run)
{
    int64_t promise_ns;
    bool raises = time->has_slack &&
                  !__builtin_sub_overflow(run->high_ns, time->slack_ns, &promise_ns) &&
                  promise_ns > time->promise_ns;
    return raises ? promise_ns : time->promise_ns;
}

/* Takes notice of all of such a run, whose timestamps are all usable. */
static inline void gs_source_time_pass(struct gs_source_time *time, const struct gs_frame_run *run)
{
    time->promise_ns = gs_source_time_promise_after(time, run);
    time->high_timestamp_ns = run->high_ns;
    time->previous_timestamp_ns = run->previous_ns;
    if (run->least_ns < time->least_in_block_ns) time->least_in_block_ns = run->least_ns;
}

/* Takes notice of the next record of the source, of every one and in its order. */
static inline enum gs_timeliness gs_source_time_observe(struct gs_source_time *time,
                                                        const struct gs_packet *packet)
{
    if (packet->offset >= time->block_end_offset) gs_source_time_enter_block(time, packet->offset);
    if (packet->flags & GS_FRAME_NO_TIME) return GS_TIMELESS;
    const int64_t timestamp = packet->timestamp_ns;
    if (timestamp < time->least_in_block_ns) time->least_in_block_ns = timestamp;

    const int64_t previous = time->previous_timestamp_ns;
    const int64_t both_reached = timestamp < previous ? timestamp : previous;
    time->previous_timestamp_ns = timestamp;
    if (both_reached > time->high_timestamp_ns) {
        time->high_timestamp_ns = both_reached;
        int64_t promise;
        if (time->has_slack && !__builtin_sub_overflow(both_reached, time->slack_ns, &promise) &&
            promise > time->promise_ns)
            time->promise_ns = promise;
    }
    return timestamp < time->promise_ns ? GS_LATE : GS_TIMELY;
}

#endif

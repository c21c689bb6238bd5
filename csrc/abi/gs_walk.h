/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a classic pcap file as they lie in memory, for who decodes packets one by one: it
 * walks over them itself, so that the wait for one record's length, which says where the next
 * begins, is filled with the work on the packet before. A frame for each record first costs by hand
 * a tenth to a sixth of a whole loop. */
#ifndef GS_WALK_H
#define GS_WALK_H

#include "gs_frame_run.h"

/* Whether an LFTA's function over a burst is compiled once more for it: not where the compiler is
 * to be quick. */
#ifndef GS_WALKS
#ifdef __OPTIMIZE__
#define GS_WALKS true
#else
#define GS_WALKS false
#endif
#endif

#define GS_RECORD_HEADER_BYTES 16
#define GS_CAPTURED_BYTES_MAX 262144u /* more is damage, in every format (GSQL section 8) */

/* What lies there, in this host's byte order, and how far one may go: who has gone on to the first
 * record that is outside says how many there were, and what they have in common. */
struct gs_walk {
    const uint8_t *first, *until, *end; /* a record's header begins before `until` */
    const uint8_t *at;                  /* the next one */
    uint32_t nanoseconds_per_tick;
    uint32_t most, left; /* records: at most, and of them yet */
    struct gs_frame_reach reach;
    struct gs_frame_run run;
};

/* The frame of the next record; false: it is outside, or is to be looked at by who knows all that
 * can be wrong with one. */
static inline bool gs_walk_see(const struct gs_walk *walk, struct gs_frame *frame)
{
    const uint8_t *const record = walk->at;
    uint32_t seconds, ticks;

    if (walk->left == 0 || record >= walk->until) return false;
    memcpy(&seconds, record, sizeof seconds);
    memcpy(&ticks, record + 4, sizeof ticks);
    memcpy(&frame->caplen, record + 8, sizeof frame->caplen);
    memcpy(&frame->len, record + 12, sizeof frame->len);
    frame->bytes = record + GS_RECORD_HEADER_BYTES;
    frame->timestamp_ns =
        (int64_t)seconds * 1000000000 + (int64_t)ticks * walk->nanoseconds_per_tick;
    return frame->caplen <= GS_CAPTURED_BYTES_MAX &&
           frame->caplen <= (size_t)(walk->end - frame->bytes) &&
           gs_frame_is_within(&walk->reach, &walk->run, frame->timestamp_ns);
}

static inline void gs_walk_pass(struct gs_walk *walk, const struct gs_frame *frame)
{
    gs_frame_run_see(&walk->run, frame->timestamp_ns);
    walk->run.truncated += frame->caplen < frame->len;
    walk->at = frame->bytes + frame->caplen;
    walk->left--;
}

/* How many records there were. */
static inline uint32_t gs_walk_end(struct gs_walk *walk)
{
    walk->run.bytes = (size_t)(walk->at - walk->first);
    return walk->most - walk->left;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Records become a burst: each moves its source's time, and is a tuple or is dropped and counted.
 */
#include <sys/time.h>

#include "source.h"

/* What pcap_offline_filter is told of a packet: libpcap's struct pcap_pkthdr. */
struct filter_header {
    struct timeval time;
    uint32_t caplen;
    uint32_t len;
};

static bool passes_filter(struct gs_source *source, const struct gs_burst_limits *limits,
                          const struct gs_packet *packet)
{
    const struct gs_capture_interface *interface =
        source->ops->interface(source->capture, packet->interface);
    struct filter_header header = {.caplen = packet->caplen, .len = packet->len};
    for (uint32_t i = 0; i < limits->filter_count; i++)
        if (limits->filters[i].link_type == interface->link_type)
            return limits->filters[i].function(limits->filters[i].program, &header,
                                               packet->bytes) != 0;
    return false;
}

/* Its filter sees other bytes than that of the same packet without a tag. */
static bool has_tag(const struct gs_packet *packet)
{
    if (packet->link != GS_LINK_ETHERNET || packet->caplen < 14) return false;
    uint32_t type = (uint32_t)packet->bytes[12] << 8 | packet->bytes[13];
    return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

/* `late` or `skew` by what raised W last. */
static void count_late(struct gs_source *source, const struct gs_packet *packet)
{
    int64_t lateness = source->time.promise_ns - packet->timestamp_ns;
    if (source->time.promise_ns == source->time.clock_promise_ns)
        source->statistics.skew++;
    else
        source->statistics.late++;
    if (lateness > source->statistics.worst_lateness_ns)
        source->statistics.worst_lateness_ns = lateness;
}

/* The first cause that applies counts (OPERATORS section 7). */
static __attribute__((noinline)) bool is_tuple(struct gs_source *source,
                                               const struct gs_burst_limits *limits,
                                               const struct gs_packet *packet,
                                               enum gs_timeliness timeliness)
{
    struct gs_source_statistics *statistics = &source->statistics;
    statistics->truncated += (packet->flags & GS_FRAME_TRUNCATED) != 0;
    if (timeliness == GS_TIMELESS || (packet->flags & GS_FRAME_UNSUPPORTED)) {
        statistics->undecodable++;
        return false;
    }
    if (limits->filter_count > 0 && !(packet->flags & GS_FRAME_FILTERED) &&
        !passes_filter(source, limits, packet)) {
        statistics->filtered++;
        statistics->filtered_tagged += has_tag(packet);
        return false;
    }
    if (timeliness == GS_LATE) {
        count_late(source, packet);
        return false;
    }
    statistics->decoded++;
    statistics->carried += (packet->flags & GS_FRAME_CARRIED) != 0;
    return true;
}

/* What the records of a run have in common, and what their flags have. */
struct run {
    struct gs_frame_run frames;
    uint32_t any_flags, all_flags;
};

static struct run look_over(const struct gs_source_time *time, const struct gs_packet *packets,
                            uint32_t count)
{
    struct run run = {gs_frame_run_of(time->high_timestamp_ns, time->previous_timestamp_ns), 0,
                      UINT32_MAX};
    for (uint32_t i = 0; i < count; i++) {
        gs_frame_run_see(&run.frames, packets[i].timestamp_ns);
        run.any_flags |= packets[i].flags;
        run.all_flags &= packets[i].flags;
        run.frames.truncated += packets[i].flags & GS_FRAME_TRUNCATED;
    }
    run.frames.truncated /= GS_FRAME_TRUNCATED;
    run.frames.last_offset = packets[count - 1].offset;
    return run;
}

#define ASKED_EACH (GS_FRAME_NO_TIME | GS_FRAME_UNSUPPORTED | GS_FRAME_CARRIED | GS_FRAME_CLOCK)

/* A run of records in which nothing happens: none is to be dropped, none late, no block and no
 * limit reached. That is seen from what all of them have in common, without asking each. */
static bool is_quiet(const struct gs_source *source, const struct gs_burst_limits *limits,
                     const struct gs_frame_run *run)
{
    int64_t promise_ns = gs_source_time_promise_after(&source->time, run);
    return promise_ns < limits->promise_ns && run->high_ns < limits->high_ns &&
           run->least_ns >= promise_ns && run->greatest_ns <= limits->until_ns &&
           run->last_offset < source->time.block_end_offset;
}

/* The source's time behind the run. */
static void pass_run(struct gs_source *source, const struct gs_frame_run *run, uint32_t count)
{
    gs_source_time_pass(&source->time, run);
    if (run->greatest_ns > source->greatest_ns) source->greatest_ns = run->greatest_ns;
    source->statistics.decoded += count;
    source->statistics.truncated += run->truncated;
}

static bool take_quiet(struct gs_source *source, const struct gs_burst_limits *limits,
                       uint32_t count)
{
    if (count == 0) return false;
    struct run run = look_over(&source->time, &source->packets[source->cursor], count);
    bool all_pass = limits->filter_count == 0 || run.all_flags & GS_FRAME_FILTERED;
    if (!all_pass || run.any_flags & ASKED_EACH || !is_quiet(source, limits, &run.frames))
        return false;
    pass_run(source, &run.frames, count);
    source->cursor += count;
    return true;
}

/* As far as neither H nor W reaches a limit, no record is late and no block begins. */
static struct gs_frame_reach reach_of(const struct gs_source_time *time,
                                      const struct gs_burst_limits *limits)
{
    struct gs_frame_reach reach = {time->promise_ns, limits->high_ns, time->block_end_offset};
    int64_t raises_ns;
    if (time->has_slack &&
        !__builtin_add_overflow(limits->promise_ns, time->slack_ns, &raises_ns) &&
        raises_ns < reach.high_ns)
        reach.high_ns = raises_ns;
    return reach;
}

static bool has_reached(const struct gs_source_time *time, const struct gs_burst_limits *limits)
{
    return time->high_timestamp_ns >= limits->high_ns || time->promise_ns >= limits->promise_ns;
}

/* The next record, of all that its source's time asks of one. */
static enum gs_timeliness observe(struct gs_source *source, const struct gs_packet *packet)
{
    source->before_observed_ns = source->time.previous_timestamp_ns;
    return gs_source_time_observe(&source->time, packet);
}

/* Nothing of it is read ahead: it can be looked into. */
static bool is_unread(const struct gs_source *source, const struct gs_burst_limits *limits)
{
    return source->cursor == source->filled && limits->filter_count == 0;
}

/* At most so many records at a time. */
static uint32_t most_of(const struct gs_burst_limits *limits)
{
    return limits->burst < limits->packets ? limits->burst : (uint32_t)limits->packets;
}

/* H may have been raised by the first record, which is then seen again, and is no higher for it. */
static struct gs_frame_run run_from(const struct gs_source *source)
{
    const struct gs_source_time *time = &source->time;
    return gs_frame_run_of(time->high_timestamp_ns, source->is_observed
                                                        ? source->before_observed_ns
                                                        : time->previous_timestamp_ns);
}

/* Of what comes behind a run little is read ahead as packets: the next run may begin behind it. */
static void take_run(struct gs_source *source, const struct gs_burst_limits *limits,
                     const struct gs_frame_run *run, uint32_t count)
{
    if (count == most_of(limits) && source->fill_most > 1) source->fill_most /= 2;
    if (run->high_ns != source->time.high_timestamp_ns) source->rose_at_ns = source->read_at_ns;
    source->is_observed = source->is_ahead = false;
    source->ops->pass(source->capture, count, run);
    pass_run(source, run, count);
    source->statistics.read += count;
}

/* Frames lie where packets are read ahead. */
uint32_t gs_source_take_frames(struct gs_source *source, const struct gs_burst_limits *limits)
{
    struct gs_frame *frames = (struct gs_frame *)source->packets;
    if (!is_unread(source, limits)) return 0;
    const struct gs_frame_reach reach = reach_of(&source->time, limits);
    struct gs_frame_run run = run_from(source);
    uint32_t count = source->ops->peek(source->capture, frames, most_of(limits), &reach, &run);
    if (count == 0 || !is_quiet(source, limits, &run) || !gs_source_holds(source, &run)) return 0;
    take_run(source, limits, &run, count);
    return count;
}

/* Whatever is within reach is quiet then. */
bool gs_source_begin_walk(const struct gs_source *source, const struct gs_burst_limits *limits,
                          struct gs_walk *walk)
{
    const struct gs_source_time *time = &source->time;
    bool may_end_in_it = time->has_slack || limits->until_ns != INT64_MAX;
    if (source->ops->walk == NULL || may_end_in_it) return false;
    if (!is_unread(source, limits) || time->promise_ns >= limits->promise_ns) return false;
    *walk = (struct gs_walk){.reach = reach_of(time, limits), .run = run_from(source)};
    walk->most = walk->left = most_of(limits);
    return source->ops->walk(source->capture, walk);
}

uint32_t gs_source_end_walk(struct gs_source *source, const struct gs_burst_limits *limits,
                            struct gs_walk *walk)
{
    uint32_t count = gs_walk_end(walk);
    if (count > 0) take_run(source, limits, &walk->run, count);
    return count;
}

bool gs_source_next_reaches(struct gs_source *source, const struct gs_burst_limits *limits)
{
    const struct gs_frame_reach any = {INT64_MIN, INT64_MAX, UINT64_MAX};
    struct gs_frame_run run = gs_frame_run_of(INT64_MIN, INT64_MIN);
    struct gs_frame frame;
    if (!is_unread(source, limits) || source->is_observed || limits->packets == 0) return false;
    if (source->ops->peek(source->capture, &frame, 1, &any, &run) == 0) return false;
    const struct gs_packet packet = {.timestamp_ns = frame.timestamp_ns, .offset = run.last_offset};
    if (packet.timestamp_ns > limits->until_ns) return false;
    source->timeliness = observe(source, &packet);
    source->is_observed = true;
    return has_reached(&source->time, limits);
}

static void note_greatest(struct gs_source *source, const struct gs_packet *packet)
{
    bool has_time = (packet->flags & GS_FRAME_NO_TIME) == 0;
    if (has_time && packet->timestamp_ns > source->greatest_ns)
        source->greatest_ns = packet->timestamp_ns;
}

static uint32_t most(const struct gs_source *source, const struct gs_burst_limits *limits)
{
    uint32_t count = source->filled - source->cursor;
    if (count > limits->burst) count = limits->burst;
    return count < limits->packets ? count : (uint32_t)limits->packets;
}

bool gs_source_take(struct gs_source *source, const struct gs_burst_limits *limits, uint32_t *first,
                    uint32_t *count, uint64_t *records)
{
    uint32_t kept = 0, begin = source->cursor;
    int64_t high_ns = source->time.high_timestamp_ns;
    bool reached = false;
    *records = 0;
    if (!source->is_observed && take_quiet(source, limits, most(source, limits)))
        *records = kept = source->cursor - begin;
    while (source->cursor < source->filled && kept < limits->burst && *records < limits->packets) {
        struct gs_packet *packet = &source->packets[source->cursor];
        if (GS_UNLIKELY(gs_source_next_timestamp(source) > limits->until_ns)) break;
        if (!source->is_observed) {
            if (gs_source_is_live(source) && packet->timestamp_ns < source->time.promise_ns)
                gs_source_carry(source, packet);
            source->timeliness = observe(source, packet);
            reached = has_reached(&source->time, limits);
            if (GS_UNLIKELY(reached)) {
                source->is_observed = true; /* it enters after time has advanced */
                break;
            }
        }
        source->is_observed = false;
        source->cursor++;
        if (packet->flags & GS_FRAME_CLOCK) continue;
        ++*records;
        if (!is_tuple(source, limits, packet, source->timeliness)) continue;
        note_greatest(source, packet);
        if (begin + kept != source->cursor - 1) source->packets[begin + kept] = *packet;
        kept++;
    }
    if (source->time.high_timestamp_ns != high_ns) source->rose_at_ns = source->read_at_ns;
    source->statistics.read += *records;
    *first = begin;
    *count = kept;
    return reached;
}

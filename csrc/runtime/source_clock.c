/* SPDX-License-Identifier: Apache-2.0 */
/* A live link beside the host's clock (OPERATORS section 2): packets that are ahead of it, packets
 * that a step has put behind, time that passes where nothing comes. */
#include "source.h"

static bool has_waiting(const struct gs_source *source)
{
    return source->cursor < source->filled || source->ops->has_unread(source->capture);
}

/* What is stamped before the clock has come to W comes within max_skew after that, or is skew. */
static void expect_carried(struct gs_source *source)
{
    int64_t behind_ns = 0;
    if (source->believed_ns < source->time.promise_ns)
        behind_ns = source->time.promise_ns - source->believed_ns;
    source->carries_until_ns = source->read_at_ns + behind_ns + source->clock.max_skew_ns;
}

static void read_clock(struct gs_source *source, struct gs_clock_reading reading)
{
    uint64_t steps = source->clock.steps;
    source->believed_ns = gs_clock_believe(&source->clock, reading);
    source->read_at_ns = reading.monotonic_ns;
    bool is_behind = source->believed_ns < source->time.promise_ns;
    int64_t latest_ns = source->read_at_ns + source->clock.max_skew_ns;
    if (source->clock.steps > steps || is_behind)
        expect_carried(source);
    else if (source->carries_until_ns > latest_ns)
        source->carries_until_ns = latest_ns; /* it has come there sooner, by a step ahead */
}

/* A glitch that came and went between two readings is seen by its packets alone: it is told like a
 * step, once. One that was read has been told. */
static void see_packets_ahead(struct gs_source *source, int64_t ahead_ns)
{
    struct gs_clock *clock = &source->clock;
    int64_t since_ns = source->read_at_ns - clock->stepped_at_ns;
    bool was_read = clock->steps > 0 && since_ns <= clock->max_skew_ns;
    if (was_read || source->is_ahead) return;
    clock->steps++;
    clock->step_ns = ahead_ns;
    clock->stepped_at_ns = source->read_at_ns;
}

void gs_source_hold(struct gs_source *source, struct gs_clock_reading reading)
{
    int64_t ahead_ns = 0;
    read_clock(source, reading);
    for (uint32_t i = source->cursor; i < source->filled; i++) {
        struct gs_packet *packet = &source->packets[i];
        if (packet->timestamp_ns - source->clock.max_skew_ns <= source->believed_ns) continue;
        if (ahead_ns == 0) ahead_ns = packet->timestamp_ns - source->believed_ns;
        packet->timestamp_ns = source->believed_ns;
        packet->flags |= GS_FRAME_CARRIED;
    }
    if (ahead_ns > 0) {
        see_packets_ahead(source, ahead_ns);
        expect_carried(source);
    }
    source->is_ahead = ahead_ns > 0;
}

/* When a packet came, by its stamp: it may be read long after that, but what was found empty since
 * did not hold it. */
static int64_t came_at(const struct gs_source *source, const struct gs_packet *packet)
{
    if (packet->timestamp_ns >= source->believed_ns) return source->read_at_ns;
    int64_t by_stamp_ns = source->read_at_ns - (source->believed_ns - packet->timestamp_ns);
    return by_stamp_ns > source->empty_at_ns ? by_stamp_ns : source->empty_at_ns;
}

void gs_source_carry(struct gs_source *source, struct gs_packet *packet)
{
    int64_t promise_ns = source->time.promise_ns;
    if (source->believed_ns < promise_ns) expect_carried(source);
    if (came_at(source, packet) > source->carries_until_ns) return;
    packet->timestamp_ns = promise_ns;
    packet->flags |= GS_FRAME_CARRIED;
}

void gs_source_heartbeat(struct gs_source *source, struct gs_clock_reading reading)
{
    read_clock(source, reading);
    source->ops->refresh(source->capture);
    if (has_waiting(source)) return;
    source->empty_at_ns = source->read_at_ns;
    gs_source_time_raise_by_clock(&source->time, source->believed_ns - source->clock.max_skew_ns);
}

int64_t gs_source_lag(const struct gs_source *source, struct gs_clock_reading reading)
{
    int64_t last_ns = source->time.previous_timestamp_ns;
    bool is_running = gs_source_is_live(source) && source->is_open && !source->is_ended;
    if (!is_running || last_ns == GS_BOUND_NONE || source->clock.count == 0) return 0;
    int64_t now_ns = reading.monotonic_ns + source->clock.least[0].difference_ns;
    return last_ns < now_ns && has_waiting(source) ? now_ns - last_ns : 0;
}

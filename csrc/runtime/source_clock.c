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

bool gs_source_holds(const struct gs_source *source, const struct gs_frame_run *run)
{
    return !gs_source_is_live(source) ||
           run->greatest_ns - source->clock.max_skew_ns <= source->believed_ns;
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

void gs_source_pass(struct gs_source *source, struct gs_clock_reading reading)
{
    read_clock(source, reading);
    if (source->cursor == source->filled)
        gs_source_time_raise_by_clock(&source->time, source->believed_ns);
}

/* No packet that comes later gets less. */
void gs_source_stamp(struct gs_source *source, struct gs_clock_reading reading)
{
    read_clock(source, reading);
    gs_source_time_raise_by_clock(&source->time, source->believed_ns);
    for (uint32_t i = source->cursor; i < source->filled; i++) {
        source->packets[i].timestamp_ns = source->time.promise_ns;
        source->packets[i].flags &= (uint8_t)~GS_FRAME_NO_TIME;
    }
}

void gs_source_heartbeat(struct gs_source *source, struct gs_clock_reading reading)
{
    if (source->timestamps != GS_TIMESTAMPS_EXTERNAL) {
        gs_source_pass(source, reading);
        return;
    }
    read_clock(source, reading);
    if (has_waiting(source)) return;
    source->empty_at_ns = source->read_at_ns;
    gs_source_time_raise_by_clock(&source->time, source->believed_ns - source->clock.max_skew_ns);
}

/* A live link that has spoken, and of which all has been read. */
static bool can_answer(const struct gs_source *source)
{
    return gs_source_is_live(source) && source->is_open && !source->is_ended &&
           source->rose_at_ns != INT64_MIN && source->cursor == source->filled &&
           source->ops->is_empty != NULL && source->ops->is_empty(source->capture);
}

/* Its next packet is further on than H by no less than the time that has passed since H was read,
 * but for the disorder that packets may have (Bai et al., ICDE 2007, section 5). */
int64_t gs_source_answer(struct gs_source *source, struct gs_clock_reading reading)
{
    if (source->timestamps != GS_TIMESTAMPS_EXTERNAL) {
        read_clock(source, reading);
        return source->cursor == source->filled ? source->believed_ns : GS_BOUND_NONE;
    }
    if (!can_answer(source)) return GS_BOUND_NONE;
    return source->time.high_timestamp_ns + (reading.monotonic_ns - source->rose_at_ns) -
           source->time.slack_ns;
}

int64_t gs_source_answers_at(const struct gs_source *source)
{
    int64_t left_ns, at_ns;
    bool is_asked = source->wanted.value > source->time.promise_ns;
    if (source->cursor < source->filled) return INT64_MAX;
    if (is_asked && source->timestamps != GS_TIMESTAMPS_EXTERNAL)
        return gs_source_reaches(source, source->wanted.value);
    if (!is_asked || !can_answer(source) ||
        __builtin_sub_overflow(source->wanted.value, source->time.high_timestamp_ns, &left_ns) ||
        __builtin_add_overflow(source->rose_at_ns + source->time.slack_ns, left_ns, &at_ns))
        return INT64_MAX;
    return at_ns;
}

int64_t gs_source_reaches(const struct gs_source *source, int64_t timestamp_ns)
{
    int64_t left_ns, at_ns;
    if (timestamp_ns == INT64_MAX || source->clock.count == 0 ||
        __builtin_sub_overflow(timestamp_ns, source->believed_ns, &left_ns) ||
        __builtin_add_overflow(source->read_at_ns, left_ns, &at_ns))
        return INT64_MAX;
    return at_ns;
}

int64_t gs_source_lag(const struct gs_source *source, struct gs_clock_reading reading)
{
    int64_t last_ns = source->time.previous_timestamp_ns;
    bool is_running = gs_source_is_live(source) && source->is_open && !source->is_ended;
    if (!is_running || last_ns == GS_BOUND_NONE || source->clock.count == 0) return 0;
    int64_t now_ns = reading.monotonic_ns + source->clock.least[0].difference_ns;
    return last_ns < now_ns && has_waiting(source) ? now_ns - last_ns : 0;
}

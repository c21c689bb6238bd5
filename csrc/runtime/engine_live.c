/* SPDX-License-Identifier: Apache-2.0 */
/* What goes by the clock: the timer of live links, and waiting. A timer interrupts every wait, so
 * that a link on which nothing comes still sends its heartbeats (Johnson et al., VLDB 2005). */
#include <poll.h>

#include "../base/clocks.h"
#include "engine_state.h"

#define WAITING_MAX 64   /* sources that are waited for with one system call */
#define WAIT_SHARE_MS 10 /* of a wait, where there are more */
#define NS_PER_MS 1000000
#define LOOK_NS 50000000      /* at the waker, where sources never wait */
#define REFRESH_NS 1000000000 /* links are looked at as often where no heartbeats are sent */

struct gs_clock_reading gs_engine_now(const struct gs_engine *engine)
{
    return engine->has_set_clock ? engine->set_clock : gs_clock_now();
}

void gs_engine_set_clock(struct gs_engine *engine, int64_t monotonic_ns, int64_t wall_ns)
{
    engine->has_set_clock = true;
    engine->set_clock = (struct gs_clock_reading){monotonic_ns, wall_ns};
}

static bool sends_heartbeats(const struct gs_engine *engine)
{
    return engine->settings.heartbeat_ns > 0;
}

/* Its links are looked at again, and, where heartbeats are sent, time passes. */
static void fire(struct gs_engine *engine, uint32_t index, struct gs_clock_reading reading)
{
    struct gs_interface *interface = &engine->interfaces[index];
    bool is_heartbeat = sends_heartbeats(engine);
    interface->timer_at_ns =
        reading.monotonic_ns + (is_heartbeat ? engine->settings.heartbeat_ns : REFRESH_NS);
    interface->timer_has_fired = is_heartbeat;
    for (uint32_t s = 0; s < engine->running_count; s++) {
        struct gs_source *source = engine->running[s];
        if (source->interface != index || !gs_source_is_live(source) || source->is_ended) continue;
        source->ops->refresh(source->capture);
        if (is_heartbeat) gs_source_heartbeat(source, reading);
    }
    if (is_heartbeat) gs_engine_advance(engine, index);
}

static bool has_timer(const struct gs_engine *engine, uint32_t index)
{
    return engine->interfaces[index].is_live && !engine->interfaces[index].is_ended;
}

/* Monotonic time of the next heartbeat of any interface; INT64_MAX: there is no timer. */
static int64_t next_timer(const struct gs_engine *engine)
{
    int64_t next_ns = INT64_MAX;
    for (uint32_t i = 0; i < engine->interface_count; i++)
        if (has_timer(engine, i) && engine->interfaces[i].timer_at_ns < next_ns)
            next_ns = engine->interfaces[i].timer_at_ns;
    return next_ns;
}

static bool is_latent(const struct gs_source *source)
{
    return source->timestamps == GS_TIMESTAMPS_LATENT && !source->is_ended;
}

/* Nobody waits for packets that have no time but the clock's: it is given unasked. */
static void pass_latent(struct gs_engine *engine)
{
    for (uint32_t s = 0; s < engine->running_count; s++) {
        struct gs_source *source = engine->running[s];
        if (!is_latent(source)) continue;
        gs_source_pass(source, gs_engine_now(engine));
        if (source->time.promise_ns >= engine->interfaces[source->interface].next_promise_ns)
            gs_engine_advance_due(engine, source->interface);
    }
}

/* Monotonic time at which a consumer notices that time has passed on one of these. */
static int64_t next_latent(const struct gs_engine *engine)
{
    int64_t next_ns = INT64_MAX;
    for (uint32_t s = 0; s < engine->running_count; s++) {
        const struct gs_source *source = engine->running[s];
        if (!is_latent(source)) continue;
        int64_t at_ns =
            gs_source_reaches(source, engine->interfaces[source->interface].next_promise_ns);
        if (at_ns < next_ns) next_ns = at_ns;
    }
    return next_ns;
}

static int64_t monotonic_now(const struct gs_engine *engine)
{
    return engine->has_set_clock ? engine->set_clock.monotonic_ns : gs_monotonic_ns();
}

/* Every burst asks one clock; the other is read with it where a timer fires. */
void gs_engine_tick(struct gs_engine *engine)
{
    int64_t due_ns = next_timer(engine);
    pass_latent(engine);
    if (due_ns == INT64_MAX && engine->waker < 0) return;
    engine->now_ns = monotonic_now(engine);
    if (engine->now_ns < due_ns) return;
    /* read before any ring is looked at: what is unread then may be as old as this, not older */
    struct gs_clock_reading reading = gs_engine_now(engine);
    for (uint32_t i = 0; i < engine->interface_count; i++)
        if (has_timer(engine, i) && reading.monotonic_ns >= engine->interfaces[i].timer_at_ns)
            fire(engine, i, reading);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- who is asked things meanwhile ---- */

void gs_engine_wake_by(struct gs_engine *engine, int descriptor)
{
    engine->waker = descriptor;
}

void gs_engine_begin_turn(struct gs_engine *engine, int timeout_ms)
{
    if (engine->waker < 0) return;
    engine->now_ns = gs_engine_now(engine).monotonic_ns;
    engine->until_ns = engine->now_ns + (int64_t)timeout_ms * NS_PER_MS;
}

void gs_engine_alarm(struct gs_engine *engine, uint32_t ring_percent)
{
    engine->alarm_percent = ring_percent;
}

static bool is_alarmed(struct gs_engine *engine)
{
    uint64_t dropped = 0, before = engine->alarm_dropped;
    bool is_full = false;
    if (engine->alarm_percent == 0) return false;
    for (uint32_t s = 0; s < engine->source_count; s++) {
        const struct gs_source *source = engine->sources[s];
        struct gs_capture_stats stats = source->last_stats;
        if (!gs_source_is_live(source)) continue;
        if (source->is_open) source->ops->stats(source->capture, &stats);
        dropped += stats.kernel_dropped;
        if ((uint64_t)stats.ring_used * 100 >= (uint64_t)stats.ring_blocks * engine->alarm_percent)
            is_full |= stats.ring_used > 0;
    }
    engine->alarm_dropped = dropped;
    return is_full || dropped > before;
}

bool gs_engine_is_awaited(struct gs_engine *engine)
{
    if (engine->waker < 0) return false;
    if (engine->now_ns >= engine->until_ns) return true;
    if (engine->now_ns < engine->look_at_ns) return false;
    engine->look_at_ns = engine->now_ns + LOOK_NS;
    struct pollfd waker = {.fd = engine->waker, .events = POLLIN};
    return poll(&waker, 1, 0) > 0 || is_alarmed(engine);
}

/* ---- waiting ---- */

static int until_next_timer(const struct gs_engine *engine, int timeout_ms)
{
    int64_t due_ns =
        least(least(next_timer(engine), next_latent(engine)), gs_engine_answers_at(engine));
    if (engine->has_set_clock) return 0;
    if (engine->waker >= 0) due_ns = least(due_ns, engine->until_ns);
    if (due_ns == INT64_MAX) return timeout_ms;
    int64_t left_ms = (due_ns - gs_engine_now(engine).monotonic_ns + NS_PER_MS - 1) / NS_PER_MS;
    if (left_ms < 0) left_ms = 0;
    return timeout_ms < 0 || left_ms < timeout_ms ? (int)left_ms : timeout_ms;
}

bool gs_engine_wait(struct gs_engine *engine, int timeout_ms)
{
    struct pollfd wanted[WAITING_MAX + 1] = {{.fd = engine->waker, .events = POLLIN}};
    uint32_t count = 1, waiting = 1;
    for (uint32_t s = 0; s < engine->running_count; s++) {
        const struct gs_source *source = engine->running[s];
        if (source->is_ended || !source->is_waiting) continue;
        waiting++;
        if (count <= WAITING_MAX)
            wanted[count++] = (struct pollfd){.fd = gs_source_descriptor(source), .events = POLLIN};
    }
    timeout_ms = until_next_timer(engine, timeout_ms);
    if (waiting > count && timeout_ms > WAIT_SHARE_MS) timeout_ms = WAIT_SHARE_MS;
    return poll(wanted, count, timeout_ms) >= 0 && wanted[0].revents == 0;
}

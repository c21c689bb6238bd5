/* SPDX-License-Identifier: Apache-2.0 */
/* A source from which nothing has been heard for longer than its interface's liveness has failed
 * (Johnson et al., VLDB 2005, section 6.1). By its policy it is waited for, the others go on
 * without it, or the input ends. A pipe is heard when it has bytes, a link while it is up: on a
 * silent link that is up time passes by the clock. What has been heard of since is back. */
#include <poll.h>

#include "engine_state.h"

static bool is_watched(const struct gs_source *source)
{
    return source->liveness_ns > 0 && !source->is_ended && source->is_pipe;
}

static bool is_up(const struct gs_source *source)
{
    struct gs_capture_stats stats = {0};
    if (!source->is_open) return false;
    source->ops->stats(source->capture, &stats);
    return stats.link_state == GS_LINK_STATE_UP;
}

/* Bytes may wait though it was found empty: nobody need have looked since. */
static bool has_bytes(const struct gs_source *source)
{
    struct pollfd wanted = {.fd = gs_source_descriptor(source), .events = POLLIN};
    return poll(&wanted, 1, 0) > 0 && (wanted.revents & (POLLIN | POLLHUP)) != 0;
}

static bool is_heard(const struct gs_source *source)
{
    if (source->statistics.read != source->read_before) return true;
    if (gs_source_is_live(source)) return is_up(source);
    return !source->is_waiting || has_bytes(source);
}

/* H, W and the end of the others are looked at anew, with a heartbeat that says who is missing. */
static void tell(struct gs_engine *engine, uint32_t interface)
{
    if (!engine->is_started) return;
    engine->interfaces[interface].timer_has_fired = true;
    gs_engine_advance(engine, interface);
}

static bool goes_on_without(const struct gs_source *source)
{
    return source->is_failed && source->on_failure == GS_ON_FAILURE_GO_ON;
}

static void count_missing(struct gs_engine *engine, uint32_t interface)
{
    engine->interfaces[interface].missing_count = 0;
    for (uint32_t s = 0; s < engine->source_count; s++)
        if (engine->sources[s]->interface == interface && !engine->sources[s]->is_ended)
            engine->interfaces[interface].missing_count += goes_on_without(engine->sources[s]);
}

/* Nothing but failed sources is left of what others have been waiting for. */
static bool only_failed_are_left(const struct gs_engine *engine)
{
    bool has_ended = false;
    for (uint32_t s = 0; s < engine->source_count; s++) {
        has_ended |= engine->sources[s]->is_ended;
        if (!engine->sources[s]->is_ended && !goes_on_without(engine->sources[s])) return false;
    }
    return has_ended;
}

/* All that fail at once do so before anybody goes on without one of them. */
static void act(struct gs_engine *engine, uint32_t failed)
{
    for (uint32_t i = 0; failed > 0 && i < engine->interface_count; i++)
        count_missing(engine, i);
    for (uint32_t i = 0; failed > 0 && i < engine->interface_count; i++)
        if (engine->interfaces[i].missing_count > 0) tell(engine, i);
    if (only_failed_are_left(engine)) gs_engine_stop(engine);
}

/* What it brings that is below what was promised meanwhile is late. */
void gs_engine_hear(struct gs_engine *engine, struct gs_source *source)
{
    struct gs_interface *interface = &engine->interfaces[source->interface];
    source->heard_at_ns = gs_engine_now(engine).monotonic_ns;
    source->read_before = source->statistics.read;
    if (!source->is_failed) return;
    source->is_failed = false;
    if (interface->promise_ns != INT64_MAX)
        gs_source_time_raise(&source->time, interface->promise_ns);
    count_missing(engine, source->interface);
    tell(engine, source->interface);
}

void gs_engine_watch(struct gs_engine *engine)
{
    for (uint32_t s = 0; s < engine->source_count; s++) {
        engine->sources[s]->heard_at_ns = INT64_MIN;
        engine->watches |= is_watched(engine->sources[s]);
    }
}

/* True where it has failed now. */
static bool look_at(struct gs_engine *engine, struct gs_source *source, int64_t now_ns)
{
    if (source->heard_at_ns == INT64_MIN) source->heard_at_ns = now_ns;
    bool is_due = now_ns - source->heard_at_ns >= source->liveness_ns;
    bool has_spoken = source->statistics.read != source->read_before;
    bool may_be_back = source->is_failed && gs_source_is_live(source);
    if ((is_due || has_spoken || may_be_back) && is_heard(source)) {
        gs_engine_hear(engine, source);
        return false;
    }
    if (!is_due || source->is_failed) return false;
    source->is_failed = true;
    source->statistics.failures++;
    return true;
}

void gs_engine_look_for_failures(struct gs_engine *engine)
{
    if (!engine->watches || engine->is_stopping) return;
    int64_t now_ns = gs_engine_now(engine).monotonic_ns;
    uint32_t failed = 0;
    bool is_over = false;
    for (uint32_t s = 0; s < engine->source_count; s++) {
        struct gs_source *source = engine->sources[s];
        if (!is_watched(source) || !look_at(engine, source, now_ns)) continue;
        is_over |= source->on_failure == GS_ON_FAILURE_END;
        failed++;
    }
    act(engine, failed);
    if (is_over) gs_engine_stop(engine);
}

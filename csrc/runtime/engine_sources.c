/* SPDX-License-Identifier: Apache-2.0 */
/* The order of sources: which are open, which is opened next, which is read next. A file is opened
 * when its first packets are due and given back at its end, so that a thousand of them need as much
 * as those that overlap. */
#include "engine_state.h"

static bool is_running(const struct gs_source *source)
{
    return source->is_open || source->is_waiting;
}

static void count_coming(struct gs_interface *interface, const struct gs_source *source)
{
    interface->coming_count++;
    if (source->time.high_timestamp_ns < interface->coming_high_ns)
        interface->coming_high_ns = source->time.high_timestamp_ns;
    if (source->time.promise_ns < interface->coming_promise_ns)
        interface->coming_promise_ns = source->time.promise_ns;
}

static bool comes_before(const struct gs_source *a, const struct gs_source *b)
{
    return b == NULL || gs_source_next_timestamp(a) < gs_source_next_timestamp(b);
}

void gs_engine_arrange(struct gs_engine *engine)
{
    engine->running_count = 0;
    engine->coming = NULL;
    for (uint32_t i = 0; i < engine->interface_count; i++) {
        engine->interfaces[i].coming_count = 0;
        engine->interfaces[i].coming_high_ns = INT64_MAX;
        engine->interfaces[i].coming_promise_ns = INT64_MAX;
    }
    for (uint32_t s = 0; s < engine->source_count; s++) {
        struct gs_source *source = engine->sources[s];
        if (source->is_ended) continue;
        if (is_running(source)) {
            engine->running[engine->running_count++] = source;
            continue;
        }
        count_coming(&engine->interfaces[source->interface], source);
        if (!source->wants_room && comes_before(source, engine->coming)) engine->coming = source;
    }
}

/* Where others divide the files a descriptor may be there without an end here. */
void gs_engine_look_for_room(struct gs_engine *engine)
{
    bool was_found = false;
    for (uint32_t s = 0; s < engine->source_count; s++) {
        struct gs_source *source = engine->sources[s];
        if (!source->wants_room || source->is_ended || !gs_source_has_room(source)) continue;
        source->wants_room = false;
        was_found = true;
    }
    if (was_found) gs_engine_arrange(engine);
}

/* ---- opening and ending ---- */

/* Whose end makes room; that of a pipe may never come. */
static bool any_file_is_open(const struct gs_engine *engine)
{
    for (uint32_t s = 0; s < engine->running_count; s++) {
        const struct gs_source *source = engine->running[s];
        if (!source->is_pipe && !gs_source_is_live(source)) return true;
    }
    return false;
}

/* Nor will any other file find room before one has ended: that each were tried anew whenever one
 * has ended would be as many openings as there are pairs of files. One that others divide may be
 * open there; what is no file may need no room. */
static void all_want_room(struct gs_engine *engine)
{
    for (uint32_t s = 0; s < engine->source_count; s++) {
        struct gs_source *source = engine->sources[s];
        bool is_own_file = !source->is_pipe && source->config.extents == NULL;
        if (is_own_file && !is_running(source)) source->wants_room = true;
    }
}

/* Too many files are open at once: it keeps its promise until one of them has ended, here or where
 * others divide them. */
static int defer(struct gs_engine *engine, struct gs_source *source, struct gs_error *error)
{
    if (!any_file_is_open(engine)) {
        if (!gs_source_await_room(source))
            return gs_fail(error, GS_REFUSED,
                           "%.400s: this process may open no more files (ulimit -n)",
                           source->label);
        source->wants_room = false;
    } else {
        all_want_room(engine);
    }
    gs_engine_arrange(engine);
    return GS_AGAIN;
}

static void end_source(struct gs_engine *engine, struct gs_source *source)
{
    for (uint32_t s = 0; s < engine->source_count; s++)
        engine->sources[s]->wants_room = false;
    source->is_waiting = false;
    gs_engine_arrange(engine);
    gs_engine_advance(engine, source->interface);
}

static int open_source(struct gs_engine *engine, struct gs_source *source, struct gs_error *error)
{
    bool was_waiting = source->is_waiting;
    int status = gs_source_open(source, error);
    if (status == GS_AGAIN && source->wants_room) return defer(engine, source, error);
    if (status == GS_END) {
        end_source(engine, source);
        return GS_AGAIN;
    }
    if (status == GS_OK) source->is_waiting = false;
    if (status == GS_OK || (status == GS_AGAIN && !was_waiting)) gs_engine_arrange(engine);
    return status;
}

int gs_engine_make_ready(struct gs_engine *engine, struct gs_source *source, struct gs_error *error)
{
    if (!source->is_open) GS_RETURN_IF_ERROR(open_source(engine, source, error));
    bool is_new = source->cursor == source->filled;
    int status = gs_source_fill(source, 0, error);
    source->is_waiting = status == GS_AGAIN;
    if (status != GS_AGAIN && source->is_failed && !engine->is_stopping)
        gs_engine_hear(engine, source);
    /* read after the packets: none of them can be ahead of a clock that is right */
    if (status == GS_OK && is_new && source->timestamps != GS_TIMESTAMPS_EXTERNAL)
        gs_source_stamp(source, gs_engine_now(engine));
    else if (status == GS_OK && is_new && gs_source_is_live(source))
        gs_source_hold(source, gs_engine_now(engine));
    if (status != GS_END) return status;
    end_source(engine, source);
    return GS_AGAIN;
}

int gs_engine_look_at_waiting(struct gs_engine *engine, struct gs_error *error)
{
    engine->bursts_unlooked = 0;
    for (uint32_t s = 0; s < engine->running_count; s++) {
        struct gs_source *source = engine->running[s];
        if (!source->is_waiting) continue;
        int status = gs_engine_make_ready(engine, source, error);
        if (status == GS_OK || source->is_ended) return GS_OK;
        if (status != GS_AGAIN) return status;
    }
    return GS_AGAIN;
}

/* ---- which is next ---- */

/* A live link goes first: a file waits without a loss. */
static bool goes_before(const struct gs_source *a, const struct gs_source *b)
{
    if (gs_source_is_live(a) != gs_source_is_live(b)) return gs_source_is_live(a);
    return gs_source_next_timestamp(a) < gs_source_next_timestamp(b);
}

struct gs_source *gs_engine_next_source(const struct gs_engine *engine)
{
    struct gs_source *next = engine->coming;
    for (uint32_t s = 0; s < engine->running_count; s++) {
        struct gs_source *source = engine->running[s];
        if (source->is_ended || (source->is_pipe && !gs_source_is_ready(source))) continue;
        if (next == NULL || goes_before(source, next)) next = source;
    }
    return next;
}

static int64_t before(int64_t timestamp_ns)
{
    return timestamp_ns - (timestamp_ns > INT64_MIN);
}

int64_t gs_engine_until_coming(const struct gs_engine *engine)
{
    if (engine->coming == NULL) return INT64_MAX;
    return before(gs_source_next_timestamp(engine->coming));
}

int64_t gs_engine_until_another(const struct gs_engine *engine, const struct gs_source *source)
{
    bool is_behind = true;
    if (!engine->is_by_time || gs_source_is_live(source)) return INT64_MAX;
    int64_t until_ns = gs_engine_until_coming(engine);
    for (uint32_t s = 0; s < engine->running_count; s++) {
        const struct gs_source *other = engine->running[s];
        if (other == source) is_behind = false;
        if (other == source || other->interface != source->interface || other->is_ended ||
            gs_source_is_live(other) || (other->is_pipe && !gs_source_is_ready(other)))
            continue;
        int64_t next_ns = gs_source_next_timestamp(other);
        if (is_behind) next_ns = before(next_ns);
        if (next_ns < until_ns) until_ns = next_ns;
    }
    return until_ns;
}

int gs_engine_set_prefilter(struct gs_engine *engine, const struct sock_filter *instructions,
                            uint32_t length, struct gs_error *error)
{
    for (uint32_t s = 0; s < engine->source_count; s++) {
        struct gs_source *source = engine->sources[s];
        if (!source->is_open || source->is_ended || source->ops->prefilter == NULL) continue;
        GS_RETURN_IF_ERROR(source->ops->prefilter(source->capture, instructions, length, error));
    }
    return GS_OK;
}

int gs_engine_renew(struct gs_engine *engine, uint32_t source, int socket, struct gs_error *error)
{
    if (source >= engine->source_count) return gs_fail(error, GS_ERROR, "there is no such source");
    return gs_source_renew(engine->sources[source], socket, error);
}

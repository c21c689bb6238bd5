/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: sources are read in the order of their next timestamps, burst by burst; each burst
 * goes capture → decode → prefilter → LFTAs; between bursts time advances where it has moved, and
 * the operators put out what is due. */
#include <stdlib.h>
#include <string.h>

#include "attached_exchange.h"
#include "attached_views.h"
#include "engine_state.h"

#define BURSTS_UNLOOKED_MAX 64
#define OUTPUTS_AT_ONCE 64
#define OUTPUT_BYTES (1u << 20) /* of them */

/* ---- making ---- */

int gs_engine_new(const struct gs_engine_settings *settings, struct gs_engine **result,
                  struct gs_error *error)
{
    struct gs_engine *engine = calloc(1, sizeof *engine);
    *result = engine;
    if (engine == NULL) return gs_fail(error, GS_ERROR, "no memory for the engine");
    engine->settings = *settings;
    memcpy(engine->sampling.key, settings->hash_key, sizeof engine->sampling.key);
    engine->replay_until_ns = INT64_MAX;
    engine->waker = -1;
    if (settings->burst >= 1 && settings->burst <= GS_BURST_CAPACITY) return GS_OK;
    return gs_fail(error, GS_ERROR, "a burst has 1 to %d packets", GS_BURST_CAPACITY);
}

static int add_interface(struct gs_engine *engine, const char *name, struct gs_error *error)
{
    struct gs_interface *grown =
        realloc(engine->interfaces, (engine->interface_count + 1) * sizeof *grown);
    if (grown == NULL) return gs_fail(error, GS_ERROR, "no memory for interface %s", name);
    engine->interfaces = grown;
    struct gs_interface *added = &grown[engine->interface_count];
    *added = (struct gs_interface){.name = strdup(name),
                                   .high_ns = INT64_MIN,
                                   .promise_ns = INT64_MIN,
                                   .wanted_ns = GS_BOUND_NONE,
                                   .heartbeat_at_ns = INT64_MAX,
                                   .records_to_heartbeat = UINT64_MAX};
    if (added->name == NULL) return gs_fail(error, GS_ERROR, "no memory for interface %s", name);
    engine->interface_count++;
    return GS_OK;
}

static int find_interface(struct gs_engine *engine, const char *name, uint32_t *index,
                          struct gs_error *error)
{
    for (*index = 0; *index < engine->interface_count; ++*index)
        if (strcmp(engine->interfaces[*index].name, name) == 0) return GS_OK;
    return add_interface(engine, name, error);
}

/* The kernel runs the filter of the device's link type, as far as it can. */
static int open_link(struct gs_engine *engine, struct gs_source *source, struct gs_error *error)
{
    struct gs_link_filter filters[GS_FILTER_MAX];
    for (uint32_t i = 0; i < engine->filter_count; i++) {
        const struct gs_filter_program *program = engine->filters[i].program;
        filters[i] = (struct gs_link_filter){engine->filters[i].link_type, program->length,
                                             program->instructions};
    }
    engine->interfaces[source->interface].is_live = true;
    source->live.filters = filters;
    source->live.filter_count = engine->filter_count;
    int status = gs_source_open(source, error);
    source->live.filters = NULL;
    source->live.libpcap = NULL;
    return status;
}

static bool make_room(struct gs_source ***sources, uint32_t count)
{
    struct gs_source **grown = realloc(*sources, count * sizeof *grown);
    if (grown != NULL) *sources = grown;
    return grown != NULL;
}

/* All of them may run at once, before the start too, where a link is stopped. */
static struct gs_source *make_source(struct gs_engine *engine)
{
    uint32_t count = engine->source_count + 1;
    if (!make_room(&engine->sources, count) || !make_room(&engine->running, count)) return NULL;
    struct gs_source *source = malloc(sizeof *source);
    if (source != NULL) engine->sources[engine->source_count++] = source;
    return source;
}

int gs_engine_add_source(struct gs_engine *engine, const struct gs_source_config *config,
                         struct gs_error *error)
{
    uint32_t interface;
    if (engine->set_count > 0)
        return gs_fail(error, GS_ERROR, "sources are added before query sets are attached");
    if (engine->is_started)
        return gs_fail(error, GS_ERROR, "sources are added before packets are read");
    GS_RETURN_IF_ERROR(find_interface(engine, config->interface, &interface, error));
    struct gs_source *source = make_source(engine);
    if (source == NULL) return gs_fail(error, GS_ERROR, "no memory for source %s", config->label);
    source->interface = interface;
    GS_RETURN_IF_ERROR(gs_source_init(source, config, &engine->settings, error));
    source->interface = interface;
    const char *name = engine->interfaces[interface].name;
    source->interface_name = (struct gs_string){(const uint8_t *)name, (uint32_t)strlen(name)};
    return gs_source_is_live(source) ? open_link(engine, source, error) : GS_OK;
}

int gs_engine_promise(struct gs_engine *engine, const char *interface, int64_t promise_ns,
                      struct gs_error *error)
{
    if (engine->is_started) return gs_fail(error, GS_ERROR, "promised when packets are read");
    for (uint32_t i = 0; i < engine->source_count; i++) {
        struct gs_source *source = engine->sources[i];
        if (strcmp(engine->interfaces[source->interface].name, interface) == 0)
            gs_source_promise(source, promise_ns);
    }
    return GS_OK;
}

void gs_engine_unseen(struct gs_engine *engine, const char *interface, int64_t until_ns)
{
    for (uint32_t s = 0; s < engine->source_count; s++) {
        struct gs_source *source = engine->sources[s];
        const char *name = engine->interfaces[source->interface].name;
        bool is_meant =
            interface == NULL ? gs_source_is_live(source) : strcmp(name, interface) == 0;
        if (is_meant && source->greatest_ns < until_ns) source->greatest_ns = until_ns;
    }
}

int gs_engine_add_filter(struct gs_engine *engine, uint32_t link_type, gs_filter_function function,
                         const void *program, struct gs_error *error)
{
    if (engine->filter_count == GS_FILTER_MAX)
        return gs_fail(error, GS_ERROR, "more than %d filters", GS_FILTER_MAX);
    engine->filters[engine->filter_count++] = (struct gs_filter){link_type, function, program};
    return GS_OK;
}

/* GS_OK where one of the silent sources has spoken or ended. */
static int wait_for_sources(struct gs_engine *engine, int timeout_ms, struct gs_error *error)
{
    if (!gs_engine_wait(engine, timeout_ms)) return GS_AGAIN;
    return gs_engine_look_at_waiting(engine, error);
}

/* Sources that never wait do not keep one that did from being read. */
static int look_now_and_then(struct gs_engine *engine, struct gs_error *error)
{
    if (++engine->bursts_unlooked < BURSTS_UNLOOKED_MAX) return GS_OK;
    gs_engine_look_for_room(engine);
    int status = gs_engine_look_at_waiting(engine, error);
    (void)gs_engine_serve_requests(engine);
    return status == GS_AGAIN ? GS_OK : status;
}

static bool all_ended(const struct gs_engine *engine)
{
    for (uint32_t s = 0; s < engine->source_count; s++)
        if (!engine->sources[s]->is_ended) return false;
    return true;
}

/* ---- running ---- */

int gs_engine_start(struct gs_engine *engine, struct gs_error *error)
{
    const struct gs_engine_settings *settings = &engine->settings;
    if (engine->is_started) return gs_fail(error, GS_ERROR, "packets are read already");
    gs_engine_arrange(engine);
    for (uint32_t i = 0; i < engine->interface_count; i++) {
        if (settings->heartbeat_ns > 0 && !engine->interfaces[i].is_live)
            engine->interfaces[i].heartbeat_at_ns = INT64_MIN + 1;
        if (settings->heartbeat_packets > 0)
            engine->interfaces[i].records_to_heartbeat = settings->heartbeat_packets;
        gs_engine_find_next_changes(engine, i);
    }
    for (uint32_t s = 0; s < engine->set_count; s++)
        gs_engine_populate(engine, engine->sets[s]);
    engine->is_started = true;
    gs_engine_watch(engine);
    /* what files promise unopened is known already: captures of an hour ago need not hold theirs
     * back until those of this hour are reached */
    for (uint32_t i = 0; i < engine->interface_count; i++)
        gs_engine_advance(engine, i);
    return GS_OK;
}

static bool has_output(const struct gs_engine *engine)
{
    for (uint32_t s = 0; s < engine->set_count; s++)
        if (!engine->sets[s]->graph.failed && gs_attached_has_output(engine->sets[s])) return true;
    return false;
}

/* What is put in its place behind several engines is not waited for batch by batch. */
static bool has_enough_output(const struct gs_engine *engine)
{
    for (uint32_t s = 0; s < engine->set_count; s++) {
        const struct gs_attached_set *set = engine->sets[s];
        const struct gs_output_queue *outputs = &set->graph.outputs;
        uint32_t enough = set->settings.exchange == NULL ? 1 : OUTPUTS_AT_ONCE;
        bool has_enough = outputs->count >= enough || outputs->holder.held_bytes >= OUTPUT_BYTES;
        if (!set->graph.failed && outputs->count > 0 && has_enough) return true;
    }
    return false;
}

/* Nothing comes now: all that is due goes out, without waiting for input. */
static void settle(struct gs_engine *engine)
{
    for (uint32_t s = 0; s < engine->set_count; s++)
        gs_attached_settle(engine->sets[s]);
}

static void step(struct gs_engine *engine)
{
    struct gs_stage_span span = gs_stages_enter(&engine->stages);
    for (uint32_t s = 0; s < engine->set_count; s++) {
        struct gs_attached_set *set = engine->sets[s];
        if (set->graph.failed) continue;
        gs_attached_begin_turn(set);
        gs_graph_step(&set->graph);
        if (set->settings.deliver_every_burst) gs_graph_flush_output(&set->graph);
        gs_attached_end_turn(set);
    }
    gs_stages_leave(&engine->stages, GS_STAGE_HIGH, span);
}

/* The input is over; what is due leaves a batch at a time, as fast as it is taken. */
static int drain(struct gs_engine *engine)
{
    int status = GS_END;
    struct gs_stage_span span = gs_stages_enter(&engine->stages);
    for (uint32_t s = 0; s < engine->set_count; s++)
        if (gs_attached_drain(engine->sets[s], NULL) == GS_OK) status = GS_OK;
    gs_stages_leave(&engine->stages, GS_STAGE_HIGH, span);
    return status;
}

/* Rows of its groups that others have read. */
static void receive(struct gs_engine *engine)
{
    for (uint32_t s = 0; s < engine->set_count; s++)
        if (gs_attached_receive(engine->sets[s])) gs_graph_step(&engine->sets[s]->graph);
}

/* All has been read here, and perhaps not by those that rows are exchanged with. */
static int await_others(struct gs_engine *engine, int timeout_ms)
{
    for (uint32_t s = 0; s < engine->set_count; s++) {
        struct gs_attached_set *set = engine->sets[s];
        if (!gs_attached_is_running(set) || !gs_attached_awaits(set)) continue;
        if (gs_graph_step(&set->graph) || gs_attached_wait(set, timeout_ms)) return GS_OK;
        return GS_AGAIN;
    }
    return GS_END;
}

/* Replay by a clock: it waits, and what is due meanwhile goes out. A capture without packets is at
 * no time: INT64_MAX, for which it would be waited in vain. */
static bool is_ahead_of_replay(struct gs_engine *engine, const struct gs_source *source)
{
    int64_t next_ns = gs_source_next_timestamp(source);
    if (gs_source_is_live(source) || next_ns <= engine->replay_until_ns || next_ns == INT64_MAX)
        return false;
    settle(engine);
    return true;
}

static int run_once(struct gs_engine *engine, uint64_t packet_budget, int timeout_ms,
                    uint64_t *records, struct gs_error *error)
{
    gs_engine_tick(engine);
    gs_engine_look_for_failures(engine);
    receive(engine);
    GS_RETURN_IF_ERROR(look_now_and_then(engine, error));
    struct gs_source *source = gs_engine_next_source(engine);
    if (source == NULL) {
        if (all_ended(engine)) return await_others(engine, timeout_ms);
        settle(engine);
        if (gs_engine_serve_requests(engine)) return GS_OK;
        return has_output(engine) ? GS_AGAIN : wait_for_sources(engine, timeout_ms, error);
    }
    if (is_ahead_of_replay(engine, source)) return GS_AGAIN;
    uint64_t taken;
    if (gs_engine_run_frames(engine, source, packet_budget - *records, &taken)) {
        *records += taken;
        step(engine);
        return GS_OK;
    }
    struct gs_stage_span span = gs_stages_enter(&engine->stages);
    int status = gs_engine_make_ready(engine, source, error);
    gs_stages_leave(&engine->stages, GS_STAGE_OPEN, span);
    if (status == GS_AGAIN && source->is_waiting && !source->is_pipe)
        return wait_for_sources(engine, timeout_ms, error);
    if (status == GS_AGAIN) return GS_OK;
    GS_RETURN_IF_ERROR(status);
    if (is_ahead_of_replay(engine, source)) return GS_AGAIN;
    *records += gs_engine_run_source(engine, source, packet_budget - *records);
    step(engine);
    return GS_OK;
}

/* One set that has failed does not keep the others from going on. */
static bool all_failed(const struct gs_engine *engine)
{
    for (uint32_t s = 0; s < engine->set_count; s++)
        if (!engine->sets[s]->graph.failed) return false;
    return engine->set_count > 0;
}

int gs_engine_run(struct gs_engine *engine, uint64_t packet_budget, int timeout_ms,
                  struct gs_error *error)
{
    uint64_t records = 0;
    int status = GS_OK;
    if (!engine->is_started) return gs_fail(error, GS_ERROR, "packets are read before the start");
    gs_engine_begin_turn(engine, timeout_ms);
    while (status == GS_OK && !engine->is_stopped && !all_failed(engine) &&
           records < packet_budget && !has_enough_output(engine)) {
        status = run_once(engine, packet_budget, timeout_ms, &records, error);
        gs_engine_end_answered(engine);
        if (gs_engine_is_awaited(engine)) break;
    }
    if (engine->is_stopped || status == GS_END) status = drain(engine);
    return all_failed(engine) ? gs_attached_check(engine->sets[0], error) : status;
}

int gs_engine_sample(struct gs_engine *engine, uint32_t shift, struct gs_error *error)
{
    if (shift > GS_SAMPLING_SHIFT_MAX)
        return gs_fail(error, GS_ERROR, "at the most 1 in 2^%d flows is looked at",
                       GS_SAMPLING_SHIFT_MAX);
    engine->sampling.shift = shift;
    return GS_OK;
}

void gs_engine_measure_stages(struct gs_engine *engine)
{
    gs_stages_ask(&engine->stages);
    for (uint32_t s = 0; s < engine->set_count; s++)
        gs_graph_measure(&engine->sets[s]->graph, &engine->stages);
}

void gs_engine_stages(const struct gs_engine *engine, struct gs_stage_costs *costs)
{
    uint64_t ns[GS_STAGE_COUNT];
    gs_stages_read(&engine->stages, ns);
    *costs = (struct gs_stage_costs){.packets = engine->stages.packets,
                                     .read_ns = ns[GS_STAGE_READ],
                                     .decode_ns = ns[GS_STAGE_DECODE],
                                     .unpack_ns = ns[GS_STAGE_UNPACK],
                                     .lfta_ns = ns[GS_STAGE_LFTA],
                                     .flush_ns = ns[GS_STAGE_FLUSH],
                                     .high_ns = ns[GS_STAGE_HIGH],
                                     .open_ns = ns[GS_STAGE_OPEN]};
}

void gs_engine_replay_until(struct gs_engine *engine, int64_t timestamp_ns)
{
    engine->replay_until_ns = timestamp_ns;
}

int64_t gs_engine_next_timestamp(const struct gs_engine *engine)
{
    int64_t next_ns = INT64_MAX;
    if (engine->coming != NULL) next_ns = gs_source_next_timestamp(engine->coming);
    for (uint32_t s = 0; s < engine->running_count; s++) {
        const struct gs_source *source = engine->running[s];
        if (source->is_ended || gs_source_is_live(source) || !gs_source_is_ready(source)) continue;
        if (gs_source_next_timestamp(source) < next_ns) next_ns = gs_source_next_timestamp(source);
    }
    return next_ns;
}

void gs_engine_stop(struct gs_engine *engine)
{
    if (engine->is_stopping) return;
    engine->is_stopping = true;
    for (uint32_t s = 0; s < engine->source_count; s++)
        gs_source_finish(engine->sources[s]);
    gs_engine_arrange(engine);
    engine->is_stopped = all_ended(engine);
    for (uint32_t i = 0; i < engine->interface_count; i++)
        gs_engine_advance(engine, i);
}

void gs_engine_halt(struct gs_engine *engine)
{
    if (engine->is_stopped) return;
    engine->is_stopping = engine->is_stopped = true;
    for (uint32_t s = 0; s < engine->source_count; s++)
        gs_source_halt(engine->sources[s]);
    gs_engine_arrange(engine);
    for (uint32_t i = 0; i < engine->interface_count; i++)
        gs_engine_advance(engine, i);
}

void gs_engine_free(struct gs_engine *engine)
{
    if (engine == NULL) return;
    while (engine->set_count > 0)
        gs_engine_remove(engine, engine->sets[engine->set_count - 1]);
    for (uint32_t s = 0; s < engine->source_count; s++) {
        gs_source_close(engine->sources[s]);
        free(engine->sources[s]);
    }
    for (uint32_t i = 0; i < engine->interface_count; i++)
        free(engine->interfaces[i].name);
    free(engine->sources);
    free(engine->running);
    free(engine->interfaces);
    free(engine->sets);
    free(engine);
}

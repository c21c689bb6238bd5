/* SPDX-License-Identifier: Apache-2.0 */
/* The bursts of a source: packets up to where time would have to advance, decoded, or the frames of
 * records alone, which go to every set that runs. */
#include "../decode/decode.h"
#include "attached_views.h"
#include "engine_state.h"

#define FRAMES_FOR_A_PACKET 4 /* in a burst */

/* What a burst brings may be held, and is due no sooner than this: W ends the burst there, so that
 * what is given up does not depend on where bursts end. */
static int64_t due_of_burst(const struct gs_engine *engine, uint32_t interface)
{
    int64_t high_ns, promise_ns, due_ns;
    if (!engine->holds) return INT64_MAX;
    gs_engine_time_of(engine, interface, &high_ns, &promise_ns);
    if (__builtin_add_overflow(promise_ns, GS_SEGMENT_WAIT_NS + 1, &due_ns)) return INT64_MAX;
    return due_ns;
}

/* What a source alone cannot bring about need not end its bursts. */
static struct gs_burst_limits limits_of(const struct gs_engine *engine,
                                        const struct gs_source *source)
{
    const struct gs_interface *interface = &engine->interfaces[source->interface];
    struct gs_burst_limits limits = {
        .high_ns = interface->next_high_ns,
        .promise_ns = interface->next_promise_ns,
        .until_ns = gs_source_is_live(source) ? INT64_MAX : engine->replay_until_ns,
        .packets = interface->records_to_heartbeat,
        .burst = engine->settings.burst,
        .filters = engine->filters,
        .filter_count = engine->filter_count};
    uint64_t spared = gs_engine_heartbeat_spared_for(engine, interface);
    int64_t due_ns = due_of_burst(engine, source->interface);
    int64_t until_ns = gs_engine_until_another(engine, source);
    /* when a heartbeat comes must not depend on where bursts end */
    if (spared > 0 && spared < limits.packets) limits.packets = spared;
    if (spared == 0 && interface->heartbeat_at_ns < limits.high_ns)
        limits.high_ns = interface->heartbeat_at_ns;
    if (due_ns < limits.promise_ns) limits.promise_ns = due_ns;
    if (until_ns < limits.until_ns) limits.until_ns = until_ns;
    if (interface->coming_high_ns < limits.high_ns) limits.high_ns = INT64_MAX;
    if (interface->coming_promise_ns < limits.promise_ns) limits.promise_ns = INT64_MAX;
    for (uint32_t s = 0; s < engine->running_count; s++) {
        const struct gs_source *other = engine->running[s];
        if (other == source || other->interface != source->interface || other->is_ended) continue;
        if (other->time.high_timestamp_ns < limits.high_ns) limits.high_ns = INT64_MAX;
        if (other->time.promise_ns < limits.promise_ns) limits.promise_ns = INT64_MAX;
    }
    return limits;
}

/* Which flow a packet is of is read in its headers, however little the sets look at. Records are of
 * no flow of a link, and none says of how many it is one: all of them stay. */
static uint32_t sample(const struct gs_engine *engine, struct gs_source *source,
                       struct gs_packet *packets, uint32_t count)
{
    uint32_t kept = gs_sampling_keep(&engine->sampling, packets, count);
    source->statistics.sampled_out += count - kept;
    source->statistics.decoded -= count - kept;
    return kept;
}

/* Who alone sees packets decodes them: what it does not ask for is then never written. */
static bool takes_frames(const struct gs_engine *engine, const struct gs_source *source)
{
    return engine->takes_frames && engine->sampling.shift == 0 && source->is_ethernet;
}

static uint32_t decode(struct gs_engine *engine, struct gs_source *source,
                       struct gs_packet *packets, uint32_t count)
{
    bool is_sampled = engine->sampling.shift > 0 && !source->config.is_records;
    gs_decode_burst(packets, count, is_sampled ? GS_DEPTH_TRANSPORT : engine->depth);
    if (is_sampled) count = sample(engine, source, packets, count);
    gs_stages_mark(&engine->stages, GS_STAGE_DECODE);
    return count;
}

/* Of `burst` the time and the packets are known. */
static void run_burst(struct gs_engine *engine, struct gs_source *source, struct gs_burst burst)
{
    burst.interface = source->interface;
    burst.interface_name = &source->interface_name;
    burst.interface_names = source->names;
    for (uint32_t s = 0; s < engine->set_count; s++)
        if (gs_attached_is_running(engine->sets[s])) gs_attached_burst(engine->sets[s], &burst);
    if (engine->holds) gs_engine_find_next_changes(engine, source->interface);
}

static void run_packets(struct gs_engine *engine, struct gs_source *source, struct gs_burst burst,
                        struct gs_packet *packets, uint32_t count)
{
    if (takes_frames(engine, source)) {
        burst.frames = (const uint8_t *)packets;
        burst.frame_bytes = sizeof *packets;
        burst.count = count;
    } else if (count > 0) {
        burst.packets = packets;
        burst.count = decode(engine, source, packets, count);
    }
    if (burst.count > 0) run_burst(engine, source, burst);
}

/* At most so many records as are `left` of a budget. */
static struct gs_burst_limits limits_within(const struct gs_engine *engine,
                                            const struct gs_source *source, uint64_t left)
{
    struct gs_burst_limits limits = limits_of(engine, source);
    if (left < limits.packets) limits.packets = left;
    return limits;
}

static void count_to_heartbeat(struct gs_engine *engine, const struct gs_source *source,
                               uint64_t records, bool reached)
{
    struct gs_interface *interface = &engine->interfaces[source->interface];
    engine->records += records;
    if (interface->records_to_heartbeat != UINT64_MAX) interface->records_to_heartbeat -= records;
    if (reached || interface->records_to_heartbeat == 0)
        gs_engine_advance_due(engine, source->interface);
}

uint64_t gs_engine_run_source(struct gs_engine *engine, struct gs_source *source, uint64_t left)
{
    struct gs_burst_limits limits = limits_within(engine, source, left);
    struct gs_burst burst = {0};
    uint32_t first, count;
    uint64_t records;
    gs_engine_time_of(engine, source->interface, &burst.high_ns, &burst.promise_ns);
    gs_stages_begin(&engine->stages);
    bool reached = gs_source_take(source, &limits, &first, &count, &records);
    gs_stages_mark(&engine->stages, GS_STAGE_READ);
    run_packets(engine, source, burst, source->packets + first, count);
    gs_stages_end(&engine->stages, records);
    count_to_heartbeat(engine, source, records, reached);
    return records;
}

/* A link's packets are stamped by the kernel, and nobody waits for its next. */
static bool may_be_looked_into(const struct gs_engine *engine, const struct gs_source *source)
{
    if (gs_source_is_live(source)) return source->timestamps == GS_TIMESTAMPS_EXTERNAL;
    return !source->is_pipe && !gs_source_has_clock(source) && engine->replay_until_ns == INT64_MAX;
}

/* Which source is the next does not depend on what is read ahead where one is open, before the next
 * one is due. */
static bool may_take_frames(const struct gs_engine *engine, const struct gs_source *source)
{
    return takes_frames(engine, source) && source->ops->peek != NULL &&
           engine->running_count == 1 && !source->is_failed && may_be_looked_into(engine, source);
}

/* They are of packets before the next file is due. Frames are small: what a burst costs besides its
 * packets is then a fourth for each. */
static struct gs_burst_limits limits_of_frames(const struct gs_engine *engine,
                                               const struct gs_source *source, uint64_t left)
{
    struct gs_burst_limits limits = limits_within(engine, source, left);
    int64_t until_ns = gs_engine_until_coming(engine);
    if (until_ns < limits.until_ns) limits.until_ns = until_ns;
    limits.burst *= FRAMES_FOR_A_PACKET;
    if (limits.burst > GS_BURST_CAPACITY) limits.burst = GS_BURST_CAPACITY;
    return limits;
}

/* Who takes frames walks over the records, where he sees this interface at all. */
static uint32_t run_walk(struct gs_engine *engine, struct gs_source *source,
                         const struct gs_burst_limits *limits, struct gs_burst burst)
{
    struct gs_walk walk;
    if (!engine->walks || !gs_source_begin_walk(source, limits, &walk)) return 0;
    burst.walk = &walk;
    run_burst(engine, source, burst);
    return gs_source_end_walk(source, limits, &walk);
}

static uint32_t run_frames(struct gs_engine *engine, struct gs_source *source,
                           const struct gs_burst_limits *limits, struct gs_burst burst)
{
    burst.count = gs_source_take_frames(source, limits);
    gs_stages_mark(&engine->stages, GS_STAGE_READ);
    if (burst.count > 0) run_burst(engine, source, burst);
    return burst.count;
}

bool gs_engine_run_frames(struct gs_engine *engine, struct gs_source *source, uint64_t left,
                          uint64_t *records)
{
    if (!may_take_frames(engine, source)) return false;
    struct gs_burst_limits limits = limits_of_frames(engine, source, left);
    struct gs_burst burst = {.frames = (const uint8_t *)source->packets,
                             .frame_bytes = sizeof(struct gs_frame)};
    gs_engine_time_of(engine, source->interface, &burst.high_ns, &burst.promise_ns);
    gs_stages_begin(&engine->stages);
    uint32_t count = run_walk(engine, source, &limits, burst);
    if (count == 0) count = run_frames(engine, source, &limits, burst);
    *records = count;
    if (count == 0) {
        bool reached = !gs_source_is_live(source) && gs_source_next_reaches(source, &limits);
        gs_stages_give_up(&engine->stages);
        if (reached) gs_engine_advance_due(engine, source->interface);
        return reached;
    }
    gs_stages_end(&engine->stages, count);
    count_to_heartbeat(engine, source, count, false);
    return true;
}

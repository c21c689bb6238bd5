/* SPDX-License-Identifier: Apache-2.0 */
/* Time in the engine: from the sources of an interface to its LFTAs (OPERATORS section 2). */
#include "attached_exchange.h"
#include "engine_state.h"
#include "graph_cut.h"

#define SPARED_RECORDS 512 /* at the least between heartbeats that nobody minds */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Those that it has are missing, all of them. */
static bool is_missing(const struct gs_engine *engine, uint32_t index)
{
    uint32_t count = engine->interfaces[index].coming_count;
    if (engine->interfaces[index].missing_count == 0) return false;
    for (uint32_t s = 0; s < engine->running_count; s++)
        count += engine->running[s]->interface == index && !engine->running[s]->is_ended;
    return engine->interfaces[index].missing_count == count;
}

/* An interface of which nothing is heard is as far as the others that have not ended; without any,
 * where it was. */
static void observe_others(const struct gs_engine *engine, uint32_t index, int64_t *high_ns,
                           int64_t *promise_ns)
{
    *high_ns = *promise_ns = INT64_MAX;
    for (uint32_t i = 0; i < engine->interface_count; i++) {
        const struct gs_interface *other = &engine->interfaces[i];
        if (i == index || other->is_ended || is_missing(engine, i)) continue;
        *high_ns = least(*high_ns, other->high_ns);
        *promise_ns = least(*promise_ns, other->promise_ns);
    }
    if (*high_ns == INT64_MAX) *high_ns = INT64_MIN;
    if (*promise_ns == INT64_MAX) *promise_ns = INT64_MIN;
}

/* H and W of an interface are the least of its sources that are open or still to come, but for
 * those that the others do not wait for. */
static void observe_interface(const struct gs_engine *engine, uint32_t index, int64_t *high_ns,
                              int64_t *promise_ns)
{
    const struct gs_interface *interface = &engine->interfaces[index];
    *high_ns = interface->coming_high_ns;
    *promise_ns = interface->coming_promise_ns;
    if (is_missing(engine, index)) {
        observe_others(engine, index, high_ns, promise_ns);
        return;
    }
    for (uint32_t s = 0; s < engine->running_count; s++) {
        const struct gs_source *source = engine->running[s];
        if (source->interface != index || source->is_ended) continue;
        if (source->is_failed && interface->missing_count > 0) continue;
        *high_ns = least(*high_ns, source->time.high_timestamp_ns);
        *promise_ns = least(*promise_ns, source->time.promise_ns);
    }
}

void gs_engine_time_of(const struct gs_engine *engine, uint32_t interface, int64_t *high_ns,
                       int64_t *promise_ns)
{
    *high_ns = *promise_ns = INT64_MIN;
    if (!is_missing(engine, interface)) observe_interface(engine, interface, high_ns, promise_ns);
}

static bool all_sources_ended(const struct gs_engine *engine, uint32_t interface)
{
    if (engine->interfaces[interface].coming_count > 0) return false;
    for (uint32_t s = 0; s < engine->running_count; s++)
        if (engine->running[s]->interface == interface && !engine->running[s]->is_ended)
            return false;
    return true;
}

/* Rows of a file that is read as fast as can be wait for no clock. */
static bool waits_for_clock(const struct gs_engine *engine, const struct gs_interface *interface)
{
    if (interface->is_live || engine->replay_until_ns != INT64_MAX) return true;
    for (uint32_t s = 0; s < engine->running_count; s++)
        if (engine->running[s]->is_pipe) return true;
    return false;
}

/* Seconds of a capture may have none but a few packets: where no set minds, a heartbeat comes by
 * packets as well as by time. Beside another interface it may be waited for there. */
static bool spares_heartbeats(const struct gs_engine *engine, uint32_t index)
{
    if (engine->interface_count > 1 || waits_for_clock(engine, &engine->interfaces[index]))
        return false;
    for (uint32_t s = 0; s < engine->set_count; s++)
        if (gs_attached_is_running(engine->sets[s]) &&
            gs_attached_minds_heartbeats(engine->sets[s], index))
            return false;
    return true;
}

void gs_engine_find_next_changes(struct gs_engine *engine, uint32_t index)
{
    struct gs_interface *interface = &engine->interfaces[index];
    interface->next_high_ns = interface->next_promise_ns = INT64_MAX;
    interface->spares_heartbeats = spares_heartbeats(engine, index);
    for (uint32_t s = 0; s < engine->set_count; s++)
        if (gs_attached_is_running(engine->sets[s]))
            gs_attached_next_changes(engine->sets[s], index, &interface->next_high_ns,
                                     &interface->next_promise_ns);
}

uint64_t gs_engine_heartbeat_spared_for(const struct gs_engine *engine,
                                        const struct gs_interface *interface)
{
    bool is_spared = interface->spares_heartbeats && engine->records < interface->heartbeat_records;
    return is_spared ? interface->heartbeat_records - engine->records : 0;
}

/* The next is at the next multiple of the period. */
static void set_timer(const struct gs_engine *engine, struct gs_interface *interface)
{
    int64_t period = engine->settings.heartbeat_ns, high_ns = interface->high_ns;
    int64_t into = ((high_ns % period) + period) % period;
    if (__builtin_add_overflow(high_ns - into, period, &interface->heartbeat_at_ns))
        interface->heartbeat_at_ns = INT64_MAX;
    interface->heartbeat_records = engine->records + SPARED_RECORDS;
}

/* The timer of a live link has fired or not (engine_live.c). In replay it fires when H has passed a
 * period, once however far H has jumped. Where all is over H is infinite, and no timer runs. */
static bool timer_fires(struct gs_engine *engine, struct gs_interface *interface)
{
    int64_t high_ns = interface->high_ns;
    bool has_time = engine->settings.heartbeat_ns > 0 && !interface->is_live &&
                    high_ns != INT64_MIN && high_ns != INT64_MAX;
    bool fires = interface->records_to_heartbeat == 0 || interface->timer_has_fired ||
                 (has_time && high_ns >= interface->heartbeat_at_ns &&
                  gs_engine_heartbeat_spared_for(engine, interface) == 0);
    interface->timer_has_fired = false;
    if (fires && engine->settings.heartbeat_packets > 0)
        interface->records_to_heartbeat = engine->settings.heartbeat_packets;
    if (fires && has_time) set_timer(engine, interface);
    return fires;
}

static enum gs_heartbeat heartbeat_of(bool fires, bool is_hurried)
{
    if (!fires) return GS_HEARTBEAT_NONE;
    return is_hurried ? GS_HEARTBEAT_HERE : GS_HEARTBEAT_SENT;
}

static bool is_due(const struct gs_attached_set *set, const struct gs_interface *interface,
                   uint32_t index)
{
    return gs_attached_is_due(set, index, interface->high_ns, interface->promise_ns);
}

static bool reads(const struct gs_attached_set *set, uint32_t interface)
{
    for (uint32_t at = 0; at < set->graph.lfta_count; at++)
        if (set->graph.ports[at].interface == interface) return true;
    return false;
}

/* The stop of an engine that would go on ends an interface amid its windows. */
static void break_off(const struct gs_engine *engine, uint32_t index)
{
    if (!engine->is_stopping || !engine->settings.is_resident) return;
    if (!all_sources_ended(engine, index)) return;
    for (uint32_t s = 0; s < engine->set_count; s++)
        if (gs_attached_is_running(engine->sets[s]) && reads(engine->sets[s], index))
            gs_graph_cut_end(&engine->sets[s]->graph, true);
}

static void advance(struct gs_engine *engine, uint32_t index, bool only_due)
{
    struct gs_interface *interface = &engine->interfaces[index];
    int64_t high_ns, promise_ns;
    if (interface->is_ended) return;
    break_off(engine, index);
    observe_interface(engine, index, &high_ns, &promise_ns);
    if (high_ns > interface->high_ns) interface->high_ns = high_ns;
    if (promise_ns > interface->promise_ns) interface->promise_ns = promise_ns;
    interface->is_ended = all_sources_ended(engine, index);
    bool fires = timer_fires(engine, interface);
    bool is_hurried = !waits_for_clock(engine, interface);
    enum gs_heartbeat heartbeat = heartbeat_of(fires, is_hurried);
    only_due &= !fires && !interface->is_ended;
    struct gs_stage_span span = gs_stages_enter(&engine->stages);
    for (uint32_t s = 0; s < engine->set_count; s++) {
        struct gs_attached_set *set = engine->sets[s];
        if (!gs_attached_is_running(set) || (only_due && !is_due(set, interface, index))) continue;
        gs_attached_miss(set, index, interface->missing_count > 0);
        gs_attached_hurry(set, index, is_hurried);
        if (set->settings.exchange != NULL)
            gs_attached_tell(set, interface->high_ns, interface->promise_ns, interface->is_ended);
        else
            gs_attached_advance(set, index, interface->high_ns, interface->promise_ns, heartbeat,
                                interface->is_ended);
    }
    gs_stages_leave(&engine->stages, GS_STAGE_FLUSH, span);
    gs_engine_find_next_changes(engine, index);
}

/* Interfaces of which nothing is heard keep up with the others. */
static void follow(struct gs_engine *engine, uint32_t index)
{
    for (uint32_t i = 0; engine->watches && i < engine->interface_count; i++)
        if (i != index && is_missing(engine, i)) advance(engine, i, true);
}

void gs_engine_advance(struct gs_engine *engine, uint32_t index)
{
    advance(engine, index, false);
    follow(engine, index);
}

void gs_engine_advance_due(struct gs_engine *engine, uint32_t index)
{
    advance(engine, index, true);
    follow(engine, index);
}

static int64_t greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void tell_set(const struct gs_engine *engine, struct gs_attached_set *set, uint32_t index)
{
    const struct gs_interface *interface = &engine->interfaces[index];
    int64_t high_ns, promise_ns;
    observe_interface(engine, index, &high_ns, &promise_ns);
    gs_attached_advance(set, index, greatest(high_ns, interface->high_ns),
                        greatest(promise_ns, interface->promise_ns), GS_HEARTBEAT_NONE,
                        interface->is_ended);
}

void gs_engine_begin_set(const struct gs_engine *engine, struct gs_attached_set *set)
{
    for (uint32_t i = 0; i < engine->interface_count; i++)
        tell_set(engine, set, i);
}

void gs_engine_tell_set(const struct gs_engine *engine, struct gs_attached_set *set)
{
    for (uint32_t i = 0; i < engine->interface_count; i++)
        if (!engine->interfaces[i].is_ended) tell_set(engine, set, i);
}

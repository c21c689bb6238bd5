/* SPDX-License-Identifier: Apache-2.0 */
/* Query sets come and go between bursts. What each needs of the reader is found anew then: the
 * decoder goes as deep as the deepest looks, a burst ends where the first of them must be told of
 * time. */
#include <stdlib.h>

#include "attached_views.h"
#include "engine_state.h"
#include "graph_cut.h"

/* Its LFTA that takes frames, or NULL. */
static const struct gs_lfta_ops *taker_of_frames(const struct gs_attached_set *set)
{
    const struct gs_query_set *query_set = set->query_set;
    for (uint32_t n = 0; n < query_set->node_count; n++) {
        const struct gs_lfta_ops *ops = query_set->nodes[n].ops;
        if (query_set->nodes[n].kind == GS_NODE_LFTA && ops->takes_frames) return ops;
    }
    return NULL;
}

/* Two sets that decode for themselves would do so twice. */
static void find_who_takes_frames(struct gs_engine *engine)
{
    const struct gs_lfta_ops *taker = NULL;
    uint32_t running = 0;
    for (uint32_t s = 0; s < engine->set_count; s++) {
        if (!gs_attached_is_running(engine->sets[s])) continue;
        taker = taker_of_frames(engine->sets[s]);
        running++;
    }
    engine->takes_frames = taker != NULL && running == 1 && engine->settings.fast_path;
    engine->walks = engine->takes_frames && taker->walks;
}

/* Which sets run has changed. */
static void arrange_sets(struct gs_engine *engine)
{
    find_who_takes_frames(engine);
    engine->depth = GS_DEPTH_RECORD;
    engine->holds = engine->is_by_time = false;
    for (uint32_t s = 0; s < engine->set_count; s++) {
        const struct gs_attached_set *set = engine->sets[s];
        enum gs_depth depth = (enum gs_depth)set->query_set->depth;
        if (!gs_attached_is_running(set)) continue;
        if (depth > engine->depth) engine->depth = depth;
        engine->holds |= gs_attached_holds(set);
        engine->is_by_time |= gs_attached_reassembles(set);
    }
    for (uint32_t i = 0; i < engine->interface_count; i++)
        gs_engine_find_next_changes(engine, i);
}

static int make_room(struct gs_engine *engine, struct gs_error *error)
{
    struct gs_attached_set **grown =
        realloc(engine->sets, (engine->set_count + 1) * sizeof(struct gs_attached_set *));
    if (grown == NULL) return gs_fail(error, GS_ERROR, "no memory for a query set");
    engine->sets = grown;
    return GS_OK;
}

static int name_interfaces(const struct gs_engine *engine, struct gs_attached_set *set,
                           struct gs_error *error)
{
    for (uint32_t i = 0; i < engine->interface_count; i++)
        GS_RETURN_IF_ERROR(gs_attached_add_interface(set, engine->interfaces[i].name, error));
    return GS_OK;
}

/* What the set has not seen ends with the last packet that was given to anybody. */
static int begin_cut(const struct gs_engine *engine, struct gs_attached_set *set,
                     struct gs_error *error)
{
    int64_t *seen_ns = malloc((engine->interface_count + 1) * sizeof *seen_ns);
    bool has_room = seen_ns != NULL;
    for (uint32_t i = 0; has_room && i < engine->interface_count; i++)
        seen_ns[i] = INT64_MIN;
    for (uint32_t s = 0; has_room && s < engine->source_count; s++) {
        const struct gs_source *source = engine->sources[s];
        int64_t *seen = &seen_ns[source->interface];
        if (source->greatest_ns > *seen) *seen = source->greatest_ns;
    }
    has_room = has_room && gs_graph_cut_begin(&set->graph, seen_ns);
    free(seen_ns);
    if (has_room) return GS_OK;
    gs_graph_close(&set->graph);
    return gs_fail(error, GS_ERROR, "no memory for a query set");
}

void gs_engine_populate(const struct gs_engine *engine, const struct gs_attached_set *set)
{
    for (uint32_t at = 0; at < set->graph.lfta_count; at++)
        if (engine->interfaces[set->graph.ports[at].interface].is_live)
            gs_table_populate(&set->graph.lftas[at]);
}

int gs_engine_attach(struct gs_engine *engine, struct gs_attached_set *set, struct gs_error *error)
{
    if (set->settings.high_level_only || set->interface_count > 0)
        return gs_fail(error, GS_ERROR, "a query set that has an input already");
    GS_RETURN_IF_ERROR(make_room(engine, error));
    GS_RETURN_IF_ERROR(name_interfaces(engine, set, error));
    GS_RETURN_IF_ERROR(gs_attached_open(set, error));
    if (engine->is_started) GS_RETURN_IF_ERROR(begin_cut(engine, set, error));
    set->engine = engine;
    engine->sets[engine->set_count++] = set;
    if (engine->is_started) gs_engine_populate(engine, set);
    if (engine->is_started) gs_engine_begin_set(engine, set);
    arrange_sets(engine);
    return GS_OK;
}

/* Its streams have their end, but for those of interfaces that have ended before. */
static void end(struct gs_attached_set *set)
{
    const struct gs_engine *engine = set->engine;
    for (uint32_t i = 0; i < engine->interface_count; i++)
        if (gs_attached_is_running(set) && !engine->interfaces[i].is_ended)
            gs_attached_advance(set, i, INT64_MAX, INT64_MAX, GS_HEARTBEAT_NONE, true);
    set->is_ended = true;
}

void gs_engine_remove(struct gs_engine *engine, struct gs_attached_set *set)
{
    uint32_t s = 0;
    while (engine->sets[s] != set)
        s++;
    engine->set_count--;
    for (; s < engine->set_count; s++)
        engine->sets[s] = engine->sets[s + 1];
    set->engine = NULL;
    arrange_sets(engine);
}

void gs_engine_detach(struct gs_engine *engine, struct gs_attached_set *set)
{
    if (set->engine != engine) return;
    if (gs_attached_is_running(set)) {
        gs_engine_tell_set(engine, set);
        gs_graph_cut_end(&set->graph, false);
    }
    end(set);
    gs_engine_remove(engine, set);
}

void gs_engine_end_answered(struct gs_engine *engine)
{
    uint32_t waiting = 0, answered = 0, over = 0;
    for (uint32_t s = 0; s < engine->set_count; s++) {
        const struct gs_attached_set *set = engine->sets[s];
        if (set->graph.failed) continue;
        bool is_answered = gs_attached_is_answered(set);
        over += set->is_ended;
        answered += is_answered && !set->is_ended;
        waiting += !is_answered && !set->is_ended;
    }
    bool is_over = waiting == 0 && !engine->settings.is_resident;
    if (is_over && answered + over > 0) gs_engine_stop(engine);
    if (is_over || answered == 0) return;
    for (uint32_t s = 0; s < engine->set_count; s++)
        if (gs_attached_is_running(engine->sets[s]) && gs_attached_is_answered(engine->sets[s]))
            end(engine->sets[s]);
    arrange_sets(engine);
}

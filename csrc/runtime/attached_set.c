/* SPDX-License-Identifier: Apache-2.0 */
#include "attached_set.h"

#include <stdlib.h>

#include "attached_exchange.h"
#include "attached_views.h"
#include "engine_state.h"

/* ---- making ---- */

static int find_query_set(struct gs_attached_set *set, const char *path, struct gs_error *error)
{
    set->query_set = gs_shared_object_symbol(set->object, "gs_query_set");
    if (set->query_set != NULL && set->query_set->abi_version == GS_ABI_VERSION) return GS_OK;
    set->query_set = NULL;
    return gs_fail(error, GS_ERROR, "%s is not a query set of this version; compile it again",
                   path);
}

int gs_attached_load(const char *object_path, const struct gs_attached_settings *settings,
                     struct gs_attached_set **result, struct gs_error *error)
{
    struct gs_attached_set *set = *result = calloc(1, sizeof *set);
    if (set == NULL) return gs_fail(error, GS_ERROR, "no memory for the query set");
    set->settings = *settings;
    if (settings->batch_rows < 1) return gs_fail(error, GS_ERROR, "a batch has at least 1 row");
    GS_RETURN_IF_ERROR(gs_shared_object_open(object_path, &set->object, error));
    GS_RETURN_IF_ERROR(find_query_set(set, object_path, error));
    set->tapped = calloc(set->query_set->node_count + 1, sizeof *set->tapped);
    set->places = calloc(set->query_set->node_count + 1, sizeof *set->places);
    set->columns = calloc(1, set->query_set->columns_size + 64);
    set->watchlists = calloc(set->query_set->watchlist_count + 1, sizeof *set->watchlists);
    if (set->tapped && set->places && set->columns && set->watchlists) return GS_OK;
    return gs_fail(error, GS_ERROR, "no memory for the query set");
}

static int check_node(const struct gs_attached_set *set, uint32_t node, struct gs_error *error)
{
    if (node < set->query_set->node_count) return GS_OK;
    return gs_fail(error, GS_ERROR, "there is no node %u", node);
}

int gs_attached_tap(struct gs_attached_set *set, uint32_t node, struct gs_error *error)
{
    GS_RETURN_IF_ERROR(check_node(set, node, error));
    set->tapped[node] = true;
    return GS_OK;
}

/* An engine brings packets, and has no port for batches of others. */
static int check_place(const struct gs_attached_set *set, enum gs_place place,
                       struct gs_error *error)
{
    if (place == GS_PLACE_HERE || place == GS_PLACE_ELSEWHERE) return GS_OK;
    if (place == GS_PLACE_PUSHED && set->settings.high_level_only) return GS_OK;
    return gs_fail(error, GS_ERROR, "batches are pushed where there is no low level");
}

int gs_attached_place(struct gs_attached_set *set, uint32_t node, enum gs_place place,
                      struct gs_error *error)
{
    GS_RETURN_IF_ERROR(check_node(set, node, error));
    GS_RETURN_IF_ERROR(check_place(set, place, error));
    set->places[node] = place;
    return GS_OK;
}

int gs_attached_add_interface(struct gs_attached_set *set, const char *name, struct gs_error *error)
{
    char **grown = realloc(set->interfaces, (set->interface_count + 1) * sizeof *grown);
    if (grown != NULL) set->interfaces = grown;
    char *copy = grown != NULL ? strdup(name) : NULL;
    if (copy == NULL) return gs_fail(error, GS_ERROR, "no memory for interface %s", name);
    grown[set->interface_count++] = copy;
    return GS_OK;
}

static int check_budget(const struct gs_memory *memory, struct gs_error *error)
{
    if (memory == NULL || gs_memory_held(memory) <= gs_memory_limit(memory)) return GS_OK;
    return gs_fail(error, GS_REFUSED,
                   "the low-level tables of these queries take %llu bytes, more than the memory "
                   "that is given, %llu bytes",
                   (unsigned long long)gs_memory_held(memory),
                   (unsigned long long)gs_memory_limit(memory));
}

static void ask(void *context, uint32_t interface, int64_t timestamp_ns)
{
    const struct gs_attached_set *set = context;
    if (set->engine != NULL) gs_engine_ask(set->engine, interface, timestamp_ns);
}

void gs_attached_ask(struct gs_attached_set *set, uint32_t node, uint32_t column, gs_bound value)
{
    gs_graph_ask(&set->graph, node, column, value);
}

void gs_attached_ask_for_time(struct gs_attached_set *set)
{
    gs_graph_ask_for_time(&set->graph);
}

int gs_attached_open(struct gs_attached_set *set, struct gs_error *error)
{
    const struct gs_attached_settings *s = &set->settings;
    uint32_t set_count = s->set_count > 0 ? s->set_count : 1;
    struct gs_graph_settings settings = {.lfta = {.table_count = set_count,
                                                  .default_slot_count = s->default_slot_count,
                                                  .flush_policy = s->flush_policy,
                                                  .slot_count = s->slot_count,
                                                  .batch_rows = s->batch_rows,
                                                  .memory = s->memory,
                                                  .hash_key = s->hash_key,
                                                  .exchange = s->exchange,
                                                  .part = s->part,
                                                  .watchlists = set->watchlists},
                                         .operators = {.batch_rows = s->batch_rows,
                                                       .memory = s->memory,
                                                       .max_groups = s->max_groups,
                                                       .max_rows = s->max_rows,
                                                       .output_punctuation = s->output_punctuation,
                                                       .only_whole = s->only_whole,
                                                       .is_part = s->exchange != NULL,
                                                       .hash_key = s->hash_key,
                                                       .host_map = s->host_map,
                                                       .host_context = s->host_context,
                                                       .object = set->object},
                                         .low_level_only = s->low_level_only,
                                         .high_level_only = s->high_level_only,
                                         .low_taps = s->low_taps,
                                         .tapped = set->tapped,
                                         .places = set->places,
                                         .ask = ask,
                                         .ask_context = set};
    if (set->graph.query_set != NULL)
        return gs_fail(error, GS_ERROR, "a query set that is at work already");
    int status = gs_graph_open(&set->graph, set->query_set, (const char *const *)set->interfaces,
                               set->interface_count, &settings, error);
    if (status == GS_OK) status = gs_attached_open_views(set, error);
    if (status == GS_OK) status = gs_attached_open_exchange(set, error);
    if (status == GS_OK) status = check_budget(s->memory, error);
    if (status != GS_OK) gs_attached_close_exchange(set);
    if (status != GS_OK) gs_attached_close_views(set);
    if (status != GS_OK) gs_graph_close(&set->graph);
    return status;
}

int gs_attached_stand_alone(struct gs_attached_set *set, struct gs_error *error)
{
    if (!set->settings.high_level_only)
        return gs_fail(error, GS_ERROR, "a query set with a low level needs an engine");
    return gs_attached_open(set, error);
}

static void free_watchlists(struct gs_attached_set *set)
{
    for (uint32_t i = 0; set->watchlists != NULL && i < set->query_set->watchlist_count; i++)
        gs_watchlist_free((struct gs_watchlist *)set->watchlists[i]);
    free(set->watchlists);
}

void gs_attached_free(struct gs_attached_set *set)
{
    if (set == NULL) return;
    if (set->engine != NULL) gs_engine_remove(set->engine, set);
    if (set->query_set != NULL) gs_attached_close_views(set);
    gs_attached_close_exchange(set);
    gs_graph_close(&set->graph);
    for (uint32_t i = 0; i < set->interface_count; i++)
        free(set->interfaces[i]);
    free(set->interfaces);
    free_watchlists(set);
    free(set->tapped);
    free(set->places);
    free(set->columns);
    gs_shared_object_release(set->object);
    free(set);
}

/* ---- packets and time ---- */

void gs_attached_burst(struct gs_attached_set *set, const struct gs_burst *burst)
{
    struct gs_burst own = *burst;
    own.scratch = &set->graph.scratch;
    gs_attached_begin_turn(set);
    for (uint32_t view = 0; view < set->query_set->view_count; view++)
        gs_attached_view(set, view, own);
    gs_attached_end_turn(set);
}

bool gs_attached_is_due(const struct gs_attached_set *set, uint32_t interface, int64_t high_ns,
                        int64_t promise_ns)
{
    int64_t next_high_ns = INT64_MAX, next_promise_ns = INT64_MAX;
    gs_attached_next_changes(set, interface, &next_high_ns, &next_promise_ns);
    return high_ns >= next_high_ns || promise_ns >= next_promise_ns;
}

void gs_attached_advance(struct gs_attached_set *set, uint32_t interface, int64_t high_ns,
                         int64_t promise_ns, enum gs_heartbeat heartbeat, bool is_end)
{
    gs_attached_begin_turn(set);
    gs_attached_advance_views(set, interface, promise_ns, is_end);
    for (uint32_t at = 0; at < set->graph.lfta_count; at++)
        if (set->graph.ports[at].interface == interface)
            gs_lfta_advance(&set->graph.lftas[at], high_ns, promise_ns, heartbeat, is_end);
    gs_attached_end_turn(set);
}

void gs_attached_hurry(struct gs_attached_set *set, uint32_t interface, bool is_hurried)
{
    for (uint32_t at = 0; at < set->graph.lfta_count; at++)
        if (set->graph.ports[at].interface == interface)
            set->graph.lftas[at].is_hurried = is_hurried;
}

bool gs_attached_minds_heartbeats(const struct gs_attached_set *set, uint32_t interface)
{
    if (set->graph.outputs.shows_heartbeats || gs_attached_holds(set)) return true;
    for (uint32_t at = 0; at < set->graph.lfta_count; at++) {
        const struct gs_lfta_state *lfta = &set->graph.lftas[at];
        bool has_windows = lfta->base.ops->kind == GS_LFTA_AGGREGATION;
        if (set->graph.ports[at].interface != interface) continue;
        if (!has_windows || lfta->old_groups > 0) return true;
    }
    return false;
}

void gs_attached_miss(struct gs_attached_set *set, uint32_t interface, bool is_missing)
{
    for (uint32_t at = 0; at < set->graph.lfta_count; at++)
        if (set->graph.ports[at].interface == interface)
            gs_lfta_miss(&set->graph.lftas[at], is_missing ? gs_missing_bit(interface) : 0);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void gs_attached_next_changes(const struct gs_attached_set *set, uint32_t interface,
                              int64_t *high_ns, int64_t *promise_ns)
{
    for (uint32_t at = 0; at < set->graph.lfta_count; at++) {
        const struct gs_lfta_state *lfta = &set->graph.lftas[at];
        if (set->graph.ports[at].interface != interface) continue;
        *high_ns = least(*high_ns, lfta->next_high_ns);
        *promise_ns = least(*promise_ns, lfta->next_promise_ns);
    }
    *promise_ns = least(*promise_ns, gs_attached_views_due(set, interface));
}

/* ---- answers ---- */

void gs_attached_settle(struct gs_attached_set *set)
{
    if (set->graph.failed) return;
    gs_attached_begin_turn(set);
    for (uint32_t at = 0; at < set->graph.lfta_count; at++)
        gs_lfta_idle(&set->graph.lftas[at]);
    while (gs_graph_step(&set->graph))
        continue;
    gs_graph_flush_output(&set->graph);
    gs_attached_end_turn(set);
}

void gs_attached_pass_punctuation(struct gs_attached_set *set)
{
    set->graph.outputs.passes_punctuation = set->graph.outputs.shows_heartbeats = true;
}

bool gs_attached_has_output(const struct gs_attached_set *set)
{
    return set->graph.outputs.count > 0;
}

int gs_attached_check(const struct gs_attached_set *set, struct gs_error *error)
{
    const struct gs_error *failure = &set->graph.failure;
    if (!set->graph.failed) return GS_OK;
    if (failure->code != GS_OK) return gs_fail(error, failure->code, "%s", failure->message);
    return gs_fail(error, GS_ERROR, "there is no memory to go on with the query");
}

int gs_attached_drain(struct gs_attached_set *set, struct gs_error *error)
{
    gs_attached_begin_turn(set);
    while (!gs_attached_has_output(set) && gs_graph_step(&set->graph))
        continue;
    if (!gs_attached_has_output(set) && !set->graph.failed) gs_graph_flush_output(&set->graph);
    gs_attached_end_turn(set);
    if (gs_attached_has_output(set)) return GS_OK;
    GS_RETURN_IF_ERROR(gs_attached_check(set, error));
    return GS_END;
}

bool gs_attached_is_answered(const struct gs_attached_set *set)
{
    return gs_graph_is_answered(&set->graph);
}

/* The last reference may be the taker's, when the set is gone. */
struct gs_batch *gs_attached_take(struct gs_attached_set *set, uint32_t *node)
{
    struct gs_batch *batch = gs_output_take(&set->graph.outputs, node);
    if (batch != NULL && batch->object == NULL)
        batch->object = gs_shared_object_retain(set->object);
    return batch;
}

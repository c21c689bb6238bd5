/* SPDX-License-Identifier: Apache-2.0 */
/* What a person asks of a running engine: its nodes and its counters. */
#include "engine_state.h"

int gs_scan_promise(int descriptor, uint64_t block_bytes, struct gs_scanned_promise *promise,
                    struct gs_error *error)
{
    struct gs_capture_config config = {.descriptor = descriptor};
    return gs_capture_scan_promise(&config, block_bytes, promise, error);
}

uint32_t gs_engine_node_count(const struct gs_engine *engine)
{
    return engine->query_set->node_count;
}

const char *gs_engine_node_name(const struct gs_engine *engine, uint32_t node)
{
    return engine->query_set->nodes[node].name;
}

uint32_t gs_engine_port_count(const struct gs_engine *engine)
{
    return engine->graph.port_count;
}

uint32_t gs_engine_port_node(const struct gs_engine *engine, uint32_t port)
{
    return engine->graph.ports[port].node;
}

const char *gs_engine_port_interface(const struct gs_engine *engine, uint32_t port)
{
    return engine->interfaces[engine->graph.ports[port].interface].name;
}

uint32_t gs_engine_source_count(const struct gs_engine *engine)
{
    return engine->source_count;
}

void gs_engine_source_statistics(const struct gs_engine *engine, uint32_t source,
                                 struct gs_source_statistics *statistics)
{
    gs_source_statistics(engine->sources[source], statistics);
    statistics->lag_ns = gs_source_lag(engine->sources[source], gs_engine_now(engine));
}

uint32_t gs_engine_lfta_count(const struct gs_engine *engine)
{
    return engine->graph.lfta_count;
}

void gs_engine_lfta_statistics(const struct gs_engine *engine, uint32_t lfta,
                               struct gs_lfta_statistics *statistics)
{
    const struct gs_lfta_counters *counters = &engine->graph.lftas[lfta].base.counters;
    const struct gs_node *node = &engine->query_set->nodes[engine->graph.ports[lfta].node];
    *statistics = (struct gs_lfta_statistics){
        .name = node->name,
        .interface = engine->interfaces[engine->graph.ports[lfta].interface].name,
        .not_of_protocol = counters->not_of_protocol,
        .prefiltered = counters->prefiltered,
        .rejected = counters->rejected,
        .no_value = counters->no_value,
        .accepted = counters->accepted,
        .evicted = counters->evicted,
        .slots = engine->graph.lftas[lfta].base.table.slot_count,
        .held_bytes = engine->graph.lftas[lfta].holder.held_bytes};
}

uint32_t gs_engine_operator_count(const struct gs_engine *engine)
{
    return engine->query_set->node_count;
}

void gs_engine_operator_statistics(const struct gs_engine *engine, uint32_t index,
                                   struct gs_operator_statistics *statistics)
{
    const struct gs_operator_state *op = engine->graph.operators[index];
    *statistics = (struct gs_operator_statistics){.name = engine->query_set->nodes[index].name};
    if (op == NULL) {
        statistics->kind = "lfta";
        return;
    }
    const struct gs_operator_counters *counters = &op->base.counters;
    statistics->kind = op->methods->name;
    statistics->rows_in = counters->rows_in;
    statistics->rows_out = counters->rows_out;
    statistics->rejected = counters->rejected;
    statistics->no_value = counters->no_value;
    statistics->groups_refused = counters->groups_refused;
    statistics->beyond_limit = counters->beyond_limit;
    statistics->refused_for_memory = op->refused_for_memory;
    statistics->held_bytes = op->holder.held_bytes;
    statistics->peak_bytes = op->holder.peak_bytes;
    statistics->held = op->methods->held != NULL ? op->methods->held(op) : 0;
}

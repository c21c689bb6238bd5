/* SPDX-License-Identifier: Apache-2.0 */
/* What a person asks of a query set at work: its nodes and its counters. */
#include "attached_set.h"

uint32_t gs_attached_node_count(const struct gs_attached_set *set)
{
    return set->query_set->node_count;
}

const char *gs_attached_node_name(const struct gs_attached_set *set, uint32_t node)
{
    return set->query_set->nodes[node].name;
}

uint32_t gs_attached_port_count(const struct gs_attached_set *set)
{
    return set->graph.port_count;
}

uint32_t gs_attached_port_node(const struct gs_attached_set *set, uint32_t port)
{
    return set->graph.ports[port].node;
}

const char *gs_attached_port_interface(const struct gs_attached_set *set, uint32_t port)
{
    return set->interfaces[set->graph.ports[port].interface];
}

uint32_t gs_attached_interface_count(const struct gs_attached_set *set)
{
    return set->interface_count;
}

const char *gs_attached_interface_name(const struct gs_attached_set *set, uint32_t interface)
{
    return set->interfaces[interface];
}

struct gs_wanted gs_attached_port_wanted(const struct gs_attached_set *set, uint32_t port)
{
    return set->graph.ports[port].wanted;
}

uint32_t gs_attached_lfta_count(const struct gs_attached_set *set)
{
    return set->graph.lfta_count;
}

void gs_attached_lfta_statistics(const struct gs_attached_set *set, uint32_t lfta,
                                 struct gs_lfta_statistics *statistics)
{
    const struct gs_lfta_state *state = &set->graph.lftas[lfta];
    const struct gs_lfta_counters *counters = &state->base.counters;
    const struct gs_reassembled *reassembled = &counters->reassembled;
    const struct gs_sequenced *sequenced = &counters->sequenced;
    const struct gs_join_filter *filter = state->base.filter;
    const struct gs_node *node = &set->query_set->nodes[set->graph.ports[lfta].node];
    *statistics =
        (struct gs_lfta_statistics){.name = node->name,
                                    .interface = set->interfaces[set->graph.ports[lfta].interface],
                                    .not_of_protocol = counters->not_of_protocol,
                                    .prefiltered = counters->prefiltered,
                                    .rejected = counters->rejected,
                                    .no_value = counters->no_value,
                                    .accepted = counters->accepted,
                                    .evicted = counters->evicted,
                                    .opened = counters->opened,
                                    .unopened = counters->unopened,
                                    .too_deep = counters->too_deep,
                                    .fragments = reassembled->fragments,
                                    .datagrams = reassembled->datagrams,
                                    .fragments_incomplete = reassembled->incomplete,
                                    .fragments_no_room = reassembled->no_room,
                                    .fragments_overlapping = reassembled->overlapping,
                                    .fragments_malformed = reassembled->malformed,
                                    .fragments_repeated = reassembled->repeated,
                                    .segments = sequenced->segments,
                                    .segments_held = sequenced->held,
                                    .segments_repeated = sequenced->repeated,
                                    .gaps_waited = sequenced->waited,
                                    .gaps_no_room = sequenced->no_room,
                                    .gaps_ended = sequenced->ended,
                                    .directions_forgotten = sequenced->forgotten,
                                    .forgotten = filter == NULL ? 0 : filter->forgotten,
                                    .slots = state->owner->base.table.slot_count,
                                    .groups = gs_lfta_groups(state),
                                    .groups_most = state->owner->groups_most,
                                    .ways = gs_lfta_ways(state),
                                    .rows_out = state->rows_out,
                                    .promised_ns = gs_lfta_promised_ns(state),
                                    .held_bytes = state->holder.held_bytes,
                                    .peak_bytes = state->holder.peak_bytes};
}

uint32_t gs_attached_operator_count(const struct gs_attached_set *set)
{
    return set->graph.operators == NULL ? 0 : set->query_set->node_count;
}

void gs_attached_operator_statistics(const struct gs_attached_set *set, uint32_t index,
                                     struct gs_operator_statistics *statistics)
{
    const struct gs_operator_state *op = set->graph.operators[index];
    *statistics = (struct gs_operator_statistics){.name = set->query_set->nodes[index].name};
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
    statistics->rows_refused = counters->rows_refused;
    statistics->out_of_order = counters->out_of_order;
    statistics->passed_over = counters->passed_over;
    statistics->refused_for_memory = op->refused_for_memory;
    statistics->held_bytes = op->holder.held_bytes;
    statistics->peak_bytes = op->holder.peak_bytes;
    statistics->held = op->methods->held != NULL ? op->methods->held(op) : 0;
    statistics->bounds = op->given.bounds;
    statistics->column_count = op->node->schema->column_count;
}

/* NULL where the node is no output at work. */
static const struct gs_operator_state *output_at(const struct gs_attached_set *set, uint32_t node)
{
    if (set->graph.operators == NULL || node >= set->query_set->node_count) return NULL;
    const struct gs_operator_state *op = set->graph.operators[node];
    return op != NULL && op->methods == &gs_output_methods ? op : NULL;
}

uint64_t gs_attached_cut_rows(const struct gs_attached_set *set, uint32_t node)
{
    const struct gs_operator_state *op = output_at(set, node);
    return op != NULL ? op->cut.rows : 0;
}

bool gs_attached_whole_from(const struct gs_attached_set *set, uint32_t node, int64_t *value)
{
    const struct gs_operator_state *op = output_at(set, node);
    if (op == NULL || !op->cut.is_begun || !op->cut.has_windows) return false;
    for (uint32_t c = 0; c < op->node->schema->column_count; c++) {
        gs_bound last = op->cut.last[c];
        if (last == GS_BOUND_NONE || last == GS_BOUND_END) continue;
        *value = op->node->schema->fields[c].temporal < 0 ? -(last + 1) : last + 1;
        return true;
    }
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_cut.h"

#include <stdlib.h>

static const struct gs_node *node_at(const struct gs_graph *graph, uint32_t n)
{
    return &graph->query_set->nodes[n];
}

/* The operator whose stream a node's is; NULL where it is not built. */
static struct gs_operator_state *maker_of(const struct gs_graph *graph, uint32_t n)
{
    return graph->unions[n] != NULL ? graph->unions[n] : graph->operators[n];
}

/* ---- whose rows are of windows ---- */

static bool has_own_windows(const struct gs_operator_state *op)
{
    return op->cut.kind == GS_CUT_BY_WINDOW || op->cut.kind == GS_CUT_JOINS;
}

static void find_windows_of(struct gs_graph *graph, uint32_t n)
{
    struct gs_operator_state *op = maker_of(graph, n);
    const struct gs_node *node = node_at(graph, n);
    if (op == NULL) return;
    if (node->kind == GS_NODE_LFTA) {
        const struct gs_lfta_ops *ops = node->ops;
        op->cut.has_windows = ops->kind == GS_LFTA_AGGREGATION;
        /* a table's rows leave it at any time */
        if (op->cut.has_windows) op->cut.kind = GS_CUT_HOLDS;
        return;
    }
    op->cut.has_windows = has_own_windows(op);
    for (uint32_t i = 0; i < node->input_count; i++)
        op->cut.has_windows |= maker_of(graph, node->inputs[i])->cut.has_windows;
}

/* A node stands behind those that it reads. */
static void find_windows(struct gs_graph *graph)
{
    for (uint32_t n = 0; n < graph->query_set->node_count; n++) {
        find_windows_of(graph, n);
        if (graph->taps[n] != NULL)
            graph->taps[n]->cut.has_windows = maker_of(graph, n)->cut.has_windows;
    }
}

/* ---- what was before ---- */

/* To the LFTA's columns: an expression of time is greatest at the last time. */
static void columns_at(const struct gs_lfta_ops *ops, int64_t seen_ns, gs_bound *columns)
{
    gs_bound bounds[GS_TEMPORAL_MAX];
    for (uint32_t k = 0; k < ops->temporal_count; k++)
        bounds[k] = GS_BOUND_NONE;
    if (ops->bounds != NULL) ops->bounds(seen_ns, bounds);
    for (uint32_t k = 0; k < ops->temporal_count; k++)
        columns[ops->temporal_columns[k]] = bounds[k];
}

static bool begin_port(struct gs_operator_state *joined, const struct gs_node *node, uint32_t at,
                       int64_t seen_ns)
{
    gs_bound *columns = malloc((node->schema->column_count + 1) * sizeof *columns);
    if (columns == NULL) return false;
    for (uint32_t c = 0; c < node->schema->column_count; c++)
        columns[c] = GS_BOUND_NONE;
    columns_at(node->ops, seen_ns, columns);
    bool has_room = gs_cut_begin(joined, at, columns);
    free(columns);
    return has_room;
}

static bool begin_low(struct gs_graph *graph, uint32_t n, const int64_t *seen_ns)
{
    uint32_t at = 0;
    for (uint32_t p = 0; p < graph->port_count; p++) {
        if (graph->ports[p].node != n) continue;
        int64_t seen = seen_ns[graph->ports[p].interface];
        if (seen != INT64_MIN && !begin_port(graph->unions[n], node_at(graph, n), at, seen))
            return false;
        at++;
    }
    return true;
}

/* From one that it reads, if that has something to say. */
static bool begin_from(struct gs_operator_state *op, uint32_t port,
                       const struct gs_operator_state *input)
{
    return !input->cut.is_begun || gs_cut_begin(op, port, input->cut.last);
}

static bool begin_node(struct gs_graph *graph, uint32_t n, const int64_t *seen_ns)
{
    struct gs_operator_state *op = maker_of(graph, n);
    if (op == NULL) return true;
    if (node_at(graph, n)->kind == GS_NODE_LFTA && !begin_low(graph, n, seen_ns)) return false;
    for (uint32_t i = 0; op == graph->operators[n] && i < node_at(graph, n)->input_count; i++)
        if (!begin_from(op, i, maker_of(graph, node_at(graph, n)->inputs[i]))) return false;
    return graph->taps[n] == NULL || begin_from(graph->taps[n], 0, op);
}

bool gs_graph_cut_begin(struct gs_graph *graph, const int64_t *seen_ns)
{
    find_windows(graph);
    for (uint32_t n = 0; n < graph->query_set->node_count; n++)
        if (!begin_node(graph, n, seen_ns)) return false;
    return true;
}

/* ---- what comes to nothing more ---- */

static void put_out_closed(struct gs_graph *graph)
{
    for (uint32_t at = 0; at < graph->lfta_count && !graph->failed; at++)
        gs_lfta_answer(&graph->lftas[at]);
    while (gs_graph_step(graph))
        continue;
    if (!graph->failed) gs_graph_flush_output(graph);
}

void gs_graph_cut_end(struct gs_graph *graph, bool is_kept)
{
    find_windows(graph);
    put_out_closed(graph);
    for (uint32_t n = 0; n < graph->query_set->node_count; n++) {
        if (maker_of(graph, n) != NULL) gs_cut_end(maker_of(graph, n), is_kept);
        if (graph->taps[n] != NULL) gs_cut_end(graph->taps[n], is_kept);
    }
}

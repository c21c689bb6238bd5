/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include <stdlib.h>

#include "../decode/decode.h"

static const struct gs_host host = {
    .decode = gs_decode_packet,
    .lfta_window = gs_table_window,
    .lfta_occupy = gs_table_occupy,
    .lfta_evict = gs_table_evict,
    .lfta_drip = gs_flush_drip,
    .lfta_room = gs_lfta_room,
    .lfta_lanes = gs_deal_lanes,
    .lfta_deals = gs_deal_has_window,
    .operator_room = gs_operator_room,
    .group_window = gs_group_window,
    .group_admit = gs_group_admit,
    .group_string = gs_group_string,
    .group_value = gs_group_value,
    .list_add = gs_list_add,
    .runs_add = gs_runs_add,
    .list_text = gs_value_list_text,
    .counts_text = gs_counts_text,
    .runs_count = gs_runs_count,
    .running_keep = gs_running_keep,
    .running_drop = gs_running_drop,
    .sample_meet = gs_sample_meet,
    .sample_at = gs_sample_at,
    .sample_admit = gs_sample_admit,
    .sample_join = gs_sample_join,
    .sample_clean = gs_sample_clean,
    .operator_mark = gs_operator_mark,
    .join_side = gs_join_side,
    .join_admit = gs_join_admit,
    .join_keep = gs_join_keep,
};

/* What brings a STREAM's records is called so (gigastream/gsql/stream_names.py): it is read where
 * it is named, and is none of every interface's packets. */
static bool is_of_stream(const char *interface)
{
    return strncmp(interface, "STREAM ", 7) == 0;
}

static bool is_bound_to(const struct gs_lfta_ops *ops, const char *interface)
{
    if (ops->interfaces == NULL) return !is_of_stream(interface);
    for (uint32_t i = 0; ops->interfaces[i] != NULL; i++)
        if (strcmp(ops->interfaces[i], interface) == 0) return true;
    return false;
}

/* An LFTA that fills the table of another has none. */
static bool has_table(const struct gs_lfta_ops *ops)
{
    return ops->member == NULL || ops->member->owner == ops;
}

static uint32_t count_tables(const struct gs_query_set *query_set, const char *const *interfaces,
                             uint32_t interface_count)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < query_set->node_count; n++) {
        const struct gs_lfta_ops *ops = query_set->nodes[n].ops;
        if (query_set->nodes[n].kind != GS_NODE_LFTA || !has_table(ops)) continue;
        for (uint32_t i = 0; i < interface_count; i++)
            count += is_bound_to(ops, interfaces[i]);
    }
    return count;
}

/* Of a low node there is one for each interface that it reads. */
static bool has_ports(const struct gs_node *node, enum gs_place place)
{
    return place == GS_PLACE_PUSHED || (place == GS_PLACE_HERE && node->kind == GS_NODE_LFTA);
}

/* What stands above LFTAs is of no interface: its batches come in by the first. */
static bool has_port(const struct gs_node *node, const char *const *interfaces, uint32_t interface)
{
    return node->kind == GS_NODE_LFTA ? is_bound_to(node->ops, interfaces[interface])
                                      : interface == 0;
}

static uint32_t count_ports(const struct gs_query_set *query_set, const char *const *interfaces,
                            uint32_t interface_count, const enum gs_place *places)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < query_set->node_count; n++)
        for (uint32_t i = 0; has_ports(&query_set->nodes[n], places[n]) && i < interface_count; i++)
            count += has_port(&query_set->nodes[n], interfaces, i);
    return count;
}

static int allocate(struct gs_graph *graph, uint32_t port_count, struct gs_error *error)
{
    uint32_t nodes = graph->query_set->node_count;
    graph->handles = calloc(graph->query_set->handle_count + 1, sizeof *graph->handles);
    graph->ports = calloc(port_count + 1, sizeof *graph->ports);
    graph->lftas = calloc(port_count + 1, sizeof *graph->lftas);
    graph->unions = calloc(nodes + 1, sizeof *graph->unions);
    graph->operators = calloc(nodes + 1, sizeof *graph->operators);
    graph->taps = calloc(nodes + 1, sizeof *graph->taps);
    if (gs_scratch_open(&graph->scratch) && graph->handles && graph->ports && graph->lftas &&
        graph->unions && graph->operators && graph->taps)
        return GS_OK;
    return gs_fail(error, GS_ERROR, "no memory for the query set");
}

static int make_handles(struct gs_graph *graph, struct gs_error *error)
{
    for (uint32_t h = 0; h < graph->query_set->handle_count; h++) {
        char message[GS_MESSAGE_BYTES] = "";
        graph->handles[h] = graph->query_set->handles[h].make(message, sizeof message);
        if (graph->handles[h] == NULL) return gs_fail(error, GS_ERROR, "%s", message);
    }
    return GS_OK;
}

static int connect(struct gs_stream *stream, struct gs_operator_state *op, uint32_t port,
                   struct gs_error *error)
{
    struct gs_consumer *consumers =
        realloc(stream->consumers, (stream->consumer_count + 1) * sizeof *consumers);
    if (consumers == NULL) return gs_fail(error, GS_ERROR, "no memory for a stream");
    consumers[stream->consumer_count++] = (struct gs_consumer){op, port, gs_operator_take};
    op->sources[port] = stream;
    stream->consumers = consumers;
    return GS_OK;
}

static const struct gs_node *node_at(const struct gs_graph *graph, uint32_t n)
{
    return &graph->query_set->nodes[n];
}

/* The union of an LFTA node's interfaces (a protocol over several interfaces is that). */
static int open_union(struct gs_graph *graph, uint32_t n, uint32_t ports,
                      const struct gs_graph_settings *settings, struct gs_error *error)
{
    static const struct gs_operator_ops ops = {"union"};
    struct gs_node *node = calloc(1, sizeof *node);
    const struct gs_schema **inputs = calloc(ports + 1, sizeof *inputs);
    int status = gs_fail(error, GS_ERROR, "no memory for a union");
    if (node != NULL && inputs != NULL) {
        *node = *node_at(graph, n);
        node->kind = GS_NODE_OPERATOR;
        node->ops = &ops;
        for (uint32_t port = 0; port < ports; port++)
            inputs[port] = node->schema;
        status = gs_operator_open(&graph->unions[n], node, n, ports, inputs, &settings->operators,
                                  &host, graph->handles, error);
    }
    if (graph->unions[n] == NULL) free(node);
    free(inputs);
    return status;
}

/* An output that gives everything, `index` being what the queue calls it. */
static int open_output(struct gs_operator_state **tap, const struct gs_graph *graph, uint32_t n,
                       uint32_t index, struct gs_stream *stream,
                       const struct gs_graph_settings *settings, struct gs_error *error)
{
    static const struct gs_operator_ops ops = {"output"};
    struct gs_node *node = calloc(1, sizeof *node);
    if (node == NULL) return gs_fail(error, GS_ERROR, "no memory for a tap");
    *node = *node_at(graph, n);
    node->ops = &ops;
    struct gs_operator_settings all = settings->operators;
    all.output_punctuation = true;
    all.only_whole = false;
    int status =
        gs_operator_open(tap, node, index, 1, &node->schema, &all, &host, graph->handles, error);
    if (*tap == NULL) free(node);
    GS_RETURN_IF_ERROR(status);
    return connect(stream, *tap, 0, error);
}

static void want(struct gs_port *port, int64_t timestamp_ns)
{
    const struct gs_graph *graph = port->graph;
    ptrdiff_t at = port - graph->ports;
    if (at < graph->lfta_count) timestamp_ns = gs_lfta_with_delay(&graph->lftas[at], timestamp_ns);
    if (timestamp_ns == INT64_MAX) return;
    if (gs_wanted_note(&port->wanted, timestamp_ns, GS_BOUND_NONE))
        graph->ask(graph->ask_context, port->interface, timestamp_ns);
}

/* What an LFTA, or who pushes its batches, is asked for: the packet time that says as much. */
static void ask_port(void *maker, uint32_t column, gs_bound value)
{
    struct gs_port *port = maker;
    want(port, gs_lfta_time_of(node_at(port->graph, port->node)->ops, column, value));
}

/* Who has the table of an LFTA stands before it in the query set, and reads the same interfaces. */
static int join_table(struct gs_graph *graph, uint32_t at, struct gs_error *error)
{
    struct gs_lfta_state *lfta = &graph->lftas[at];
    const struct gs_member *member = lfta->base.ops->member;
    if (member == NULL) return GS_OK;
    uint32_t owner = 0;
    while (owner < at && (graph->lftas[owner].base.ops != member->owner ||
                          graph->ports[owner].interface != graph->ports[at].interface))
        owner++;
    if (graph->lftas[owner].base.ops != member->owner)
        return gs_fail(error, GS_ERROR, "%s fills a table that is elsewhere",
                       node_at(graph, graph->ports[at].node)->name);
    return gs_lfta_join(lfta, &graph->lftas[owner], error);
}

static int open_port(struct gs_graph *graph, uint32_t n, uint32_t interface,
                     const struct gs_graph_settings *settings, struct gs_error *error)
{
    uint32_t at = graph->port_count++;
    struct gs_port *port = &graph->ports[at];
    port->node = n;
    port->interface = interface;
    port->graph = graph;
    port->wanted.value = GS_BOUND_NONE;
    port->stream.maker = port;
    if (node_at(graph, n)->kind == GS_NODE_LFTA) port->stream.ask = ask_port;
    if (settings->low_taps)
        GS_RETURN_IF_ERROR(open_output(&port->tap, graph, n, graph->query_set->node_count + at,
                                       &port->stream, settings, error));
    if (settings->high_level_only) return GS_OK;
    GS_RETURN_IF_ERROR(gs_lfta_open(&graph->lftas[graph->lfta_count++], node_at(graph, n),
                                    &settings->lfta, &host, graph->handles, &port->stream,
                                    graph->query_set->node_count + at, error));
    GS_RETURN_IF_ERROR(gs_deal_open(&graph->lftas[at], &settings->lfta, at, error));
    return join_table(graph, at, error);
}

static int open_ports(struct gs_graph *graph, uint32_t n, const char *const *interfaces,
                      uint32_t interface_count, const struct gs_graph_settings *settings,
                      struct gs_error *error)
{
    uint32_t first = graph->port_count;
    for (uint32_t i = 0; i < interface_count; i++)
        if (has_port(node_at(graph, n), interfaces, i))
            GS_RETURN_IF_ERROR(open_port(graph, n, i, settings, error));
    if (settings->low_level_only && !settings->tapped[n]) return GS_OK;
    GS_RETURN_IF_ERROR(open_union(graph, n, graph->port_count - first, settings, error));
    for (uint32_t at = first; at < graph->port_count; at++)
        GS_RETURN_IF_ERROR(connect(&graph->ports[at].stream, graph->unions[n], at - first, error));
    return GS_OK;
}

/* The stream of a node: an LFTA node's is its union's. NULL where the node is not built. */
static struct gs_stream *stream_of(struct gs_graph *graph, uint32_t n)
{
    struct gs_operator_state *op = graph->unions[n] ? graph->unions[n] : graph->operators[n];
    return op == NULL ? NULL : &op->stream;
}

static int connect_inputs(struct gs_graph *graph, uint32_t n, struct gs_error *error)
{
    const struct gs_node *node = node_at(graph, n);
    for (uint32_t i = 0; i < node->input_count; i++) {
        struct gs_stream *stream = stream_of(graph, node->inputs[i]);
        if (stream == NULL)
            return gs_fail(error, GS_ERROR, "%s is here, and %s, which it reads, is elsewhere",
                           node->name, node_at(graph, node->inputs[i])->name);
        GS_RETURN_IF_ERROR(connect(stream, graph->operators[n], i, error));
    }
    return GS_OK;
}

static int open_operator(struct gs_graph *graph, uint32_t n,
                         const struct gs_graph_settings *settings, struct gs_error *error)
{
    const struct gs_node *node = node_at(graph, n);
    const struct gs_schema **inputs = calloc(node->input_count + 1, sizeof *inputs);
    if (inputs == NULL) return gs_fail(error, GS_ERROR, "no memory for operator %s", node->name);
    for (uint32_t i = 0; i < node->input_count; i++)
        inputs[i] = node_at(graph, node->inputs[i])->schema;
    int status = gs_operator_open(&graph->operators[n], node, n, node->input_count, inputs,
                                  &settings->operators, &host, graph->handles, error);
    free(inputs);
    GS_RETURN_IF_ERROR(status);
    return connect_inputs(graph, n, error);
}

/* Of the low level alone there is no stream of what is above it. */
static int open_tap(struct gs_graph *graph, uint32_t n, const struct gs_graph_settings *settings,
                    struct gs_error *error)
{
    struct gs_stream *stream = stream_of(graph, n);
    if (settings->places[n] == GS_PLACE_ELSEWHERE)
        return gs_fail(error, GS_ERROR, "%s is elsewhere, and so is its stream",
                       node_at(graph, n)->name);
    if (stream == NULL) return GS_OK;
    return open_output(&graph->taps[n], graph, n, n, stream, settings, error);
}

int gs_graph_open(struct gs_graph *graph, const struct gs_query_set *query_set,
                  const char *const *interfaces, uint32_t interface_count,
                  const struct gs_graph_settings *given, struct gs_error *error)
{
    struct gs_graph_settings settings = *given;
    graph->query_set = query_set;
    graph->ask = given->ask;
    graph->ask_context = given->ask_context;
    graph->outputs.holder.memory = given->operators.memory;
    settings.operators.outputs = &graph->outputs;
    settings.lfta.table_count *= count_tables(query_set, interfaces, interface_count);
    settings.operators.failed = settings.lfta.failed = &graph->failed;
    settings.operators.failure = &graph->failure;
    settings.lfta.shows_heartbeats = &graph->outputs.shows_heartbeats;
    uint32_t port_count = count_ports(query_set, interfaces, interface_count, settings.places);
    GS_RETURN_IF_ERROR(allocate(graph, port_count, error));
    GS_RETURN_IF_ERROR(make_handles(graph, error));
    for (uint32_t n = 0; n < query_set->node_count; n++) {
        if (has_ports(node_at(graph, n), settings.places[n]))
            GS_RETURN_IF_ERROR(open_ports(graph, n, interfaces, interface_count, &settings, error));
        else if (settings.places[n] == GS_PLACE_HERE && !settings.low_level_only)
            GS_RETURN_IF_ERROR(open_operator(graph, n, &settings, error));
        if (settings.tapped[n]) GS_RETURN_IF_ERROR(open_tap(graph, n, &settings, error));
    }
    return GS_OK;
}

/* None where it is not open, or could not be. */
static uint32_t node_count(const struct gs_graph *graph)
{
    return graph->query_set == NULL ? 0 : graph->query_set->node_count;
}

bool gs_graph_step(struct gs_graph *graph)
{
    bool more = false;
    for (uint32_t n = 0; n < node_count(graph) && !graph->failed; n++) {
        struct gs_operator_state *op = graph->operators[n];
        if (op != NULL && op->methods->step != NULL) more |= op->methods->step(op);
    }
    return more && !graph->failed;
}

void gs_graph_ask(const struct gs_graph *graph, uint32_t n, uint32_t column, gs_bound value)
{
    if (n >= node_count(graph)) return;
    struct gs_operator_state *op = graph->unions[n] ? graph->unions[n] : graph->operators[n];
    if (op != NULL && column < op->node->schema->column_count) gs_operator_ask(op, column, value);
}

void gs_graph_measure(struct gs_graph *graph, struct gs_stages *stages)
{
    graph->stages = stages;
    for (uint32_t n = 0; n < node_count(graph); n++) {
        if (graph->unions[n] != NULL) graph->unions[n]->stages = stages;
        if (graph->operators[n] != NULL) graph->operators[n]->stages = stages;
    }
}

void gs_graph_ask_for_time(struct gs_graph *graph)
{
    for (uint32_t at = 0; at < graph->port_count; at++)
        (void)gs_wanted_forget(&graph->ports[at].wanted);
    for (uint32_t n = 0; n < node_count(graph); n++) {
        struct gs_operator_state *op = graph->operators[n];
        if (op != NULL && op->methods->on_idle != NULL) op->methods->on_idle(op);
    }
    for (uint32_t at = 0; at < graph->lfta_count; at++)
        want(&graph->ports[at], gs_lfta_starves_for(&graph->lftas[at]));
}

void gs_graph_want(struct gs_graph *graph, uint32_t interface, int64_t timestamp_ns)
{
    for (uint32_t at = 0; at < graph->port_count; at++)
        if (graph->ports[at].interface == interface) want(&graph->ports[at], timestamp_ns);
}

bool gs_graph_answer(struct gs_graph *graph, uint32_t interface, int64_t high_ns,
                     int64_t promise_ns)
{
    bool has_answered = false;
    for (uint32_t at = 0; at < graph->lfta_count; at++) {
        struct gs_port *port = &graph->ports[at];
        struct gs_lfta_state *lfta = &graph->lftas[at];
        uint64_t sequence = lfta->sequence;
        if (port->interface != interface || port->wanted.value == GS_BOUND_NONE ||
            port->wanted.value > promise_ns)
            continue;
        (void)gs_wanted_forget(&port->wanted);
        gs_lfta_advance(lfta, high_ns, promise_ns, GS_HEARTBEAT_NONE, false);
        gs_lfta_answer(lfta);
        has_answered |= lfta->sequence != sequence;
    }
    return has_answered;
}

bool gs_graph_is_answered(const struct gs_graph *graph)
{
    bool has_output = false;
    for (uint32_t n = 0; n < node_count(graph); n++) {
        const struct gs_operator_state *op = graph->operators[n];
        if (op == NULL || op->methods != &gs_output_methods) continue;
        if (!gs_operator_ended(op)) return false;
        has_output = true;
    }
    return has_output;
}

void gs_graph_flush_output(struct gs_graph *graph)
{
    for (uint32_t at = 0; at < graph->lfta_count; at++)
        gs_lfta_flush_output(&graph->lftas[at]);
    for (uint32_t n = 0; n < node_count(graph); n++)
        if (graph->operators[n] != NULL) gs_operator_flush_output(graph->operators[n]);
}

static void close_made(struct gs_operator_state *op)
{
    if (op == NULL) return;
    void *node = (void *)op->node; /* made here, for a union or a tap */
    gs_operator_close(op);
    free(node);
}

static void close_nodes(struct gs_graph *graph)
{
    for (uint32_t n = 0; n < graph->query_set->node_count; n++) {
        if (graph->taps != NULL) close_made(graph->taps[n]);
        if (graph->unions != NULL) close_made(graph->unions[n]);
        if (graph->operators != NULL) gs_operator_close(graph->operators[n]);
    }
    for (uint32_t at = 0; at < graph->lfta_count; at++)
        gs_lfta_close(&graph->lftas[at]);
    for (uint32_t at = 0; at < graph->port_count; at++) {
        close_made(graph->ports[at].tap);
        free(graph->ports[at].stream.consumers);
    }
    for (uint32_t h = 0; graph->handles != NULL && h < graph->query_set->handle_count; h++)
        if (graph->handles[h] != NULL) graph->query_set->handles[h].free(graph->handles[h]);
}

void gs_graph_close(struct gs_graph *graph)
{
    if (graph->query_set != NULL) close_nodes(graph);
    gs_output_clear(&graph->outputs);
    free(graph->handles);
    free(graph->ports);
    free(graph->lftas);
    free(graph->unions);
    free(graph->operators);
    free(graph->taps);
    gs_scratch_close(&graph->scratch);
    memset(graph, 0, sizeof *graph);
}

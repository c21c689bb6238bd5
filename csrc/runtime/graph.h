/* SPDX-License-Identifier: Apache-2.0 */
/* A query set made live: a port for each interface that a low node reads, behind it an LFTA or
 * whoever pushes batches, the operators above them, and the streams between. */
#ifndef GS_RUNTIME_GRAPH_H
#define GS_RUNTIME_GRAPH_H

#include "../base/stages.h"
#include "../gigastream.h"
#include "../hfta/operator.h"
#include "../lfta/lfta.h"
#include "../stream/request.h"

/* Where a low node's batches from one interface come in, or those of a node that is run elsewhere.
 */
struct gs_port {
    uint32_t node, interface;
    struct gs_stream stream;
    struct gs_operator_state *tap; /* NULL where it is not tapped */
    uint64_t sequence;             /* of pushed batches */
    bool is_ended;                 /* by a pushed batch */
    struct gs_wanted wanted;       /* packet time that was asked of it */
    const struct gs_graph *graph;
};

struct gs_graph {
    const struct gs_query_set *query_set;
    void **handles;
    struct gs_port *ports;
    uint32_t port_count;
    struct gs_lfta_state *lftas;          /* by port */
    uint32_t lfta_count;                  /* 0 where batches are pushed, else that of ports */
    struct gs_operator_state **unions;    /* by node: of an LFTA node's interfaces; else NULL */
    struct gs_operator_state **operators; /* by node; NULL for LFTA nodes */
    struct gs_operator_state **taps;      /* by node; NULL where it is not tapped */
    struct gs_output_queue outputs;
    struct gs_stages *stages;  /* of the engine, where somebody asks; or NULL */
    struct gs_scratch scratch; /* of the LFTAs: none of them waits for another */
    /* Asks the sources of an interface for time, if it has any. */
    void (*ask)(void *context, uint32_t interface, int64_t timestamp_ns);
    void *ask_context;
    bool failed; /* an operator or LFTA could not go on: nothing of it is to be used again */
    struct gs_error failure; /* why, where it was not memory that was wanting */
};

struct gs_graph_settings {
    struct gs_lfta_settings lfta;
    struct gs_operator_settings operators;
    bool low_level_only;         /* no union, no operator, but where a tap wants it */
    bool high_level_only;        /* no LFTA */
    bool low_taps;               /* each LFTA's batches are put out, before the union */
    const bool *tapped;          /* by node, */
    const enum gs_place *places; /* likewise */
    void (*ask)(void *context, uint32_t interface, int64_t timestamp_ns);
    void *ask_context;
};

int gs_graph_open(struct gs_graph *graph, const struct gs_query_set *query_set,
                  const char *const *interfaces, uint32_t interface_count,
                  const struct gs_graph_settings *settings, struct gs_error *error);
/* Each operator puts out a batch of what is due; true while one has more, and none has failed. */
bool gs_graph_step(struct gs_graph *graph);
/* Every query's answer has its end: what else comes in changes no row. */
bool gs_graph_is_answered(const struct gs_graph *graph);
/* Asks a node for time: for a bound of this column of at least so much. */
void gs_graph_ask(const struct gs_graph *graph, uint32_t node, uint32_t column, gs_bound value);
/* Every operator, and every LFTA, that waits for time asks for it anew: what its ports want then.
 */
void gs_graph_ask_for_time(struct gs_graph *graph);
/* Somebody outside wants a packet time of an interface. */
void gs_graph_want(struct gs_graph *graph, uint32_t interface, int64_t timestamp_ns);
/* H and W of an interface are these: LFTAs of which no more was wanted let go of what is closed,
 * and say so. True where one had something to say. */
bool gs_graph_answer(struct gs_graph *graph, uint32_t interface, int64_t high_ns,
                     int64_t promise_ns);
/* Rows held for a fuller batch go on. */
/* From now on what its stages cost is measured there. */
void gs_graph_measure(struct gs_graph *graph, struct gs_stages *stages);
void gs_graph_flush_output(struct gs_graph *graph);
void gs_graph_close(struct gs_graph *graph);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A query set at work: its object, its graph, what it unpacks of a burst. It is attached to an
 * engine, whose packets it gets, or stands alone, and batches are pushed. */
#ifndef GS_RUNTIME_ATTACHED_SET_H
#define GS_RUNTIME_ATTACHED_SET_H

#include "../base/shared_object.h"
#include "../decode/decapsulate.h"
#include "graph.h"

struct gs_attached_set {
    struct gs_attached_settings settings;
    struct gs_shared_object *object;
    const struct gs_query_set *query_set;
    struct gs_graph graph;
    char **interfaces; /* by the ordinals of the engine */
    uint32_t interface_count;
    bool *tapped;                           /* by node, */
    enum gs_place *places;                  /* likewise */
    const struct gs_watchlist **watchlists; /* that it has been given, by number */
    void *columns;                          /* of the burst, generated code's */
    /* attached_views.c: a burst's packets as a view has them that opens tunnels or puts datagrams
     * together or segments in order, what they were in, the names of their interfaces, and the
     * bytes of wholes and of what was held; NULL where there is no such view */
    struct gs_packet *opened, *outers;
    struct gs_string *names;
    uint8_t *wholes, *kept;
    size_t whole_capacity;
    struct gs_reassembler **reassemblers; /* by view, then interface; NULL where it has none */
    struct gs_holder views_holder;
    struct gs_engine *engine;     /* that it is attached to, or NULL */
    bool is_ended;                /* before its engine's input: it gets no more packets */
    struct gs_progress *progress; /* attached_exchange.c: of those that it exchanges rows with */
};

/* Builds the graph over the interfaces that were named. */
int gs_attached_open(struct gs_attached_set *set, struct gs_error *error);
/* An LFTA's turn may come yet. */
static inline bool gs_attached_is_running(const struct gs_attached_set *set)
{
    return !set->is_ended && !set->graph.failed;
}

/* Around all that a set may take long for: who watches sees whose turn does not end. */
static inline void gs_attached_begin_turn(const struct gs_attached_set *set)
{
    if (set->settings.turn != NULL) *set->settings.turn = set->settings.number;
}

static inline void gs_attached_end_turn(const struct gs_attached_set *set)
{
    if (set->settings.turn != NULL) *set->settings.turn = 0;
}

/* Decoded packets to the LFTAs of their interface. */
void gs_attached_burst(struct gs_attached_set *set, const struct gs_burst *burst);
/* H and W of an interface have come to where one of its LFTAs must be told. */
bool gs_attached_is_due(const struct gs_attached_set *set, uint32_t interface, int64_t high_ns,
                        int64_t promise_ns);
/* Its LFTAs are told. */
void gs_attached_advance(struct gs_attached_set *set, uint32_t interface, int64_t high_ns,
                         int64_t promise_ns, enum gs_heartbeat heartbeat, bool is_end);
/* Packets of the interface wait for nobody: a file that is read as fast as can be; or they do. */
void gs_attached_hurry(struct gs_attached_set *set, uint32_t interface, bool is_hurried);
/* One that comes later than by time would be seen, or make what is above wait, or groups of windows
 * that are over. Else all that it could bring comes with the ends of windows. */
bool gs_attached_minds_heartbeats(const struct gs_attached_set *set, uint32_t interface);
/* From now on what its LFTAs on an interface promise is promised without some of its sources. */
void gs_attached_miss(struct gs_attached_set *set, uint32_t interface, bool is_missing);
/* The least H and W at which one of them must be told; as they were where they are less. */
void gs_attached_next_changes(const struct gs_attached_set *set, uint32_t interface,
                              int64_t *high_ns, int64_t *promise_ns);
bool gs_attached_has_output(const struct gs_attached_set *set);

#endif

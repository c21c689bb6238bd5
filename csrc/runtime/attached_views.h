/* SPDX-License-Identifier: Apache-2.0 */
/* How a query set sees packets: each of its views opens tunnels, puts together what is in pieces
 * and in order what is not, and its LFTAs see what comes of it. */
#ifndef GS_RUNTIME_ATTACHED_VIEWS_H
#define GS_RUNTIME_ATTACHED_VIEWS_H

#include "../reassembly/datagrams.h"
#include "../reassembly/segments.h"
#include "attached_set.h"

/* What a view puts together on an interface. */
struct gs_reassembler {
    struct gs_packet_clock clock;
    struct gs_datagrams *datagrams; /* NULL: no datagrams */
    struct gs_segments *segments;   /* NULL: packets stay as they come */
    struct gs_string name;          /* of the interface */
};

/* What its views need of memory, where the graph is there; gs_attached_close_views frees it. */
int gs_attached_open_views(struct gs_attached_set *set, struct gs_error *error);
void gs_attached_close_views(struct gs_attached_set *set);
/* The packets of a burst, to the LFTAs of a view on their interface. */
void gs_attached_view(struct gs_attached_set *set, uint32_t view, struct gs_burst burst);
/* W of an interface has come so far, or it has ended: what may be held no longer goes to the LFTAs,
 * before they are told. */
void gs_attached_advance_views(struct gs_attached_set *set, uint32_t interface, int64_t promise_ns,
                               bool is_end);
/* W from which on something is held for too long; INT64_MAX: nothing is held. */
int64_t gs_attached_views_due(const struct gs_attached_set *set, uint32_t interface);
/* Whether one of its views holds packets: whenever some have come, W matters anew. */
bool gs_attached_holds(const struct gs_attached_set *set);
/* Whether one of them waits for packets of others, so that the order of sources matters. */
bool gs_attached_reassembles(const struct gs_attached_set *set);

#endif

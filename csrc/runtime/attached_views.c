/* SPDX-License-Identifier: Apache-2.0 */
#include "attached_views.h"

#include <stdlib.h>

#define KEPT_BYTES (2u * GS_SEGMENT_BYTES)

/* ---- making ---- */

static bool reassembles(const struct gs_view *view)
{
    return view->reassembly.datagrams || view->reassembly.segments;
}

static bool needs_packets(const struct gs_view *view)
{
    return view->tunnels.count > 0 || reassembles(view);
}

/* Of wholes that one packet may become, one inside of the other. */
static size_t most_bytes(const struct gs_view *view)
{
    if (!view->reassembly.datagrams) return 0;
    return (size_t)GS_DATAGRAM_BYTES * (view->tunnels.depth + 1);
}

static struct gs_reassembler **reassembler_of(const struct gs_attached_set *set, uint32_t view,
                                              uint32_t interface)
{
    return &set->reassemblers[(size_t)view * set->interface_count + interface];
}

static bool open_parts(struct gs_attached_set *set, const struct gs_reassembly *wanted,
                       struct gs_reassembler *reassembler)
{
    if (wanted->datagrams) {
        reassembler->datagrams = gs_datagrams_open(set->settings.hash_key);
        if (reassembler->datagrams == NULL) return false;
        gs_hold_anyway(&set->views_holder, gs_datagrams_bytes());
    }
    if (wanted->segments) {
        reassembler->segments = gs_segments_open(set->settings.hash_key);
        if (reassembler->segments == NULL) return false;
        gs_hold_anyway(&set->views_holder, gs_segments_bytes());
    }
    return true;
}

static bool open_reassembler(struct gs_attached_set *set, uint32_t view, uint32_t interface)
{
    struct gs_reassembler **place = reassembler_of(set, view, interface);
    const char *name = set->interfaces[interface];

    if (*place != NULL || !reassembles(&set->query_set->views[view])) return true;
    *place = calloc(1, sizeof **place);
    if (*place == NULL) return false;
    (*place)->clock = (struct gs_packet_clock){INT64_MIN, INT64_MIN};
    (*place)->name = (struct gs_string){(const uint8_t *)name, (uint32_t)strlen(name)};
    return open_parts(set, &set->query_set->views[view].reassembly, *place);
}

/* Twice what one packet may take, so that not every one waits for those before it to be seen. */
static bool open_buffers(struct gs_attached_set *set)
{
    bool is_needed = false;

    for (uint32_t view = 0; view < set->query_set->view_count; view++) {
        size_t most = 2 * most_bytes(&set->query_set->views[view]);

        is_needed |= needs_packets(&set->query_set->views[view]);
        if (most > set->whole_capacity) set->whole_capacity = most;
    }
    if (!is_needed) return true;
    set->opened = malloc(GS_BURST_CAPACITY * sizeof *set->opened);
    set->outers = malloc(GS_BURST_CAPACITY * sizeof *set->outers);
    set->names = malloc(GS_BURST_CAPACITY * sizeof *set->names);
    set->wholes = malloc(set->whole_capacity + 1);
    set->kept = malloc(gs_attached_holds(set) ? KEPT_BYTES : 1);
    return set->opened != NULL && set->outers != NULL && set->names != NULL &&
           set->wholes != NULL && set->kept != NULL;
}

int gs_attached_open_views(struct gs_attached_set *set, struct gs_error *error)
{
    size_t count = (size_t)set->query_set->view_count * set->interface_count;

    set->views_holder.memory = set->settings.memory;
    set->reassemblers = calloc(count + 1, sizeof *set->reassemblers);
    if (set->reassemblers == NULL || !open_buffers(set))
        return gs_fail(error, GS_ERROR, "no memory for the query set");
    for (uint32_t at = 0; at < set->graph.lfta_count; at++) {
        uint32_t view = set->graph.lftas[at].base.ops->view;

        if (!open_reassembler(set, view, set->graph.ports[at].interface))
            return gs_fail(error, GS_ERROR, "no memory for packets that wait");
        if (set->query_set->views[view].reassembly.segments)
            set->graph.lftas[at].delay_ns = GS_SEGMENT_WAIT_NS;
    }
    return GS_OK;
}

void gs_attached_close_views(struct gs_attached_set *set)
{
    size_t count = (size_t)set->query_set->view_count * set->interface_count;

    for (size_t i = 0; set->reassemblers != NULL && i < count; i++) {
        if (set->reassemblers[i] == NULL) continue;
        gs_datagrams_close(set->reassemblers[i]->datagrams);
        gs_segments_close(set->reassemblers[i]->segments);
        free(set->reassemblers[i]);
    }
    gs_let_go(&set->views_holder, set->views_holder.held_bytes);
    free(set->reassemblers);
    free(set->opened);
    free(set->outers);
    free(set->names);
    free(set->wholes);
    free(set->kept);
    set->reassemblers = NULL;
    set->opened = set->outers = NULL;
    set->names = NULL;
    set->wholes = set->kept = NULL;
}

bool gs_attached_holds(const struct gs_attached_set *set)
{
    for (uint32_t view = 0; view < set->query_set->view_count; view++)
        if (set->query_set->views[view].reassembly.segments) return true;
    return false;
}

bool gs_attached_reassembles(const struct gs_attached_set *set)
{
    for (uint32_t view = 0; view < set->query_set->view_count; view++)
        if (reassembles(&set->query_set->views[view])) return true;
    return false;
}

/* ---- packets ---- */

/* The burst of a view as it becomes. */
struct seen {
    struct gs_attached_set *set;
    const struct gs_view *view;
    uint32_t number;
    struct gs_reassembler *reassembler;
    struct gs_burst burst; /* of which the packets are `set->opened` */
    size_t whole_bytes;    /* of set->wholes, in use, by the packet that is taken too */
    size_t kept_bytes;     /* of set->kept */
    struct gs_decapsulated found;
};

static void count(struct gs_lfta_counters *counters, const struct seen *seen)
{
    const struct gs_reassembler *reassembler = seen->reassembler;

    counters->opened += seen->found.opened;
    counters->unopened += seen->found.unopened;
    counters->too_deep += seen->found.too_deep;
    if (reassembler == NULL) return;
    if (reassembler->datagrams != NULL) counters->reassembled = reassembler->datagrams->counts;
    if (reassembler->segments != NULL) counters->sequenced = reassembler->segments->counts;
}

/* Its LFTAs see the packets; the columns are theirs until the next view's. */
static void show(struct seen *seen)
{
    struct gs_attached_set *set = seen->set;

    seen->view->unpack(&seen->burst, set->columns);
    gs_stages_mark(set->graph.stages, GS_STAGE_UNPACK);
    for (uint32_t at = 0; at < set->graph.lfta_count; at++) {
        struct gs_lfta_state *lfta = &set->graph.lftas[at];
        if (lfta->base.ops->view != seen->number) continue;
        if (set->graph.ports[at].interface != seen->burst.interface) continue;
        if (lfta->base.ops->burst != NULL)
            lfta->base.ops->burst(&lfta->base, &seen->burst, set->columns);
        gs_lfta_count_rows(lfta);
        count(&lfta->base.counters, seen);
    }
    gs_stages_mark(set->graph.stages, GS_STAGE_LFTA);
    seen->found = (struct gs_decapsulated){0, 0, 0};
    seen->burst.count = 0;
    seen->kept_bytes = 0;
}

static enum gs_whole make_whole(struct seen *seen, struct gs_packet *packet, uint32_t depth)
{
    uint8_t *room = seen->set->wholes + seen->whole_bytes;
    enum gs_whole whole;

    if (seen->reassembler->datagrams == NULL) return GS_WHOLE_ALREADY;
    whole = gs_datagrams_take(seen->reassembler->datagrams, packet, depth, room);
    if (whole == GS_WHOLE_NOW) seen->whole_bytes += packet->caplen;
    return whole;
}

/* Whole, opened, whole again, as deep as the view goes; false: there is no packet. `outermost`
 * becomes the whole that the first tunnel is in. */
static bool resolve(struct seen *seen, struct gs_packet *packet, struct gs_packet *outermost,
                    uint32_t *depth)
{
    bool is_open = true;

    *depth = 0;
    while (is_open) {
        if (make_whole(seen, packet, *depth) == GS_WHOLE_WAITING) return false;
        if (*depth == 0) *outermost = *packet;
        is_open = gs_decapsulate_once(&seen->view->tunnels, packet, depth, &seen->found);
    }
    packet->outer = *depth > 0 ? outermost : NULL;
    return true;
}

/* One more of the burst; packets of several sources may be in it. */
static void put(struct seen *seen, const struct gs_packet *packet, struct gs_string name)
{
    struct gs_attached_set *set = seen->set;
    uint32_t at = seen->burst.count++;

    set->opened[at] = *packet;
    set->opened[at].interface = (uint16_t)at;
    set->names[at] = name;
    if (packet->outer == NULL) return;
    set->outers[at] = *packet->outer;
    set->opened[at].outer = &set->outers[at];
}

/* What was held and goes on. */
static void put_ready(struct seen *seen)
{
    struct gs_packet packet, outer;
    struct gs_string name;
    size_t bytes;
    bool is_one = true;

    while (is_one) {
        if (seen->burst.count == GS_BURST_CAPACITY ||
            KEPT_BYTES - seen->kept_bytes < GS_SEGMENT_BYTES)
            show(seen);
        is_one = gs_segments_next(seen->reassembler->segments, &packet, &outer, &name,
                                  seen->set->kept + seen->kept_bytes, &bytes);
        if (!is_one) return;
        seen->kept_bytes += bytes;
        put(seen, &packet, name);
    }
}

/* In its turn, with what was held before and behind it. */
static void put_in_order(struct seen *seen, const struct gs_packet *packet, uint32_t depth,
                         struct gs_string name)
{
    struct gs_reassembler *reassembler = seen->reassembler;
    enum gs_turn turn = GS_TURN_NEXT;

    while (turn == GS_TURN_NEXT) {
        turn = gs_segments_take(reassembler->segments, packet, depth, &name, &reassembler->name);
        if (turn == GS_TURN_NOW) put(seen, packet, name);
        put_ready(seen);
    }
}

/* Time is that of the next packet, for which there is room. */
static void make_ready(struct seen *seen, int64_t timestamp_ns)
{
    struct gs_reassembler *reassembler = seen->reassembler;

    gs_packet_clock_see(&reassembler->clock, timestamp_ns);
    if (reassembler->datagrams != NULL)
        gs_datagrams_expire(reassembler->datagrams, &reassembler->clock);
    if (reassembler->segments != NULL) {
        gs_segments_expire(reassembler->segments, &reassembler->clock);
        put_ready(seen);
    }
    if (seen->burst.count < GS_BURST_CAPACITY &&
        seen->set->whole_capacity - seen->whole_bytes >= most_bytes(seen->view))
        return;
    show(seen);
    seen->whole_bytes = 0;
}

static void reassemble(struct seen *seen, const struct gs_burst *given)
{
    for (uint32_t i = 0; i < given->count; i++) {
        struct gs_packet packet = given->packets[i], outermost;
        struct gs_string name = given->interface_names[packet.interface];
        uint32_t depth;

        make_ready(seen, packet.timestamp_ns);
        packet.outer = NULL;
        if (!resolve(seen, &packet, &outermost, &depth)) continue;
        if (seen->reassembler->segments != NULL)
            put_in_order(seen, &packet, depth, name);
        else
            put(seen, &packet, name);
    }
}

static struct seen begin(struct gs_attached_set *set, uint32_t view, struct gs_burst burst)
{
    struct seen seen = {.set = set,
                        .view = &set->query_set->views[view],
                        .number = view,
                        .reassembler = *reassembler_of(set, view, burst.interface),
                        .burst = burst};

    if (seen.reassembler == NULL) return seen;
    seen.burst.packets = set->opened;
    seen.burst.interface_names = set->names;
    seen.burst.count = 0;
    return seen;
}

void gs_attached_view(struct gs_attached_set *set, uint32_t view, struct gs_burst burst)
{
    struct seen seen = begin(set, view, burst);

    if (seen.reassembler != NULL) {
        if (seen.reassembler->segments != NULL)
            seen.burst.promise_ns = gs_segments_promise(burst.promise_ns);
        reassemble(&seen, &burst);
    } else if (seen.view->tunnels.count > 0) {
        gs_decapsulate(&seen.view->tunnels, burst.packets, burst.count, set->opened, &seen.found);
        seen.burst.packets = set->opened;
    }
    show(&seen);
}

/* ---- time ---- */

static int64_t due_at(const struct gs_reassembler *reassembler)
{
    return reassembler->segments == NULL ? INT64_MAX : gs_segments_due(reassembler->segments);
}

static void advance_view(struct seen *seen, int64_t promise_ns, bool is_end)
{
    struct gs_reassembler *reassembler = seen->reassembler;
    struct gs_packet_clock clock = reassembler->clock;

    if (promise_ns > clock.now_ns) clock.now_ns = promise_ns;
    if (is_end && reassembler->datagrams != NULL) gs_datagrams_end(reassembler->datagrams);
    if (reassembler->segments != NULL) {
        if (is_end)
            gs_segments_end(reassembler->segments);
        else
            gs_segments_expire(reassembler->segments, &clock);
        put_ready(seen);
    }
    show(seen);
}

void gs_attached_advance_views(struct gs_attached_set *set, uint32_t interface, int64_t promise_ns,
                               bool is_end)
{
    for (uint32_t view = 0; view < set->query_set->view_count; view++) {
        struct gs_reassembler *reassembler = *reassembler_of(set, view, interface);
        struct gs_burst burst = {.interface = interface,
                                 .high_ns = INT64_MIN,
                                 .promise_ns = INT64_MIN,
                                 .scratch = &set->graph.scratch};

        if (reassembler == NULL || (!is_end && promise_ns < due_at(reassembler))) continue;
        burst.interface_name = &reassembler->name;
        struct seen seen = begin(set, view, burst);
        advance_view(&seen, promise_ns, is_end);
    }
}

int64_t gs_attached_views_due(const struct gs_attached_set *set, uint32_t interface)
{
    int64_t due_ns = INT64_MAX;

    for (uint32_t view = 0; view < set->query_set->view_count; view++) {
        const struct gs_reassembler *reassembler = *reassembler_of(set, view, interface);
        int64_t own_ns = reassembler == NULL ? INT64_MAX : due_at(reassembler);

        if (own_ns < due_ns) due_ns = own_ns;
    }
    return due_ns;
}

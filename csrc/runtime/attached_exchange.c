/* SPDX-License-Identifier: Apache-2.0 */
/* A set whose LFTAs have part of the groups each: it reads packets for all the sets that exchange
 * rows with it, and its groups' time is that of the one that is least far. */
#include <stdlib.h>

#include "attached_exchange.h"

/* Where windows are of a few packets, not each that ends is told alone: with these rows, or at the
 * latest when so many times have not been told. */
#define ROWS_WORTH_TELLING 512
#define TIMES_UNTOLD_MAX 64

/* Of each part; all that it has sent until then is here. */
struct gs_progress {
    uint32_t running; /* parts that have not ended */
    uint32_t untold;  /* times of its own packets, since it has told one */
    bool has_ended[GS_PARTS_MAX];
    int64_t high_ns[GS_PARTS_MAX], promise_ns[GS_PARTS_MAX];
};

int gs_attached_open_exchange(struct gs_attached_set *set, struct gs_error *error)
{
    if (set->settings.exchange == NULL) return GS_OK;
    if (set->interface_count != 1)
        return gs_fail(error, GS_ERROR, "rows of several interfaces are not exchanged");
    set->progress = calloc(1, sizeof *set->progress);
    if (set->progress == NULL)
        return gs_fail(error, GS_ERROR, "no memory to exchange rows with other sets");
    set->progress->running = gs_exchange_parts(set->settings.exchange);
    for (uint32_t part = 0; part < GS_PARTS_MAX; part++)
        set->progress->high_ns[part] = set->progress->promise_ns[part] = INT64_MIN;
    return GS_OK;
}

void gs_attached_close_exchange(struct gs_attached_set *set)
{
    free(set->progress);
    set->progress = NULL;
}

static void tell_part(struct gs_attached_set *set, uint32_t to, int64_t high_ns, int64_t promise_ns,
                      bool is_end)
{
    struct gs_parcel *parcel = gs_parcel_new(set->settings.exchange, to, 0);
    if (parcel == NULL) {
        set->graph.failed = true;
        return;
    }
    parcel->from = set->settings.part;
    parcel->high_ns = high_ns;
    parcel->promise_ns = promise_ns;
    parcel->is_end = is_end;
    gs_parcel_send(set->settings.exchange, to, parcel);
}

/* Else all of its rows are of packets that are read here: it has one group a window, or wide rows.
 */
static bool is_dealt(const struct gs_lfta_state *lfta)
{
    return lfta->owner->dealing != NULL;
}

/* How many rows wait to be sent. */
static uint64_t tell_lftas(struct gs_attached_set *set, int64_t high_ns, int64_t promise_ns,
                           bool is_end)
{
    uint64_t waiting = 0;
    for (uint32_t at = 0; at < set->graph.lfta_count; at++) {
        struct gs_lfta_state *lfta = &set->graph.lftas[at];
        if (is_dealt(lfta))
            gs_lfta_observe(lfta, high_ns, promise_ns);
        else
            gs_lfta_advance(lfta, high_ns, promise_ns, GS_HEARTBEAT_NONE, is_end);
        waiting += gs_deal_waiting(lfta);
    }
    return waiting;
}

void gs_attached_tell(struct gs_attached_set *set, int64_t high_ns, int64_t promise_ns, bool is_end)
{
    uint64_t waiting = tell_lftas(set, high_ns, promise_ns, is_end);
    bool is_worth_it = waiting >= ROWS_WORTH_TELLING || ++set->progress->untold > TIMES_UNTOLD_MAX;
    if (!is_end && !is_worth_it) return;
    set->progress->untold = 0;
    for (uint32_t at = 0; at < set->graph.lfta_count; at++)
        gs_deal_send(&set->graph.lftas[at]);
    for (uint32_t to = 0; to < gs_exchange_parts(set->settings.exchange); to++)
        tell_part(set, to, high_ns, promise_ns, is_end);
}

/* The time of all of them is that of the least. */
static void advance(struct gs_attached_set *set)
{
    const struct gs_progress *progress = set->progress;
    int64_t high_ns = INT64_MAX, promise_ns = INT64_MAX;
    for (uint32_t part = 0; part < gs_exchange_parts(set->settings.exchange); part++) {
        if (progress->has_ended[part]) continue;
        if (progress->high_ns[part] < high_ns) high_ns = progress->high_ns[part];
        if (progress->promise_ns[part] < promise_ns) promise_ns = progress->promise_ns[part];
    }
    for (uint32_t at = 0; at < set->graph.lfta_count; at++)
        if (is_dealt(&set->graph.lftas[at]))
            gs_lfta_advance(&set->graph.lftas[at], high_ns, promise_ns, GS_HEARTBEAT_NONE,
                            progress->running == 0);
}

static void note_time(struct gs_attached_set *set, const struct gs_parcel *parcel)
{
    struct gs_progress *progress = set->progress;
    progress->high_ns[parcel->from] = parcel->high_ns;
    progress->promise_ns[parcel->from] = parcel->promise_ns;
    progress->running -= parcel->is_end && !progress->has_ended[parcel->from];
    progress->has_ended[parcel->from] |= parcel->is_end;
    advance(set);
}

static void read_parcel(struct gs_attached_set *set, const struct gs_parcel *parcel)
{
    if (set->graph.failed) return;
    if (parcel->count == 0) {
        note_time(set, parcel);
        return;
    }
    struct gs_lfta *lfta = &set->graph.lftas[parcel->lfta].base;
    lfta->ops->take(lfta, parcel->rows, parcel->count);
}

bool gs_attached_receive(struct gs_attached_set *set)
{
    struct gs_exchange *exchange = set->settings.exchange;
    if (exchange == NULL) return false;
    struct gs_parcel *parcel = gs_parcels_take(exchange, set->settings.part);
    bool is_there = parcel != NULL;
    while (parcel != NULL) {
        struct gs_parcel *next = parcel->next;
        read_parcel(set, parcel);
        gs_parcel_give_back(exchange, set->settings.part, parcel);
        parcel = next;
    }
    return is_there;
}

bool gs_attached_awaits(const struct gs_attached_set *set)
{
    struct gs_exchange *exchange = set->settings.exchange;
    return exchange != NULL && set->progress->running > 0 && !gs_exchange_has_ended(exchange);
}

bool gs_attached_wait(struct gs_attached_set *set, int timeout_ms)
{
    return gs_parcels_wait(set->settings.exchange, set->settings.part, timeout_ms);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* An LFTA that has a part of the groups: rows of others are dealt out (stream/exchange.h).
 *
 * Whether W has passed a row's window is asked where its packet is read: how far the others are
 * says nothing. Whoever has the group is behind that, since it waits for all who may send it rows.
 */
#include <stdlib.h>

#include "../stream/window.h"
#include "lfta.h"

#define LANE_BYTES (64u << 10)    /* stays in the cache of who fills it, and of who reads it */
#define SPARSE_PART 8             /* of a parcel: with fewer rows it is not sent itself */
#define LANES_BYTES (1024u << 10) /* of the lanes to one part, of all tables together */

struct gs_dealing {
    struct gs_lanes lanes; /* what generated code sees */
    struct gs_exchange *exchange;
    uint32_t number;   /* of the LFTA, in each of the sets */
    uint32_t capacity; /* rows of a parcel */
    gs_bound window[GS_TEMPORAL_MAX];
    gs_bound promise[GS_TEMPORAL_MAX];       /* f(W), where packets are read */
    struct gs_parcel *parcels[GS_PARTS_MAX]; /* that the lanes lie in; none of the own one */
};

int gs_deal_open(struct gs_lfta_state *lfta, const struct gs_lfta_settings *settings,
                 uint32_t number, struct gs_error *error)
{
    const struct gs_member *member = lfta->base.ops->member;
    if (settings->exchange == NULL) return GS_OK;
    if (member != NULL && member->owner != lfta->base.ops)
        return GS_OK;                               /* its table is another's */
    if (lfta->base.ops->take == NULL) return GS_OK; /* what it keeps of packets is all here */
    struct gs_dealing *dealing = lfta->dealing = calloc(1, sizeof *dealing);
    if (dealing == NULL) return gs_fail(error, GS_ERROR, "no memory for rows of other groups");
    uint32_t bytes = LANES_BYTES / (settings->table_count > 0 ? settings->table_count : 1);
    uint32_t fitting = (bytes < LANE_BYTES ? bytes : LANE_BYTES) / lfta->base.ops->row_size;
    dealing->exchange = settings->exchange;
    dealing->number = number;
    dealing->capacity = fitting < GS_BURST_CAPACITY ? GS_BURST_CAPACITY : fitting;
    dealing->lanes.parts = gs_exchange_parts(settings->exchange);
    dealing->lanes.own = settings->part;
    dealing->lanes.window = dealing->window;
    for (uint32_t k = 0; k < GS_TEMPORAL_MAX; k++)
        dealing->promise[k] = GS_BOUND_NONE;
    lfta->base.lanes = &dealing->lanes;
    return GS_OK;
}

void gs_deal_close(struct gs_lfta_state *lfta)
{
    if (lfta->dealing == NULL) return;
    for (uint32_t part = 0; part < GS_PARTS_MAX; part++)
        if (lfta->dealing->parcels[part] != NULL)
            gs_parcel_give_back(lfta->dealing->exchange, part, lfta->dealing->parcels[part]);
    free(lfta->dealing);
    lfta->dealing = NULL;
    lfta->base.lanes = NULL;
}

void gs_deal_promise(struct gs_lfta_state *lfta, const gs_bound *promise)
{
    struct gs_dealing *dealing = lfta->dealing;
    if (dealing == NULL) return;
    for (uint32_t k = 0; k < lfta->base.ops->temporal_count; k++)
        if (promise[k] > dealing->promise[k]) {
            dealing->promise[k] = promise[k];
            dealing->lanes.has_window = false; /* it may have been passed */
        }
}

bool gs_deal_has_window(struct gs_lfta *base, const gs_bound *values)
{
    struct gs_dealing *dealing = ((struct gs_lfta_state *)base)->dealing;
    uint32_t count = base->ops->temporal_count;
    if (gs_window_passed(values, dealing->promise, count)) return false;
    memcpy(dealing->window, values, count * sizeof *values);
    dealing->lanes.has_window = true;
    return true;
}

/* Few rows go in a parcel of their size: it may wait among many. */
static struct gs_parcel *fitting(struct gs_dealing *dealing, uint32_t part, size_t bytes)
{
    struct gs_parcel *parcel = dealing->parcels[part], *own = NULL;
    if (bytes < parcel->bytes / SPARSE_PART) own = gs_parcel_new(dealing->exchange, part, bytes);
    if (own == NULL) {
        dealing->parcels[part] = NULL;
        return parcel;
    }
    memcpy(own->rows, parcel->rows, bytes);
    return own;
}

static void send(struct gs_lfta_state *lfta, uint32_t part)
{
    struct gs_dealing *dealing = lfta->dealing;
    struct gs_lane *lane = &dealing->lanes.lanes[part];
    if (dealing->parcels[part] == NULL || lane->count == 0) return;
    size_t bytes = (size_t)lane->count * lfta->base.ops->row_size;
    struct gs_parcel *parcel = fitting(dealing, part, bytes);
    parcel->from = dealing->lanes.own;
    parcel->lfta = dealing->number;
    parcel->count = lane->count;
    lane->count = 0;
    gs_parcel_send(dealing->exchange, part, parcel);
}

uint64_t gs_deal_waiting(const struct gs_lfta_state *lfta)
{
    if (lfta->dealing == NULL) return 0;
    const struct gs_lanes *lanes = &lfta->dealing->lanes;
    uint64_t count = 0;
    for (uint32_t part = 0; part < lanes->parts; part++)
        if (part != lanes->own) count += lanes->lanes[part].count;
    return count;
}

void gs_deal_send(struct gs_lfta_state *lfta)
{
    struct gs_dealing *dealing = lfta->dealing;
    if (dealing == NULL) return;
    for (uint32_t part = 0; part < dealing->lanes.parts; part++)
        if (part != dealing->lanes.own) send(lfta, part);
}

static bool renew(struct gs_lfta_state *lfta, uint32_t part)
{
    struct gs_dealing *dealing = lfta->dealing;
    send(lfta, part);
    if (dealing->parcels[part] != NULL) return true;
    size_t bytes = (size_t)dealing->capacity * lfta->base.ops->row_size;
    struct gs_parcel *parcel = gs_parcel_new(dealing->exchange, part, bytes);
    dealing->parcels[part] = parcel;
    if (parcel != NULL) dealing->lanes.lanes[part] = (struct gs_lane){parcel->rows, 0};
    return parcel != NULL;
}

bool gs_deal_lanes(struct gs_lfta *base, void *rows)
{
    struct gs_lfta_state *lfta = (struct gs_lfta_state *)base;
    struct gs_dealing *dealing = lfta->dealing;
    for (uint32_t part = 0; part < dealing->lanes.parts; part++) {
        const struct gs_lane *lane = &dealing->lanes.lanes[part];
        bool has_room =
            dealing->parcels[part] != NULL && dealing->capacity - lane->count >= GS_BURST_CAPACITY;
        if (part != dealing->lanes.own && !has_room && !renew(lfta, part)) {
            *lfta->failed = true;
            return false;
        }
    }
    dealing->lanes.lanes[dealing->lanes.own] = (struct gs_lane){rows, 0};
    return true;
}

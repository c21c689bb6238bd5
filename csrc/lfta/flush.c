/* SPDX-License-Identifier: Apache-2.0 */
/* When groups leave an LFTA: immediate, slow_inorder (Li et al., VLDB 2008, Figure 7, mended as
 * OPERATORS section 3 says), slow (section 6 of that paper) and lazy. */
#include "../stream/window.h"
#include "bitmap.h"
#include "lfta.h"

#define SLOTS_AHEAD 16 /* of the one that leaves are on their way to the cache */

/* The occupied slots of a window in their order, a word of its bitmap at a time. */
struct occupied {
    uint64_t *const *levels;
    uint32_t slot_count, base;
    uint64_t bits; /* that are left of the word at `base` */
};

static uint32_t next_occupied(struct occupied *slots)
{
    if (slots->bits == 0) {
        uint32_t next = gs_bitmap_next(slots->levels, slots->base, slots->slot_count);
        if (next == GS_BITMAP_NONE) return next;
        slots->base = next & ~63u;
        slots->bits = slots->levels[0][next >> 6];
    }
    uint32_t slot = slots->base + (uint32_t)__builtin_ctzll(slots->bits);
    slots->bits &= slots->bits - 1;
    if (slots->bits == 0) slots->base += 64;
    return slot;
}

/* Slots leave in their order, each some behind the one that is on its way to the cache. */
void gs_flush_window(struct gs_lfta_state *lfta, uint32_t index)
{
    const struct gs_lfta_table *table = &lfta->base.table;
    const struct gs_lfta_window *window = &table->windows[index];
    const size_t slot_size = lfta->base.ops->slot_size;
    struct occupied slots = {window->occupied, table->slot_count, 0, 0};
    uint32_t fetched[SLOTS_AHEAD], ahead = 0, groups = window->group_count;
    for (uint32_t at = 0; at < groups; at++) {
        for (; ahead < groups && ahead < at + SLOTS_AHEAD; ahead++) {
            uint32_t slot = next_occupied(&slots);
            if (slot == GS_BITMAP_NONE) return;
            gs_slot_prefetch(table->slots + slot * slot_size, slot_size);
            fetched[ahead % SLOTS_AHEAD] = slot;
        }
        gs_table_leave(lfta, index, fetched[at % SLOTS_AHEAD]);
    }
}

void gs_flush_all(struct gs_lfta_state *lfta)
{
    uint32_t oldest;
    while ((oldest = gs_table_oldest(lfta, false)) != GS_LFTA_WINDOWS)
        gs_flush_window(lfta, oldest);
}

/* Flushes old windows, oldest first, until at most `keep` of them are left. */
static void flush_old(struct gs_lfta_state *lfta, uint32_t keep)
{
    uint32_t old = 0;
    for (uint32_t w = 0; w < GS_LFTA_WINDOWS; w++)
        old += lfta->base.table.windows[w].group_count != 0 && lfta->base.table.windows[w].is_old;
    for (; old > keep; old--)
        gs_flush_window(lfta, gs_table_oldest(lfta, true));
}

/* True where a window has become old. */
static bool mark_old(struct gs_lfta_state *lfta)
{
    uint32_t count = lfta->base.ops->temporal_count;
    bool became_old = false;
    for (uint32_t w = 0; w < GS_LFTA_WINDOWS; w++) {
        struct gs_lfta_window *window = &lfta->base.table.windows[w];
        if (window->group_count == 0 || window->is_old) continue;
        window->is_old = gs_window_passed(window->values, lfta->promise, count) ||
                         (!lfta->base.table.leaves_in_order &&
                          gs_window_passed(window->values, lfta->high, count));
        if (window->is_old) lfta->old_groups += window->group_count;
        became_old |= window->is_old;
    }
    return became_old;
}

static bool is_closed(const struct gs_lfta_state *lfta, uint32_t w)
{
    const struct gs_lfta_window *window = &lfta->owner->base.table.windows[w];
    return window->group_count != 0 &&
           gs_window_passed(window->values, lfta->promise, lfta->base.ops->temporal_count);
}

void gs_flush_closed(struct gs_lfta_state *lfta)
{
    for (;;) {
        uint32_t oldest = GS_LFTA_WINDOWS;
        for (uint32_t w = 0; w < GS_LFTA_WINDOWS; w++)
            if (is_closed(lfta, w) &&
                (oldest == GS_LFTA_WINDOWS || gs_table_is_before(lfta->owner, w, oldest)))
                oldest = w;
        if (oldest == GS_LFTA_WINDOWS) break;
        gs_flush_window(lfta->owner, oldest);
    }
    gs_flush_set_countdown(lfta->owner);
}

static bool beyond_disorder(const struct gs_lfta_state *lfta, uint32_t window)
{
    for (uint32_t k = 0; k < lfta->base.ops->temporal_count; k++)
        if (lfta->high[k] >= lfta->step_limit[window][k] ||
            lfta->promise[k] >= lfta->step_limit[window][k])
            return true;
    return false;
}

/* No window stays with current > w + m, counted in the steps of f (any temporal column). */
static void check_disorder(struct gs_lfta_state *lfta)
{
    for (;;) {
        uint32_t oldest = GS_LFTA_WINDOWS;
        for (uint32_t w = 0; w < GS_LFTA_WINDOWS; w++) {
            if (lfta->base.table.windows[w].group_count == 0 || !beyond_disorder(lfta, w)) continue;
            if (oldest == GS_LFTA_WINDOWS || gs_table_is_before(lfta, w, oldest)) oldest = w;
        }
        if (oldest == GS_LFTA_WINDOWS) return;
        gs_flush_window(lfta, oldest);
    }
}

static bool drips(const struct gs_lfta_state *lfta)
{
    return lfta->old_groups > 0 &&
           (lfta->flush_policy == GS_FLUSH_SLOW || lfta->flush_policy == GS_FLUSH_SLOW_INORDER);
}

/* Accepted packets count towards the next old group while there is one; a new pace keeps the count,
 * a packet that finds no old group sets it back. */
void gs_flush_set_countdown(struct gs_lfta_state *lfta)
{
    struct gs_lfta_table *table = &lfta->base.table;
    uint64_t accepted = lfta->countdown - table->until_drip;
    if (lfta->countdown != UINT64_MAX)
        lfta->counted += accepted;
    else if (accepted > 0)
        lfta->counted = 0;
    if (!drips(lfta))
        lfta->countdown = UINT64_MAX;
    else
        lfta->countdown = lfta->pace > lfta->counted ? lfta->pace - lfta->counted : 1;
    table->until_drip = lfta->countdown;
}

void gs_flush_drip(struct gs_lfta *base)
{
    struct gs_lfta_state *lfta = (struct gs_lfta_state *)base;
    uint32_t oldest = gs_table_oldest(lfta, true);
    lfta->counted = 0;
    lfta->countdown = base->table.until_drip = lfta->pace;
    if (oldest == GS_LFTA_WINDOWS) return;
    uint32_t slot = gs_bitmap_next(base->table.windows[oldest].occupied, 0, base->table.slot_count);
    gs_table_leave(lfta, oldest, slot);
}

/* What was old already at the previous heartbeat leaves (slow with its own pace). */
static void leave_by_heartbeat(struct gs_lfta_state *lfta)
{
    uint32_t count = lfta->base.ops->temporal_count;
    for (;;) {
        uint32_t oldest = gs_table_oldest(lfta, false);
        if (oldest == GS_LFTA_WINDOWS) return;
        const gs_bound *values = lfta->base.table.windows[oldest].values;
        if (!gs_window_passed(values, lfta->heartbeat_high, count) &&
            !gs_window_passed(values, lfta->heartbeat_promise, count))
            return;
        gs_flush_window(lfta, oldest);
    }
}

static void heartbeat(struct gs_lfta_state *lfta)
{
    lfta->accepted_last_period = gs_table_accepted(lfta) - lfta->accepted_at_heartbeat;
    lfta->accepted_at_heartbeat = gs_table_accepted(lfta);
    if (lfta->flush_policy == GS_FLUSH_SLOW && lfta->base.ops->slow_flush == 0)
        leave_by_heartbeat(lfta);
    memcpy(lfta->heartbeat_high, lfta->high, sizeof lfta->high);
    memcpy(lfta->heartbeat_promise, lfta->promise, sizeof lfta->promise);
}

/* The pace of slow adapts to what came in the last period, over the old groups that are left. */
static void adapt(struct gs_lfta_state *lfta)
{
    if (lfta->flush_policy == GS_FLUSH_SLOW && lfta->base.ops->slow_flush == 0 &&
        lfta->old_groups > 0) {
        uint64_t pace = lfta->accepted_last_period / lfta->old_groups;
        lfta->pace = pace > 0 ? pace : 1;
    }
}

/* A file that is read as fast as can be has no packets that an old window's groups could delay;
 * each that leaves by itself is looked up, in a slot that is far away by then. */
static bool leaves_whole(const struct gs_lfta_state *lfta)
{
    return lfta->is_hurried && lfta->flush_policy == GS_FLUSH_SLOW &&
           lfta->base.ops->slow_flush == 0;
}

void gs_flush_advance(struct gs_lfta_state *lfta, bool promise_grew, bool is_heartbeat)
{
    uint32_t policy = lfta->flush_policy;
    if (policy == GS_FLUSH_SLOW_INORDER && promise_grew) flush_old(lfta, 0);
    bool became_old = mark_old(lfta);
    if (policy == GS_FLUSH_IMMEDIATE || leaves_whole(lfta)) flush_old(lfta, 0);
    if (policy == GS_FLUSH_SLOW_INORDER) flush_old(lfta, 1);
    if (is_heartbeat) heartbeat(lfta);
    if (policy == GS_FLUSH_SLOW || policy == GS_FLUSH_LAZY) check_disorder(lfta);
    if (is_heartbeat || became_old) adapt(lfta);
    gs_flush_set_countdown(lfta);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The direct-mapped table of an LFTA: slots, windows present, collisions (OPERATORS section 3). */
#include "lfta.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "../stream/window.h"
#include "bitmap.h"
#include "gs_bounds.h"

bool gs_table_is_before(const struct gs_lfta_state *lfta, uint32_t a, uint32_t b)
{
    const struct gs_lfta_window *windows = lfta->base.table.windows;
    return gs_window_compare(windows[a].values, windows[b].values, lfta->base.ops->temporal_count) <
           0;
}

uint32_t gs_table_oldest(const struct gs_lfta_state *lfta, bool only_old)
{
    const struct gs_lfta_window *windows = lfta->base.table.windows;
    uint32_t oldest = GS_LFTA_WINDOWS;
    for (uint32_t w = 0; w < GS_LFTA_WINDOWS; w++) {
        if (windows[w].group_count == 0 || (only_old && !windows[w].is_old)) continue;
        if (oldest == GS_LFTA_WINDOWS || gs_table_is_before(lfta, w, oldest)) oldest = w;
    }
    return oldest;
}

/* The least timestamp t with f_k(t) > value, by bisection: exact for every monotone f. */
static int64_t least_timestamp_above(const struct gs_lfta_ops *ops, uint32_t k, gs_bound value)
{
    int64_t low = INT64_MIN, high = INT64_MAX;
    gs_bound bounds[GS_TEMPORAL_MAX];
    while (low < high) {
        int64_t middle = (int64_t)(((__int128)low + high) >> 1);
        ops->bounds(middle, bounds);
        if (bounds[k] > value)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The value m + 1 steps of f above the window's: at that H the m check makes the window leave. */
static gs_bound step_limit(const struct gs_lfta_ops *ops, uint32_t k, gs_bound value)
{
    gs_bound bounds[GS_TEMPORAL_MAX];
    if (ops->row_unit != 0 && k == ops->row_variable)
        return gs_bound_add(value, (int64_t)ops->max_disorder + 1);
    for (uint32_t step = 0; step <= ops->max_disorder; step++) {
        int64_t at = least_timestamp_above(ops, k, value);
        if (at == INT64_MAX) return GS_BOUND_END;
        ops->bounds(at, bounds);
        value = bounds[k];
    }
    return value;
}

static uint32_t free_window(struct gs_lfta_state *lfta)
{
    for (uint32_t w = 0; w < GS_LFTA_WINDOWS; w++)
        if (lfta->base.table.windows[w].group_count == 0) return w;
    uint32_t oldest = gs_table_oldest(lfta, false);
    gs_flush_window(lfta, oldest);
    return oldest;
}

static bool window_is_late(const struct gs_lfta_state *lfta, const gs_bound *values)
{
    bool by_promise_alone = lfta->base.table.leaves_in_order;
    uint32_t count = lfta->base.ops->temporal_count;
    return gs_window_passed(values, lfta->promise, count) ||
           (!by_promise_alone && gs_window_passed(values, lfta->high, count));
}

static uint32_t window_new(struct gs_lfta_state *lfta, const gs_bound *values)
{
    uint32_t index = free_window(lfta);
    struct gs_lfta_window *window = &lfta->base.table.windows[index];
    for (uint32_t k = 0; k < lfta->base.ops->temporal_count; k++) {
        window->values[k] = values[k];
        lfta->step_limit[index][k] = step_limit(lfta->base.ops, k, values[k]);
    }
    /* a straggler above W starts a group of a window that H has passed: old from the start */
    window->is_old = window_is_late(lfta, values);
    return index;
}

static uint32_t window_find(const struct gs_lfta_state *lfta, const gs_bound *values)
{
    const struct gs_lfta_table *table = &lfta->base.table;
    for (uint32_t w = 0; w < GS_LFTA_WINDOWS; w++)
        if (table->windows[w].group_count != 0 &&
            gs_window_compare(table->windows[w].values, values, lfta->base.ops->temporal_count) ==
                0)
            return w;
    return GS_LFTA_WINDOWS;
}

uint32_t gs_table_window(struct gs_lfta *base, const gs_bound *values)
{
    struct gs_lfta_state *lfta = (struct gs_lfta_state *)base;
    if (gs_window_passed(values, lfta->promise, base->ops->temporal_count)) return GS_LFTA_WINDOWS;
    uint32_t window = window_find(lfta, values);
    if (window == GS_LFTA_WINDOWS) window = window_new(lfta, values);
    base->table.last_window = window;
    base->table.has_last_window = true;
    return window;
}

static void group_added(struct gs_lfta_state *lfta, struct gs_lfta_window *window)
{
    window->group_count++;
    if (window->is_old && lfta->old_groups++ == 0) gs_flush_set_countdown(lfta);
}

static void group_removed(struct gs_lfta_state *lfta, uint32_t index)
{
    struct gs_lfta_table *table = &lfta->base.table;
    struct gs_lfta_window *window = &table->windows[index];
    if (window->is_old && --lfta->old_groups == 0) gs_flush_set_countdown(lfta);
    if (--window->group_count == 0 && table->last_window == index) table->has_last_window = false;
}

static void *slot_at(const struct gs_lfta_state *lfta, uint32_t slot)
{
    return lfta->base.table.slots + (size_t)slot * lfta->base.ops->slot_size;
}

static uint32_t window_of_slot(const void *slot)
{
    uint32_t control;
    memcpy(&control, slot, sizeof control);
    return gs_slot_window(control);
}

static void enter(struct gs_lfta_state *lfta, uint32_t slot, uint32_t window)
{
    gs_bitmap_set(lfta->base.table.windows[window].occupied, slot);
    group_added(lfta, &lfta->base.table.windows[window]);
}

void gs_table_occupy(struct gs_lfta *base, uint32_t slot, uint32_t window)
{
    struct gs_lfta_state *lfta = (struct gs_lfta_state *)base;
    lfta->growth.occupied++;
    enter(lfta, slot, window);
}

static void emit(struct gs_lfta_state *lfta, uint32_t window, const void *slot)
{
    const struct gs_batch *output = lfta->base.output;
    bool is_full = output->row_count == output->row_capacity && lfta->base.members == NULL;
    if (is_full && !gs_lfta_room(&lfta->base, NULL)) return; /* members see to their own room */
    lfta->base.ops->emit(&lfta->base, slot, lfta->base.table.windows[window].values);
}

void gs_table_leave(struct gs_lfta_state *lfta, uint32_t window, uint32_t slot)
{
    void *resident = slot_at(lfta, slot);
    emit(lfta, window, resident);
    memset(resident, 0, sizeof(uint32_t));
    gs_bitmap_clear(lfta->base.table.windows[window].occupied, slot);
    group_removed(lfta, window);
}

/* Both ordered policies: all groups of windows below `window` leave before one of it does. */
static void lower_windows_leave(struct gs_lfta_state *lfta, uint32_t window)
{
    for (;;) {
        uint32_t oldest = gs_table_oldest(lfta, false);
        if (oldest == GS_LFTA_WINDOWS || !gs_table_is_before(lfta, oldest, window)) return;
        gs_flush_window(lfta, oldest);
    }
}

/* Where others send rows, who are ahead or behind, a window lasts until all have passed it: what
 * leaves for another one has not met too small a table. */
static bool is_of_its_time(const struct gs_lfta_state *lfta, uint32_t resident, uint32_t window)
{
    return lfta->dealing != NULL && resident != window;
}

void gs_table_evict(struct gs_lfta *base, uint32_t slot, uint32_t window)
{
    struct gs_lfta_state *lfta = (struct gs_lfta_state *)base;
    uint32_t resident = window_of_slot(slot_at(lfta, slot));
    if (base->table.leaves_in_order) lower_windows_leave(lfta, resident);
    uint64_t *evicted = base->members != NULL ? &base->members->evicted : &base->counters.evicted;
    *evicted += !is_of_its_time(lfta, resident, window);
    gs_table_leave(lfta, resident, slot);
    enter(lfta, slot, window);
}

/* Zeroed by the system, page by page as slots are first met; in large pages, since slots are met
 * at random and each small one would cost a walk of the page table. */
static void *slots_new(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

static size_t bitmap_words(uint32_t slot_count)
{
    return gs_bitmap_bytes(slot_count) / sizeof(uint64_t);
}

uint64_t gs_table_bytes(const struct gs_lfta_state *lfta, uint32_t slot_count)
{
    return (uint64_t)slot_count * lfta->base.ops->slot_size +
           bitmap_words(slot_count) * GS_LFTA_WINDOWS * sizeof(uint64_t);
}

struct table_memory {
    void *slots;
    uint64_t *bitmaps;
};

static bool allocate(const struct gs_lfta_state *lfta, uint32_t slot_count,
                     struct table_memory *memory)
{
    memory->slots = NULL;
    memory->bitmaps = calloc(bitmap_words(slot_count) * (size_t)GS_LFTA_WINDOWS, sizeof(uint64_t));
    if (memory->bitmaps != NULL)
        memory->slots = slots_new((size_t)slot_count * lfta->base.ops->slot_size);
    if (memory->slots == NULL) free(memory->bitmaps);
    return memory->slots != NULL;
}

static void install(struct gs_lfta_state *lfta, uint32_t slot_count,
                    const struct table_memory *memory)
{
    struct gs_lfta_table *table = &lfta->base.table;
    size_t words = bitmap_words(slot_count);
    table->slots = lfta->slots_memory = memory->slots;
    lfta->bitmap_memory = memory->bitmaps;
    lfta->slots_bytes = (size_t)slot_count * lfta->base.ops->slot_size;
    table->slot_count = slot_count;
    table->slot_mask = slot_count - 1;
    for (uint32_t w = 0; w < GS_LFTA_WINDOWS; w++)
        gs_bitmap_place(table->windows[w].occupied, memory->bitmaps + w * words, slot_count);
}

int gs_table_open(struct gs_lfta_state *lfta, uint32_t slot_count, struct gs_error *error)
{
    struct table_memory memory;
    if (!allocate(lfta, slot_count, &memory))
        return gs_fail(error, GS_ERROR, "no memory for a low-level table of %u slots", slot_count);
    gs_hold_anyway(&lfta->holder, gs_table_bytes(lfta, slot_count));
    install(lfta, slot_count, &memory);
    return GS_OK;
}

bool gs_table_resize(struct gs_lfta_state *lfta, uint32_t slot_count)
{
    struct table_memory memory;
    uint64_t bytes = gs_table_bytes(lfta, slot_count);
    if (slot_count < lfta->base.table.slot_count)
        gs_hold_anyway(&lfta->holder, bytes); /* more is given back at once */
    else if (!gs_hold_for_table(&lfta->holder, bytes))
        return false;
    if (!allocate(lfta, slot_count, &memory)) {
        gs_let_go(&lfta->holder, bytes);
        return false;
    }
    gs_flush_all(lfta);
    gs_table_close(lfta);
    install(lfta, slot_count, &memory);
    lfta->groups_most = 0;
    return true;
}

void gs_table_populate(const struct gs_lfta_state *lfta)
{
#ifdef MADV_POPULATE_WRITE
    if (lfta->slots_memory != NULL)
        (void)madvise(lfta->slots_memory, lfta->slots_bytes, MADV_POPULATE_WRITE);
#endif
}

void gs_table_close(struct gs_lfta_state *lfta)
{
    if (lfta->slots_memory == NULL) return;
    munmap(lfta->slots_memory, lfta->slots_bytes);
    free(lfta->bitmap_memory);
    gs_let_go(&lfta->holder, gs_table_bytes(lfta, lfta->base.table.slot_count));
}

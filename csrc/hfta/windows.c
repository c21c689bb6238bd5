/* SPDX-License-Identifier: Apache-2.0 */
#include "windows.h"

#include <stdlib.h>

#include "../lfta/lfta.h"

bool gs_windows_open(struct gs_windows *windows, uint32_t value_count, const uint64_t *hash_key,
                     struct gs_holder *holder)
{
    windows->holder = holder;
    windows->hash_key = hash_key;
    windows->value_count = value_count;
    windows->heap_count = value_count > 0 ? value_count : 1;
    windows->waiting = calloc(windows->heap_count, sizeof *windows->waiting);
    windows->due = calloc(windows->heap_count, sizeof *windows->due);
    windows->bounds = calloc(2 * (size_t)windows->heap_count, sizeof *windows->bounds);
    if (windows->waiting == NULL || windows->due == NULL || windows->bounds == NULL) return false;
    windows->refused = windows->bounds + windows->heap_count;
    for (uint32_t k = 0; k < value_count; k++)
        windows->bounds[k] = GS_BOUND_NONE;
    return true;
}

/* ---- the heaps ---- */

static bool before(struct gs_windows *windows, uint32_t k, const struct gs_window *a,
                   const struct gs_window *b)
{
    windows->comparisons++;
    if (k > 0) return a->values[k] < b->values[k];
    return gs_window_compare(a->values, b->values, windows->value_count) < 0;
}

static void place(struct gs_window_heap *heap, uint32_t k, struct gs_window *window, uint32_t at)
{
    heap->items[at] = window;
    window->places[k] = at;
}

static void sift_up(struct gs_windows *windows, struct gs_window_heap *heap, uint32_t k,
                    struct gs_window *window, uint32_t at)
{
    while (at > 0 && before(windows, k, window, heap->items[(at - 1) / 2])) {
        place(heap, k, heap->items[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    place(heap, k, window, at);
}

static void sift_down(struct gs_windows *windows, struct gs_window_heap *heap, uint32_t k,
                      struct gs_window *window, uint32_t at)
{
    for (uint32_t child = 2 * at + 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count &&
            before(windows, k, heap->items[child + 1], heap->items[child]))
            child++;
        if (!before(windows, k, heap->items[child], window)) break;
        place(heap, k, heap->items[child], at);
        at = child;
    }
    place(heap, k, window, at);
}

static struct gs_window_heap *heaps_of(struct gs_windows *windows, const struct gs_window *window)
{
    return window->is_due ? windows->due : windows->waiting;
}

static void heaps_put(struct gs_windows *windows, struct gs_window *window)
{
    struct gs_window_heap *heaps = heaps_of(windows, window);
    for (uint32_t k = 0; k < windows->heap_count; k++)
        sift_up(windows, &heaps[k], k, window, heaps[k].count++);
}

static void heaps_remove(struct gs_windows *windows, struct gs_window *window)
{
    struct gs_window_heap *heaps = heaps_of(windows, window);
    for (uint32_t k = 0; k < windows->heap_count; k++) {
        uint32_t at = window->places[k];
        struct gs_window *moved = heaps[k].items[--heaps[k].count];
        if (moved == window) continue;
        sift_up(windows, &heaps[k], k, moved, at);
        sift_down(windows, &heaps[k], k, moved, moved->places[k]);
    }
}

static bool heaps_grow(struct gs_windows *windows, struct gs_window_heap *heaps, uint32_t capacity)
{
    for (uint32_t k = 0; k < windows->heap_count; k++) {
        struct gs_window **items = realloc(heaps[k].items, capacity * sizeof *items);
        if (items == NULL) return false;
        heaps[k].items = items;
    }
    return true;
}

/* ---- the hash table ---- */

/* Keyed: timestamps are what a sender wants them to be. */
static uint32_t home_of(const struct gs_windows *windows, const gs_bound *values)
{
    uint64_t hash = windows->hash_key[0];
    for (uint32_t k = 0; k < windows->value_count; k++)
        hash = gs_hash_word(hash, (uint64_t)values[k], windows->hash_key);
    return (uint32_t)hash & windows->lookup_mask;
}

static bool equal(struct gs_windows *windows, const struct gs_window *a, const gs_bound *values)
{
    windows->comparisons++;
    return gs_window_compare(a->values, values, windows->value_count) == 0;
}

struct gs_window *gs_windows_find(struct gs_windows *windows, const gs_bound *values)
{
    if (windows->last != NULL && equal(windows, windows->last, values)) return windows->last;
    if (windows->count == 0) return NULL;
    for (uint32_t at = home_of(windows, values);; at = (at + 1) & windows->lookup_mask) {
        struct gs_window *window = windows->lookup[at];
        if (window == NULL) return NULL;
        if (equal(windows, window, values)) return windows->last = window;
    }
}

static void lookup_put(struct gs_windows *windows, struct gs_window *window)
{
    uint32_t at = home_of(windows, window->values);
    while (windows->lookup[at] != NULL)
        at = (at + 1) & windows->lookup_mask;
    windows->lookup[at] = window;
}

/* Linear probing leaves no holes: what follows is put again. */
static void lookup_remove(struct gs_windows *windows, const struct gs_window *window)
{
    uint32_t at = home_of(windows, window->values);
    while (windows->lookup[at] != window)
        at = (at + 1) & windows->lookup_mask;
    windows->lookup[at] = NULL;
    for (at = (at + 1) & windows->lookup_mask; windows->lookup[at] != NULL;
         at = (at + 1) & windows->lookup_mask) {
        struct gs_window *moved = windows->lookup[at];
        windows->lookup[at] = NULL;
        lookup_put(windows, moved);
    }
}

static bool lookup_grow(struct gs_windows *windows, uint32_t capacity)
{
    struct gs_window **lookup = calloc((size_t)capacity * 2, sizeof *lookup), **old;
    if (lookup == NULL) return false;
    uint32_t words = windows->capacity * 2;
    old = windows->lookup;
    windows->lookup = lookup;
    windows->lookup_mask = capacity * 2 - 1;
    for (uint32_t at = 0; at < words; at++)
        if (old[at] != NULL) lookup_put(windows, old[at]);
    free(old);
    return true;
}

/* ---- windows ---- */

static uint64_t index_bytes(const struct gs_windows *windows, uint32_t capacity)
{
    return (uint64_t)capacity * (2 * windows->heap_count + 2) * sizeof(struct gs_window *);
}

static bool grow(struct gs_windows *windows)
{
    uint32_t capacity = windows->capacity ? windows->capacity * 2 : 16;
    if (!heaps_grow(windows, windows->waiting, capacity) ||
        !heaps_grow(windows, windows->due, capacity) || !lookup_grow(windows, capacity))
        return false;
    gs_hold_anyway(windows->holder,
                   index_bytes(windows, capacity) - index_bytes(windows, windows->capacity));
    windows->capacity = capacity;
    return true;
}

static size_t values_at(size_t bytes)
{
    return (bytes + sizeof(gs_bound) - 1) / sizeof(gs_bound) * sizeof(gs_bound);
}

uint64_t gs_windows_bytes(const struct gs_windows *windows, size_t bytes)
{
    return values_at(bytes) + windows->heap_count * (sizeof(gs_bound) + sizeof(uint32_t));
}

struct gs_window *gs_windows_add(struct gs_windows *windows, const gs_bound *values, size_t bytes)
{
    if (windows->count == windows->capacity && !grow(windows)) return NULL;
    struct gs_window *window = calloc(1, gs_windows_bytes(windows, bytes));
    if (window == NULL) return NULL;
    window->values = (gs_bound *)((char *)window + values_at(bytes));
    window->places = (uint32_t *)(window->values + windows->heap_count);
    memcpy(window->values, values, windows->value_count * sizeof *values);
    window->is_due =
        windows->is_over || gs_window_passed(values, windows->bounds, windows->value_count);
    window->is_partial = windows->has_refused &&
                         gs_window_compare(values, windows->refused, windows->value_count) <= 0;
    windows->count++;
    heaps_put(windows, window);
    lookup_put(windows, window);
    return windows->last = window;
}

void gs_windows_refuse(struct gs_windows *windows, const gs_bound *values)
{
    uint32_t count = windows->value_count;
    if (windows->has_refused && gs_window_compare(values, windows->refused, count) <= 0) return;
    windows->has_refused = true;
    memcpy(windows->refused, values, count * sizeof *values);
}

void gs_windows_remove(struct gs_windows *windows, struct gs_window *window, size_t bytes)
{
    lookup_remove(windows, window);
    heaps_remove(windows, window);
    if (windows->last == window) windows->last = NULL;
    windows->count--;
    gs_let_go(windows->holder, gs_windows_bytes(windows, bytes));
    free(window);
}

static void make_due(struct gs_windows *windows, struct gs_window *window)
{
    heaps_remove(windows, window);
    window->is_due = true;
    heaps_put(windows, window);
}

void gs_windows_pass(struct gs_windows *windows, const gs_bound *bounds)
{
    memcpy(windows->bounds, bounds, windows->value_count * sizeof *bounds);
    for (uint32_t k = 0; k < windows->value_count; k++) {
        const struct gs_window_heap *heap = &windows->waiting[k];
        while (heap->count > 0 && heap->items[0]->values[k] < bounds[k])
            make_due(windows, heap->items[0]);
    }
}

void gs_windows_end(struct gs_windows *windows)
{
    windows->is_over = true;
    while (windows->waiting[0].count > 0)
        make_due(windows, windows->waiting[0].items[0]);
}

struct gs_window *gs_windows_due(const struct gs_windows *windows)
{
    return windows->due[0].count > 0 ? windows->due[0].items[0] : NULL;
}

struct gs_window *gs_windows_any(const struct gs_windows *windows)
{
    if (windows->count == 0) return NULL;
    return windows->due[0].count > 0 ? windows->due[0].items[0] : windows->waiting[0].items[0];
}

static void lower(gs_bound *bound, const struct gs_window_heap *heap, uint32_t k)
{
    if (heap->count > 0 && heap->items[0]->values[k] < *bound) *bound = heap->items[0]->values[k];
}

void gs_windows_lower(const struct gs_windows *windows, gs_bound *bounds)
{
    for (uint32_t k = 0; k < windows->value_count; k++) {
        lower(&bounds[k], &windows->waiting[k], k);
        lower(&bounds[k], &windows->due[k], k);
    }
}

static void heaps_free(const struct gs_windows *windows, struct gs_window_heap *heaps)
{
    for (uint32_t k = 0; heaps != NULL && k < windows->heap_count; k++)
        free(heaps[k].items);
    free(heaps);
}

void gs_windows_close(struct gs_windows *windows)
{
    heaps_free(windows, windows->waiting);
    heaps_free(windows, windows->due);
    free(windows->lookup);
    free(windows->bounds);
    if (windows->holder != NULL)
        gs_let_go(windows->holder, index_bytes(windows, windows->capacity));
}

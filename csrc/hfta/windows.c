/* SPDX-License-Identifier: Apache-2.0 */
#include "windows.h"

#include <stdlib.h>

#include "../lfta/lfta.h"

static const uint64_t window_hash_key[GS_HASH_KEY_WORDS] = {0x9e3779b97f4a7c15u,
                                                            0xbf58476d1ce4e5b9u};

static uint32_t home_of(const struct gs_windows *windows, const gs_bound *values)
{
    uint64_t hash = window_hash_key[0];
    for (uint32_t k = 0; k < windows->value_count; k++)
        hash = gs_hash_word(hash, (uint64_t)values[k], window_hash_key);
    return (uint32_t)hash & windows->lookup_mask;
}

static bool equal(const struct gs_windows *windows, const struct gs_window *a,
                  const gs_bound *values)
{
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

static bool grow(struct gs_windows *windows)
{
    uint32_t capacity = windows->capacity ? windows->capacity * 2 : 16;
    struct gs_window **heap = realloc(windows->heap, capacity * sizeof *heap);
    if (heap == NULL) return false;
    windows->heap = heap;
    struct gs_window **lookup = calloc((size_t)capacity * 2, sizeof *lookup);
    if (lookup == NULL) return false;
    free(windows->lookup);
    windows->lookup = lookup;
    windows->lookup_mask = capacity * 2 - 1;
    windows->capacity = capacity;
    for (uint32_t i = 0; i < windows->count; i++)
        lookup_put(windows, heap[i]);
    return true;
}

static bool before(const struct gs_windows *windows, const struct gs_window *a,
                   const struct gs_window *b)
{
    return gs_window_compare(a->values, b->values, windows->value_count) < 0;
}

static void place(struct gs_windows *windows, struct gs_window *window, uint32_t at)
{
    windows->heap[at] = window;
    window->heap_position = at;
}

static void sift_up(struct gs_windows *windows, struct gs_window *window, uint32_t at)
{
    while (at > 0 && before(windows, window, windows->heap[(at - 1) / 2])) {
        place(windows, windows->heap[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    place(windows, window, at);
}

static void sift_down(struct gs_windows *windows, struct gs_window *window, uint32_t at)
{
    for (uint32_t child = 2 * at + 1; child < windows->count; child = 2 * at + 1) {
        if (child + 1 < windows->count &&
            before(windows, windows->heap[child + 1], windows->heap[child]))
            child++;
        if (!before(windows, windows->heap[child], window)) break;
        place(windows, windows->heap[child], at);
        at = child;
    }
    place(windows, window, at);
}

bool gs_windows_add(struct gs_windows *windows, struct gs_window *window)
{
    if (windows->count == windows->capacity && !grow(windows)) return false;
    sift_up(windows, window, windows->count++);
    lookup_put(windows, window);
    windows->last = window;
    return true;
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

void gs_windows_remove(struct gs_windows *windows, struct gs_window *window)
{
    lookup_remove(windows, window);
    if (windows->last == window) windows->last = NULL;
    uint32_t at = window->heap_position;
    struct gs_window *moved = windows->heap[--windows->count];
    if (moved == window) return;
    sift_up(windows, moved, at);
    sift_down(windows, moved, moved->heap_position);
}

struct gs_window *gs_windows_due(const struct gs_windows *windows, const gs_bound *bounds)
{
    struct gs_window *oldest = NULL;
    /* with one temporal column only the least window can be the oldest that is due */
    uint32_t count = windows->value_count == 1 && windows->count > 1 ? 1 : windows->count;
    for (uint32_t i = 0; i < count; i++) {
        struct gs_window *window = windows->heap[i];
        if (!gs_window_passed(window->values, bounds, windows->value_count)) continue;
        if (oldest == NULL || before(windows, window, oldest)) oldest = window;
    }
    return oldest;
}

void gs_windows_lower(const struct gs_windows *windows, gs_bound *bounds)
{
    uint32_t count = windows->value_count == 1 && windows->count > 1 ? 1 : windows->count;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < windows->value_count; k++)
            if (windows->heap[i]->values[k] < bounds[k]) bounds[k] = windows->heap[i]->values[k];
}

void gs_windows_free(struct gs_windows *windows)
{
    free(windows->heap);
    free(windows->lookup);
    memset(windows, 0, sizeof *windows);
}

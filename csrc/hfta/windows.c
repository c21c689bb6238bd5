/* SPDX-License-Identifier: Apache-2.0 */
#include "windows.h"

#include <stdlib.h>

#include "../stream/window.h"

bool gs_windows_open(struct gs_windows *windows, uint32_t value_count, const uint64_t *hash_key,
                     struct gs_holder *holder)
{
    windows->holder = holder;
    windows->hash_key = hash_key;
    windows->value_count = value_count;
    windows->heap_count = value_count > 0 ? value_count : 1;
    windows->waiting = calloc(windows->heap_count, sizeof *windows->waiting);
    windows->due = calloc(windows->heap_count, sizeof *windows->due);
    windows->refused = calloc(windows->heap_count, sizeof *windows->refused);
    if (windows->waiting == NULL || windows->due == NULL || windows->refused == NULL) return false;
    for (uint32_t k = 0; k < windows->heap_count; k++)
        windows->waiting[k].place = windows->waiting[k].value = windows->due[k].place =
            windows->due[k].value = k;
    return gs_punctuation_open(&windows->passed, value_count);
}

/* ---- the heaps ---- */

static bool before(struct gs_windows *windows, const struct gs_window_heap *heap,
                   const struct gs_window *a, const struct gs_window *b)
{
    windows->comparisons++;
    if (heap->place > 0) return a->values[heap->value] < b->values[heap->value];
    return gs_window_compare(a->values, b->values, windows->value_count) < 0;
}

static void place(struct gs_window_heap *heap, struct gs_window *window, uint32_t at)
{
    heap->items[at] = window;
    window->places[heap->place] = at;
}

static void sift_up(struct gs_windows *windows, struct gs_window_heap *heap,
                    struct gs_window *window, uint32_t at)
{
    while (at > 0 && before(windows, heap, window, heap->items[(at - 1) / 2])) {
        place(heap, heap->items[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    place(heap, window, at);
}

static void sift_down(struct gs_windows *windows, struct gs_window_heap *heap,
                      struct gs_window *window, uint32_t at)
{
    for (uint32_t child = 2 * at + 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count &&
            before(windows, heap, heap->items[child + 1], heap->items[child]))
            child++;
        if (!before(windows, heap, heap->items[child], window)) break;
        place(heap, heap->items[child], at);
        at = child;
    }
    place(heap, window, at);
}

static void heap_put(struct gs_windows *windows, struct gs_window_heap *heap,
                     struct gs_window *window)
{
    sift_up(windows, heap, window, heap->count++);
}

static void heap_remove(struct gs_windows *windows, struct gs_window_heap *heap,
                        const struct gs_window *window)
{
    uint32_t at = window->places[heap->place];
    struct gs_window *moved = heap->items[--heap->count];
    if (moved == window) return;
    sift_up(windows, heap, moved, at);
    sift_down(windows, heap, moved, moved->places[heap->place]);
}

static struct gs_window_heap *heaps_of(struct gs_windows *windows, const struct gs_window *window)
{
    return window->is_due ? windows->due : windows->waiting;
}

static void heaps_put(struct gs_windows *windows, struct gs_window *window)
{
    struct gs_window_heap *heaps = heaps_of(windows, window);
    for (uint32_t k = 0; k < windows->heap_count; k++)
        heap_put(windows, &heaps[k], window);
}

static void heaps_remove(struct gs_windows *windows, struct gs_window *window)
{
    struct gs_window_heap *heaps = heaps_of(windows, window);
    for (uint32_t k = 0; k < windows->heap_count; k++)
        heap_remove(windows, &heaps[k], window);
}

static bool heaps_grow(struct gs_window_heap *heaps, uint32_t count, uint32_t capacity)
{
    for (uint32_t k = 0; k < count; k++) {
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
    if (windows->count == 0) return NULL;
    for (uint32_t at = home_of(windows, values);; at = (at + 1) & windows->lookup_mask) {
        struct gs_window *window = windows->lookup[at];
        if (window == NULL) return NULL;
        if (equal(windows, window, values)) return window;
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

struct gs_window *gs_windows_meet(struct gs_windows *windows, const gs_bound *values,
                                  gs_window_admit_function *admit, void *owner)
{
    if (windows->met != NULL && equal(windows, windows->met, values)) return windows->met;
    struct gs_window *window = gs_windows_find(windows, values);
    return windows->met = window != NULL ? window : admit(owner, values);
}

/* Only of two clocks or more can there be a joint bound. */
static uint32_t joint_heap_count(const struct gs_windows *windows)
{
    return windows->value_count > 1 ? 2 : 0;
}

static uint64_t index_bytes(const struct gs_windows *windows, uint32_t capacity)
{
    uint32_t heaps = 2 * windows->heap_count + joint_heap_count(windows);
    return (uint64_t)capacity * (heaps + 2) * sizeof(struct gs_window *);
}

static bool grow(struct gs_windows *windows)
{
    uint32_t capacity = windows->capacity ? windows->capacity * 2 : 16;
    if (!heaps_grow(windows->waiting, windows->heap_count, capacity) ||
        !heaps_grow(windows->due, windows->heap_count, capacity) ||
        !heaps_grow(windows->above, joint_heap_count(windows), capacity) ||
        !lookup_grow(windows, capacity))
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
    return values_at(bytes) + windows->heap_count * (sizeof(gs_bound) + sizeof(uint32_t)) +
           (joint_heap_count(windows) > 0 ? sizeof(uint32_t) : 0);
}

static bool is_covered(const struct gs_windows *windows, const gs_bound *values)
{
    const struct gs_joint_bound *joint = &windows->passed.joint;
    return joint->is_given && values[joint->columns[0]] < joint->bounds[0] &&
           values[joint->columns[1]] < joint->bounds[1];
}

bool gs_windows_have_passed(const struct gs_windows *windows, const gs_bound *values)
{
    return gs_window_passed(values, windows->passed.bounds, windows->value_count) ||
           is_covered(windows, values);
}

/* Where a window stands to the joint bound, if there is one. */
static void joint_put(struct gs_windows *windows, struct gs_window *window)
{
    const struct gs_joint_bound *joint = &windows->passed.joint;
    if (!joint->is_given) return;
    window->joint = GS_JOINT_COVERED;
    for (uint8_t i = 2; i-- > 0;)
        if (window->values[joint->columns[i]] >= joint->bounds[i]) window->joint = i;
    if (window->joint == GS_JOINT_COVERED)
        windows->covered_count++;
    else
        heap_put(windows, &windows->above[window->joint], window);
}

static void joint_remove(struct gs_windows *windows, const struct gs_window *window)
{
    if (!windows->passed.joint.is_given) return;
    if (window->joint == GS_JOINT_COVERED) {
        if (--windows->covered_count == 0) windows->out = windows->passed.joint;
    } else {
        heap_remove(windows, &windows->above[window->joint], window);
    }
}

struct gs_window *gs_windows_add(struct gs_windows *windows, const gs_bound *values, size_t bytes)
{
    if (windows->count == windows->capacity && !grow(windows)) return NULL;
    struct gs_window *window = calloc(1, gs_windows_bytes(windows, bytes));
    if (window == NULL) return NULL;
    window->values = (gs_bound *)((char *)window + values_at(bytes));
    window->places = (uint32_t *)(window->values + windows->heap_count);
    memcpy(window->values, values, windows->value_count * sizeof *values);
    window->is_due = windows->is_over || gs_windows_have_passed(windows, values);
    window->is_partial = windows->has_refused &&
                         gs_window_compare(values, windows->refused, windows->value_count) <= 0;
    windows->count++;
    heaps_put(windows, window);
    joint_put(windows, window);
    lookup_put(windows, window);
    return window;
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
    joint_remove(windows, window);
    if (windows->met == window) windows->met = NULL;
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

/* The first joint bound: every window begins in the first heap, where its `joint` has it. */
static void begin_joint(struct gs_windows *windows, const struct gs_joint_bound *joint)
{
    for (uint32_t i = 0; i < 2; i++) {
        windows->above[i].place = windows->heap_count;
        windows->above[i].value = joint->columns[i];
    }
    for (uint32_t at = 0; at < windows->waiting[0].count; at++)
        heap_put(windows, &windows->above[0], windows->waiting[0].items[at]);
    for (uint32_t at = 0; at < windows->due[0].count; at++)
        heap_put(windows, &windows->above[0], windows->due[0].items[at]);
}

/* A window is moved at most twice, from heap to heap and out of them. */
static void pass_joint(struct gs_windows *windows)
{
    const struct gs_joint_bound *joint = &windows->passed.joint;
    for (uint32_t i = 0; i < 2; i++) {
        struct gs_window_heap *heap = &windows->above[i];
        while (heap->count > 0 && heap->items[0]->values[heap->value] < joint->bounds[i]) {
            struct gs_window *window = heap->items[0];
            heap_remove(windows, heap, window);
            joint_put(windows, window);
            if (window->joint == GS_JOINT_COVERED && !window->is_due) make_due(windows, window);
        }
    }
    if (windows->covered_count == 0) windows->out = *joint;
}

void gs_windows_pass(struct gs_windows *windows, const struct gs_punctuation *promised)
{
    if (promised->joint.is_given && !windows->passed.joint.is_given)
        begin_joint(windows, &promised->joint);
    gs_punctuation_raise(&windows->passed, promised, windows->value_count);
    for (uint32_t k = 0; k < windows->value_count; k++) {
        const struct gs_window_heap *heap = &windows->waiting[k];
        while (heap->count > 0 && heap->items[0]->values[k] < windows->passed.bounds[k])
            make_due(windows, heap->items[0]);
    }
    if (windows->passed.joint.is_given) pass_joint(windows);
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

struct gs_window *gs_windows_waiting(const struct gs_windows *windows, uint32_t k)
{
    const struct gs_window_heap *heap = &windows->waiting[k];
    return heap->count > 0 ? heap->items[0] : NULL;
}

struct gs_window *gs_windows_any(const struct gs_windows *windows)
{
    if (windows->count == 0) return NULL;
    return windows->due[0].count > 0 ? windows->due[0].items[0] : windows->waiting[0].items[0];
}

static void lower(gs_bound *bound, const struct gs_window_heap *heap, uint32_t k)
{
    if (heap->count == 0) return;
    *bound = gs_bound_min(*bound, gs_bound_of_held(heap->items[0]->values[k]));
}

void gs_windows_lower(const struct gs_windows *windows, gs_bound *bounds)
{
    for (uint32_t k = 0; k < windows->value_count; k++) {
        lower(&bounds[k], &windows->waiting[k], k);
        lower(&bounds[k], &windows->due[k], k);
    }
}

void gs_windows_promise(const struct gs_windows *windows, struct gs_punctuation *promise)
{
    gs_punctuation_copy(promise, &windows->passed, windows->value_count);
    promise->joint = windows->out;
    gs_windows_lower(windows, promise->bounds);
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
    free(windows->above[0].items);
    free(windows->above[1].items);
    free(windows->refused);
    gs_punctuation_close(&windows->passed);
    if (windows->holder != NULL)
        gs_let_go(windows->holder, index_bytes(windows, windows->capacity));
}

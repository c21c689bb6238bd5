/* SPDX-License-Identifier: Apache-2.0 */
/* The open windows of an operator: found by their values, left in their order once a bound has
 * passed one of them. A hash table finds them; heaps, one for each temporal value, give the least
 * of those that wait and of those that are due, so that nothing is ever looked for by a scan,
 * however many windows there are and however their clocks disagree. What a window holds is the
 * operator's: its struct begins with struct gs_window. */
#ifndef GS_HFTA_WINDOWS_H
#define GS_HFTA_WINDOWS_H

#include "../base/memory.h"
#include "gs_query_set.h"

struct gs_window {
    gs_bound *values;
    uint32_t *places; /* in the heap of each value */
    bool is_due;
    bool is_partial; /* rows of it were refused */
};

struct gs_window_heap {
    struct gs_window **items; /* the least first */
    uint32_t count;
};

struct gs_windows {
    struct gs_holder *holder;
    const uint64_t *hash_key;
    uint32_t value_count, heap_count; /* heaps: as many as values, at least one */
    uint32_t count, capacity;
    /* By value: windows that no bound has passed, and those that one has. The first of each is
     * ordered by all values, the others by theirs alone. */
    struct gs_window_heap *waiting, *due;
    struct gs_window **lookup; /* open addressing, twice as large as a heap */
    uint32_t lookup_mask;
    struct gs_window *last; /* met last */
    gs_bound *bounds;       /* what has been passed; the end passes all */
    bool is_over;
    /* Windows were refused, none above this one: one that is made later is incomplete. */
    bool has_refused;
    gs_bound *refused;
    uint64_t comparisons; /* of windows, for a test that counts the work */
};

/* False where there is no memory. */
bool gs_windows_open(struct gs_windows *windows, uint32_t value_count, const uint64_t *hash_key,
                     struct gs_holder *holder);
/* NULL where there is none with these values. */
struct gs_window *gs_windows_find(struct gs_windows *windows, const gs_bound *values);
/* A window of so many bytes, of which the rest is zero, with these values; NULL without memory. */
struct gs_window *gs_windows_add(struct gs_windows *windows, const gs_bound *values, size_t bytes);
/* A row of a window that cannot be made was refused. */
void gs_windows_refuse(struct gs_windows *windows, const gs_bound *values);
/* What gs_windows_add asks of the holder for a window. */
uint64_t gs_windows_bytes(const struct gs_windows *windows, size_t bytes);
/* Takes a window of so many bytes out, and frees it. */
void gs_windows_remove(struct gs_windows *windows, struct gs_window *window, size_t bytes);
/* The bounds have grown: windows below one of them are due. */
void gs_windows_pass(struct gs_windows *windows, const gs_bound *bounds);
/* All windows are due, and all that will come. */
void gs_windows_end(struct gs_windows *windows);
/* The oldest window that is due; NULL where none is. */
struct gs_window *gs_windows_due(const struct gs_windows *windows);
/* Any window; NULL where there is none. */
struct gs_window *gs_windows_any(const struct gs_windows *windows);
/* Lowers each bound to the least value among the windows. */
void gs_windows_lower(const struct gs_windows *windows, gs_bound *bounds);
/* They must all have been removed. */
void gs_windows_close(struct gs_windows *windows);

#endif

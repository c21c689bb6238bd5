/* SPDX-License-Identifier: Apache-2.0 */
/* The open windows of an operator, found by their values and left in their order: a hash table of
 * pointers beside a binary heap. What a window holds is the operator's: its struct begins with
 * struct gs_window. */
#ifndef GS_HFTA_WINDOWS_H
#define GS_HFTA_WINDOWS_H

#include "gs_query_set.h"

struct gs_window {
    gs_bound values[GS_TEMPORAL_MAX];
    uint32_t heap_position;
};

struct gs_windows {
    uint32_t value_count;
    uint32_t count, capacity;
    struct gs_window **heap;   /* the least first */
    struct gs_window **lookup; /* open addressing, twice as large */
    uint32_t lookup_mask;
    struct gs_window *last; /* met last */
};

/* NULL where there is none with these values. */
struct gs_window *gs_windows_find(struct gs_windows *windows, const gs_bound *values);
/* False where there is no memory. */
bool gs_windows_add(struct gs_windows *windows, struct gs_window *window);
void gs_windows_remove(struct gs_windows *windows, struct gs_window *window);
/* The oldest window that a bound has passed; NULL where none is due. */
struct gs_window *gs_windows_due(const struct gs_windows *windows, const gs_bound *bounds);
/* Lowers each bound to the least value among the windows. */
void gs_windows_lower(const struct gs_windows *windows, gs_bound *bounds);
void gs_windows_free(struct gs_windows *windows);

#endif

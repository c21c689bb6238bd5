/* SPDX-License-Identifier: Apache-2.0 */
/* The open windows of an operator: found by their values, left in their order once a bound has
 * passed one of them. A hash table finds them; heaps, one for each temporal value, give the least
 * of those that wait and of those that are due, so that nothing is ever looked for by a scan,
 * however many windows there are and however their clocks disagree. What a window holds is the
 * operator's: its struct begins with struct gs_window. A row belongs to one of them: of windows
 * that slide to the one of its pane. */
#ifndef GS_HFTA_WINDOWS_H
#define GS_HFTA_WINDOWS_H

#include "../base/memory.h"
#include "../stream/punctuation.h"
#include "gs_query_set.h"

/* How far a window is behind a joint bound. */
enum gs_window_joint { GS_JOINT_ABOVE_FIRST = 0, GS_JOINT_ABOVE_SECOND, GS_JOINT_COVERED };

struct gs_window {
    gs_bound *values;
    uint32_t *places; /* in the heap of each value, and in that of a joint bound */
    bool is_due;
    bool is_partial; /* rows of it were refused */
    uint8_t joint;   /* enum gs_window_joint, once there is a joint bound */
};

struct gs_window_heap {
    struct gs_window **items; /* the least first */
    uint32_t count;
    uint32_t place; /* where a window's place in it is; the first heap is ordered by all values, */
    uint32_t value; /* another by this one */
};

/* Makes a window that is met for the first time; NULL where its owner has no room for it. */
typedef struct gs_window *gs_window_admit_function(void *owner, const gs_bound *values);

struct gs_windows {
    struct gs_holder *holder;
    const uint64_t *hash_key;
    uint32_t value_count, heap_count; /* heaps: as many as values, at least one */
    uint32_t count, capacity;
    /* By value: windows that no bound has passed, and those that one has. */
    struct gs_window_heap *waiting, *due;
    /* Once there is a joint bound: windows not below its first bound, by that value; those that
     * are, but not below its second, by that. The others are covered. */
    struct gs_window_heap above[2];
    uint32_t covered_count;
    struct gs_window **lookup; /* open addressing, twice as large as a heap */
    uint32_t lookup_mask;
    struct gs_window *met;        /* last; NULL: it has left, or none was made */
    struct gs_punctuation passed; /* the end passes all */
    struct gs_joint_bound out;    /* the last joint bound of which all that it covers has left */
    bool is_over;
    /* Windows were refused, none above this one: one that is made later is incomplete. */
    bool has_refused;
    gs_bound *refused;
    uint64_t comparisons; /* of windows, for a test that counts the work */
};

/* False where there is no memory. */
bool gs_windows_open(struct gs_windows *windows, uint32_t value_count, const uint64_t *hash_key,
                     struct gs_holder *holder);
/* The window of a row. One that is not there is made by `admit`; NULL where that gives none. Rows
 * that meet the same window, one after the other, look up nothing. */
struct gs_window *gs_windows_meet(struct gs_windows *windows, const gs_bound *values,
                                  gs_window_admit_function *admit, void *owner);
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
/* Whether one of the bounds is above these values, or the joint bound covers them. */
bool gs_windows_have_passed(const struct gs_windows *windows, const gs_bound *values);
/* More is promised of the values: windows that have been passed are due. */
void gs_windows_pass(struct gs_windows *windows, const struct gs_punctuation *promised);
/* All windows are due, and all that will come. */
void gs_windows_end(struct gs_windows *windows);
/* The oldest window that is due; NULL where none is. */
struct gs_window *gs_windows_due(const struct gs_windows *windows);
/* The one that waits whose value k is least, and so passed first; NULL where none waits. */
struct gs_window *gs_windows_waiting(const struct gs_windows *windows, uint32_t k);
/* Any window; NULL where there is none. */
struct gs_window *gs_windows_any(const struct gs_windows *windows);
/* Lowers each bound to the least value among the windows. */
void gs_windows_lower(const struct gs_windows *windows, gs_bound *bounds);
/* What holds of all that is still to leave, or to come. */
void gs_windows_promise(const struct gs_windows *windows, struct gs_punctuation *promise);
/* They must all have been removed. */
void gs_windows_close(struct gs_windows *windows);

#endif

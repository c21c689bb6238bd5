/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregate (Li et al., VLDB 2008, A-2): a hash table per window; when a bound passes a window its
 * groups are due and leave by themselves, a batch a step, oldest window first (OPERATORS section
 * 4). Generated code finds groups and adds to them; here are the windows, their tables and the
 * bound. */
#include <stdlib.h>
#include <sys/mman.h>

#include "operator.h"
#include "../lfta/lfta.h"
#include "windows.h"

/* Index words of a new window's table; entries are at most 5/8 of them. */
#define GS_TABLE_FIRST 8u
#define GS_TABLE_LAST (1u << 30)
#define GS_HUGE_PAGE (2u << 20)
#define GS_ARENA_CHUNK 65536u

struct arena_chunk {
    struct arena_chunk *next;
    uint32_t used, capacity;
    uint8_t bytes[];
};

struct gs_group_window {
    struct gs_window window; /* first */
    struct gs_group_table table;
    struct arena_chunk *arena;
    uint32_t cursor; /* entries before it have left */
    bool is_partial; /* groups were refused */
};

struct aggregate_state {
    struct gs_operator_state op;
    struct gs_windows windows;
    gs_bound group_bounds[GS_TEMPORAL_MAX]; /* of the input, carried to the group variables */
    uint64_t group_count, max_groups;
    bool takes_partial;          /* the input's rows are of windows in which groups were refused */
    struct gs_group_table spare; /* the last closed window's table, emptied */
};

static struct gs_group_window *window_of(struct gs_group_table *table)
{
    return (struct gs_group_window *)((char *)table - offsetof(struct gs_group_window, table));
}

/* Groups are met at random: in small pages every one would cost a walk of the page table too. */
static void *huge_new(size_t bytes)
{
    size_t rounded = (bytes + GS_HUGE_PAGE - 1) / GS_HUGE_PAGE * GS_HUGE_PAGE;
    void *memory = aligned_alloc(GS_HUGE_PAGE, rounded);
    if (memory != NULL) madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
}

static uint64_t *index_new(size_t words)
{
    size_t bytes = words * sizeof(uint64_t);
    if (bytes < GS_HUGE_PAGE) return calloc(1, bytes);
    uint64_t *index = huge_new(bytes);
    return index == NULL ? NULL : memset(index, 0, bytes);
}

static uint32_t entries_of_index(uint32_t mask)
{
    return mask - mask / 8 * 3; /* a load of at most 5/8 */
}

static void index_fill(uint64_t *index, uint32_t mask, const struct gs_group_table *from)
{
    for (uint32_t at = 0; at <= from->mask; at++) {
        if (from->index[at] == 0) continue;
        uint32_t place = (uint32_t)(from->index[at] >> 32) & mask;
        while (index[place] != 0)
            place = (place + 1) & mask;
        index[place] = from->index[at];
    }
}

static bool index_grow(struct gs_group_table *table)
{
    uint32_t words = (table->mask + 1) * 4;
    if (table->mask >= GS_TABLE_LAST / 4) return false;
    uint64_t *index = index_new(words);
    if (index == NULL) return false;
    index_fill(index, words - 1, table);
    free(table->index);
    table->index = index;
    table->mask = words - 1;
    return true;
}

static bool entries_grow(struct gs_group_table *table, uint32_t entry_size)
{
    uint32_t capacity = table->capacity ? table->capacity * 2 : 4;
    size_t bytes = (size_t)capacity * entry_size;
    uint8_t *entries = bytes < GS_HUGE_PAGE ? realloc(table->entries, bytes) : huge_new(bytes);
    if (entries == NULL) return false;
    if (bytes >= GS_HUGE_PAGE) {
        memcpy(entries, table->entries, (size_t)table->count * entry_size);
        free(table->entries);
    }
    table->entries = entries;
    table->capacity = capacity;
    return true;
}

static bool window_table(struct aggregate_state *state, struct gs_group_table *table)
{
    *table = state->spare;
    memset(&state->spare, 0, sizeof state->spare);
    if (table->index != NULL) return true;
    table->index = index_new(GS_TABLE_FIRST);
    table->mask = GS_TABLE_FIRST - 1;
    return table->index != NULL;
}

static void table_free(struct gs_group_table *table)
{
    free(table->index);
    free(table->entries);
}

static struct gs_group_window *window_new(struct aggregate_state *state, const gs_bound *values)
{
    struct gs_group_window *window = calloc(1, sizeof *window);
    if (window == NULL) return NULL;
    memcpy(window->window.values, values, state->windows.value_count * sizeof *values);
    if (window_table(state, &window->table) && gs_windows_add(&state->windows, &window->window))
        return window;
    table_free(&window->table);
    free(window);
    return NULL;
}

/* A window without groups would be memory that max_groups does not bound. */
static struct gs_group_window *window_admit(struct aggregate_state *state, const gs_bound *values)
{
    if (state->group_count >= state->max_groups) {
        state->op.base.counters.groups_refused++;
        return NULL;
    }
    struct gs_group_window *window = window_new(state, values);
    if (window == NULL) state->op.failed = true;
    return window;
}

struct gs_group_table *gs_group_window(struct gs_operator *base, const gs_bound *values)
{
    struct aggregate_state *state = (struct aggregate_state *)base;
    /* below the punctuation: the window is closed or leaving, and a promise was not kept */
    if (gs_window_passed(values, state->group_bounds, state->windows.value_count)) {
        base->counters.no_value++;
        return NULL;
    }
    struct gs_window *found = gs_windows_find(&state->windows, values);
    struct gs_group_window *window =
        found != NULL ? (struct gs_group_window *)found : window_admit(state, values);
    if (window == NULL) return NULL;
    window->is_partial |= state->takes_partial;
    return &window->table;
}

static bool refuse(struct aggregate_state *state, struct gs_group_table *table)
{
    state->op.base.counters.groups_refused++;
    window_of(table)->is_partial = true;
    return false;
}

bool gs_group_admit(struct gs_operator *base, struct gs_group_table *table)
{
    struct aggregate_state *state = (struct aggregate_state *)base;
    if (state->group_count >= state->max_groups) return refuse(state, table);
    if (table->count >= entries_of_index(table->mask) && !index_grow(table))
        return refuse(state, table);
    if (table->count == table->capacity && !entries_grow(table, base->ops->entry_size))
        return refuse(state, table);
    table->count++;
    state->group_count++;
    return true;
}

struct gs_string gs_group_string(struct gs_operator *base, struct gs_group_table *table,
                                 struct gs_string s, uint32_t room)
{
    struct gs_group_window *window = window_of(table);
    struct arena_chunk *chunk = window->arena;
    if (chunk == NULL || chunk->capacity - chunk->used < room) {
        uint32_t capacity = room > GS_ARENA_CHUNK ? room : GS_ARENA_CHUNK;
        chunk = malloc(sizeof *chunk + capacity);
        if (chunk == NULL) {
            ((struct gs_operator_state *)base)->failed = true;
            return (struct gs_string){NULL, 0};
        }
        *chunk = (struct arena_chunk){window->arena, 0, capacity};
        window->arena = chunk;
    }
    struct gs_string copy = {chunk->bytes + chunk->used, s.length};
    if (s.length > 0) memcpy(chunk->bytes + chunk->used, s.bytes, s.length);
    chunk->used += room;
    return copy;
}

static void arena_free(struct arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

/* An emptied table serves the next window, unless it is far larger than this one needed: clearing
 * its index would cost what is allocated, not what is occupied. */
static void table_retire(struct aggregate_state *state, struct gs_group_table *table)
{
    if (state->spare.index != NULL || table->mask >= 16 * (table->count + GS_TABLE_FIRST)) {
        table_free(table);
        return;
    }
    memset(table->index, 0, ((size_t)table->mask + 1) * sizeof *table->index);
    table->count = 0;
    state->spare = *table;
}

static void window_close(struct aggregate_state *state, struct gs_group_window *window)
{
    state->group_count -= window->table.count;
    gs_windows_remove(&state->windows, &window->window);
    table_retire(state, &window->table);
    arena_free(window->arena);
    free(window);
}

/* Emits groups as long as the budget lasts, which HAVING does not save, or a batch of strings is
 * full; true when the window is completely out. */
static bool window_leave(struct aggregate_state *state, struct gs_group_window *window,
                         uint32_t *budget)
{
    struct gs_operator *base = &state->op.base;
    struct gs_batch *output = base->output;
    size_t entry_size = base->ops->entry_size;
    for (; window->cursor < window->table.count; window->cursor++, --*budget) {
        if (*budget == 0 || base->output != output) return false;
        base->ops->emit(base, window->table.entries + window->cursor * entry_size,
                        window->window.values);
    }
    return true;
}

/* min(f(bound), oldest window not yet completely out), given when it grows. */
static void bound_after_windows(struct aggregate_state *state)
{
    gs_bound groups[GS_TEMPORAL_MAX];
    memcpy(groups, state->group_bounds, sizeof groups);
    gs_windows_lower(&state->windows, groups);
    state->op.base.ops->group_bounds(groups, state->op.next_bounds);
}

static struct gs_group_window *due_window(const struct aggregate_state *state)
{
    if (gs_operator_ended(&state->op) && state->windows.count > 0)
        return (struct gs_group_window *)state->windows.heap[0];
    return (struct gs_group_window *)gs_windows_due(&state->windows, state->group_bounds);
}

/* A batch of what is due, of as many windows as it holds: small ones would make a batch each. */
static bool step(struct gs_operator_state *op)
{
    struct aggregate_state *state = (struct aggregate_state *)op;
    struct gs_group_window *window = due_window(state);
    if (window == NULL) return false;
    bool is_partial = window->is_partial;
    uint32_t budget = op->base.output->row_capacity;
    for (; window != NULL && window->is_partial == is_partial; window = due_window(state)) {
        op->base.output->is_partial = is_partial;
        if (!window_leave(state, window, &budget)) break;
        window_close(state, window);
    }
    op->base.output->is_partial = is_partial;
    bound_after_windows(state);
    gs_operator_progress(op, NULL, gs_operator_ended(op) && state->windows.count == 0);
    gs_operator_flush_output(op);
    return window != NULL;
}

static int open_aggregate(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                          struct gs_error *error)
{
    struct aggregate_state *state = (struct aggregate_state *)op;
    (void)error;
    state->windows.value_count = op->base.ops->temporal_count;
    state->max_groups = settings->max_groups;
    for (uint32_t k = 0; k < GS_TEMPORAL_MAX; k++)
        state->group_bounds[k] = GS_BOUND_NONE;
    return GS_OK;
}

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)port;
    op->base.counters.rows_in += batch->row_count;
    ((struct aggregate_state *)op)->takes_partial = batch->is_partial;
    op->base.ops->rows(&op->base, batch);
}

static void on_punctuation(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch)
{
    struct aggregate_state *state = (struct aggregate_state *)op;
    op->base.ops->bounds(op->input_bounds[port], state->group_bounds);
    bound_after_windows(state);
    gs_operator_progress(op, batch, gs_operator_ended(op) && state->windows.count == 0);
}

static uint64_t held(const struct gs_operator_state *op)
{
    return ((const struct aggregate_state *)op)->group_count;
}

static void close_aggregate(struct gs_operator_state *op)
{
    struct aggregate_state *state = (struct aggregate_state *)op;
    for (uint32_t i = 0; i < state->windows.count; i++) {
        struct gs_group_window *window = (struct gs_group_window *)state->windows.heap[i];
        table_free(&window->table);
        arena_free(window->arena);
        free(window);
    }
    gs_windows_free(&state->windows);
    table_free(&state->spare);
}

const struct gs_operator_methods gs_aggregate_methods = {
    .name = "aggregate",
    .state_size = sizeof(struct aggregate_state),
    .open = open_aggregate,
    .on_batch = on_batch,
    .on_punctuation = on_punctuation,
    .step = step,
    .held = held,
    .close = close_aggregate,
};

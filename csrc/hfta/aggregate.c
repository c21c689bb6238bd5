/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregate (Li et al., VLDB 2008, A-2): a hash table per window; when a bound passes a window its
 * groups are due and leave by themselves, a batch a step, oldest window first (OPERATORS section
 * 4). Generated code finds groups and adds to them; here are the windows, their tables and the
 * bound. */
#include <stdlib.h>
#include <sys/mman.h>

#include "carry.h"
#include "operator.h"
#include "windows.h"

/* Index words of a new window's table; entries are at most 5/8 of them. */
#define GS_TABLE_FIRST 8u
#define GS_TABLE_LAST (1u << 30)
#define GS_HUGE_PAGE (2u << 20)
#define GS_ARENA_FIRST 1024u /* bytes of a window's first chunk of strings; then twice as many */
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
};

struct aggregate_state {
    struct gs_operator_state op;
    struct gs_windows windows;
    uint64_t group_count, max_groups;
    bool has_met;                /* there was a group, or one was refused */
    bool takes_partial;          /* the input's rows are of windows in which groups were refused */
    struct gs_group_table spare; /* the last closed window's table, emptied */
};

static struct gs_group_window *window_of(struct gs_group_table *table)
{
    return (struct gs_group_window *)((char *)table - offsetof(struct gs_group_window, table));
}

/* ---- memory ---- */

/* What a block of so many bytes takes. */
static uint64_t block_bytes(uint64_t bytes)
{
    if (bytes < GS_HUGE_PAGE) return bytes;
    return (bytes + GS_HUGE_PAGE - 1) / GS_HUGE_PAGE * GS_HUGE_PAGE;
}

/* Groups are met at random: in small pages every one would cost a walk of the page table too. */
static void *block_new(uint64_t bytes)
{
    uint64_t rounded = block_bytes(bytes);
    if (bytes < GS_HUGE_PAGE) return malloc(bytes);
    void *memory = aligned_alloc(GS_HUGE_PAGE, rounded);
    if (memory != NULL) madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
}

static uint64_t index_bytes(const struct gs_group_table *table)
{
    return table->index == NULL ? 0 : block_bytes(((uint64_t)table->mask + 1) * sizeof(uint64_t));
}

static uint64_t entries_bytes(const struct aggregate_state *state,
                              const struct gs_group_table *table)
{
    return block_bytes((uint64_t)table->capacity * state->op.base.ops->entry_size);
}

static void table_free(struct aggregate_state *state, struct gs_group_table *table)
{
    gs_let_go(&state->op.holder, index_bytes(table) + entries_bytes(state, table));
    free(table->index);
    free(table->entries);
    memset(table, 0, sizeof *table);
}

/* What is kept for the next window goes first. */
static bool hold(struct aggregate_state *state, uint64_t bytes)
{
    if (gs_hold(&state->op.holder, bytes)) return true;
    if (state->spare.index == NULL) return false;
    table_free(state, &state->spare);
    return gs_hold(&state->op.holder, bytes);
}

/* A block for the groups, if the budget has it and there is memory. */
static void *hold_block(struct aggregate_state *state, uint64_t bytes)
{
    if (!hold(state, block_bytes(bytes))) return NULL;
    void *block = block_new(bytes);
    if (block == NULL) gs_let_go(&state->op.holder, block_bytes(bytes));
    return block;
}

/* ---- the table of a window ---- */

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

static bool index_grow_to(struct aggregate_state *state, struct gs_group_table *table,
                          uint32_t words)
{
    uint64_t *index = hold_block(state, words * sizeof *index);
    if (index == NULL) return false;
    memset(index, 0, words * sizeof *index);
    index_fill(index, words - 1, table);
    gs_let_go(&state->op.holder, index_bytes(table));
    free(table->index);
    table->index = index;
    table->mask = words - 1;
    return true;
}

static bool index_grow(struct aggregate_state *state, struct gs_group_table *table)
{
    uint32_t words = table->mask + 1;
    if (words > GS_TABLE_LAST / 4) return false;
    return index_grow_to(state, table, 4 * words) || index_grow_to(state, table, 2 * words);
}

static bool entries_grow_to(struct aggregate_state *state, struct gs_group_table *table,
                            uint32_t capacity)
{
    size_t entry_size = state->op.base.ops->entry_size;
    uint8_t *entries = hold_block(state, capacity * entry_size);
    if (entries == NULL) return false;
    if (table->count > 0) memcpy(entries, table->entries, table->count * entry_size);
    gs_let_go(&state->op.holder, entries_bytes(state, table));
    free(table->entries);
    table->entries = entries;
    table->capacity = capacity;
    return true;
}

/* In smaller steps where the budget has not so much left. */
static bool entries_grow(struct aggregate_state *state, struct gs_group_table *table)
{
    uint32_t before = table->capacity;
    if (before < 8) return entries_grow_to(state, table, before + 4);
    return entries_grow_to(state, table, 2 * before) ||
           entries_grow_to(state, table, before + before / 2) ||
           entries_grow_to(state, table, before + before / 8);
}

static bool window_table(struct aggregate_state *state, struct gs_group_table *table)
{
    *table = state->spare;
    memset(&state->spare, 0, sizeof state->spare);
    if (table->index != NULL) return true;
    table->index = hold_block(state, GS_TABLE_FIRST * sizeof *table->index);
    if (table->index == NULL) return false;
    memset(table->index, 0, GS_TABLE_FIRST * sizeof *table->index);
    table->mask = GS_TABLE_FIRST - 1;
    return true;
}

/* ---- windows ---- */

static struct gs_group_window *window_new(struct aggregate_state *state, const gs_bound *values)
{
    const size_t size = sizeof(struct gs_group_window);
    uint64_t bytes = gs_windows_bytes(&state->windows, size);
    struct gs_group_table table;
    if (!hold(state, bytes)) return NULL;
    if (window_table(state, &table)) {
        struct gs_window *window = gs_windows_add(&state->windows, values, size);
        if (window != NULL) {
            ((struct gs_group_window *)window)->table = table;
            return (struct gs_group_window *)window;
        }
        table_free(state, &table);
    }
    gs_let_go(&state->op.holder, bytes);
    return NULL;
}

static void count_refused(struct aggregate_state *state, bool by_count)
{
    state->op.base.counters.groups_refused++;
    state->has_met = true;
    state->op.refused_for_memory += !by_count;
}

/* A window without groups would be memory that max_groups does not bound. */
static struct gs_group_window *window_admit(struct aggregate_state *state, const gs_bound *values)
{
    bool by_count = state->group_count >= state->max_groups;
    struct gs_group_window *window = by_count ? NULL : window_new(state, values);
    if (window != NULL) return window;
    count_refused(state, by_count);
    gs_windows_refuse(&state->windows, values);
    return NULL;
}

struct gs_group_table *gs_group_window(struct gs_operator *base, const gs_bound *values)
{
    struct aggregate_state *state = (struct aggregate_state *)base;
    /* below the punctuation: the window is closed or leaving, and a promise was not kept */
    if (gs_windows_have_passed(&state->windows, values)) {
        base->counters.no_value++;
        return NULL;
    }
    struct gs_window *found = gs_windows_find(&state->windows, values);
    struct gs_group_window *window =
        found != NULL ? (struct gs_group_window *)found : window_admit(state, values);
    if (window == NULL) return NULL;
    window->window.is_partial |= state->takes_partial;
    return &window->table;
}

static bool refuse(struct aggregate_state *state, struct gs_group_window *window, bool by_count)
{
    count_refused(state, by_count);
    window->window.is_partial = true;
    return false;
}

/* ---- strings ---- */

/* Room for so many bytes in the last chunk. */
static bool arena_reserve(struct aggregate_state *state, struct gs_group_window *window,
                          uint64_t bytes)
{
    struct arena_chunk *last = window->arena;
    if (bytes == 0 || (last != NULL && last->capacity - last->used >= bytes)) return true;
    if (bytes > UINT32_MAX / 2) return false;
    uint32_t capacity = last == NULL ? GS_ARENA_FIRST : 2 * last->capacity;
    if (capacity > GS_ARENA_CHUNK) capacity = GS_ARENA_CHUNK;
    if (capacity < bytes) capacity = (uint32_t)bytes;
    if (!hold(state, sizeof *last + capacity)) return false;
    struct arena_chunk *chunk = malloc(sizeof *chunk + capacity);
    if (chunk == NULL) {
        gs_let_go(&state->op.holder, sizeof *chunk + capacity);
        return false;
    }
    *chunk = (struct arena_chunk){last, 0, capacity};
    window->arena = chunk;
    return true;
}

bool gs_group_admit(struct gs_operator *base, struct gs_group_table *table, uint64_t string_bytes)
{
    struct aggregate_state *state = (struct aggregate_state *)base;
    struct gs_group_window *window = window_of(table);
    if (state->group_count >= state->max_groups) return refuse(state, window, true);
    if (table->count >= entries_of_index(table->mask) && !index_grow(state, table))
        return refuse(state, window, false);
    if (table->count == table->capacity && !entries_grow(state, table))
        return refuse(state, window, false);
    if (!arena_reserve(state, window, string_bytes)) return refuse(state, window, false);
    table->count++;
    state->group_count++;
    state->has_met = true;
    return true;
}

struct gs_string gs_group_string(struct gs_operator *base, struct gs_group_table *table,
                                 struct gs_string s, uint32_t room)
{
    static const uint8_t empty[1];
    struct gs_group_window *window = window_of(table);
    if (room == 0) return (struct gs_string){empty, 0};
    if (!arena_reserve((struct aggregate_state *)base, window, room)) {
        refuse((struct aggregate_state *)base, window, false);
        return (struct gs_string){NULL, 0};
    }
    struct arena_chunk *chunk = window->arena;
    struct gs_string copy = {chunk->bytes + chunk->used, s.length};
    if (s.length > 0) memcpy(chunk->bytes + chunk->used, s.bytes, s.length);
    chunk->used += room;
    return copy;
}

static void arena_free(struct aggregate_state *state, struct arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct arena_chunk *next = chunk->next;
        gs_let_go(&state->op.holder, sizeof *chunk + chunk->capacity);
        free(chunk);
        chunk = next;
    }
}

/* An emptied table serves the next window, unless it is far larger than this one needed: clearing
 * its index would cost what is allocated, not what is occupied. */
static void table_retire(struct aggregate_state *state, struct gs_group_table *table)
{
    if (state->spare.index != NULL || table->mask >= 16 * (table->count + GS_TABLE_FIRST)) {
        table_free(state, table);
        return;
    }
    memset(table->index, 0, ((size_t)table->mask + 1) * sizeof *table->index);
    table->count = 0;
    state->spare = *table;
}

static void window_close(struct aggregate_state *state, struct gs_group_window *window)
{
    state->group_count -= window->table.count;
    table_retire(state, &window->table);
    arena_free(state, window->arena);
    gs_windows_remove(&state->windows, &window->window, sizeof *window);
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
    struct gs_operator_state *op = &state->op;
    gs_bound bounds[GS_TEMPORAL_MAX];
    struct gs_punctuation groups = {.bounds = bounds};
    gs_windows_promise(&state->windows, &groups);
    gs_carry(op->base.ops->group_bounds, &groups, op->node->schema->column_count, &op->next,
             op->carried);
}

static struct gs_group_window *due_window(struct aggregate_state *state)
{
    if (gs_operator_ended(&state->op)) gs_windows_end(&state->windows);
    return (struct gs_group_window *)gs_windows_due(&state->windows);
}

/* A batch of what is due, of as many windows as it holds: small ones would make a batch each. */
static bool step(struct gs_operator_state *op)
{
    struct aggregate_state *state = (struct aggregate_state *)op;
    struct gs_group_window *window = due_window(state);
    if (window == NULL) return false;
    bool is_partial = window->window.is_partial;
    uint32_t budget = op->base.output->row_capacity;
    for (; window != NULL && window->window.is_partial == is_partial; window = due_window(state)) {
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
    state->max_groups = settings->max_groups;
    if (gs_windows_open(&state->windows, op->base.ops->temporal_count, settings->hash_key,
                        &op->holder))
        return GS_OK;
    return gs_fail(error, GS_ERROR, "no memory for operator %s", op->node->name);
}

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)port;
    op->base.counters.rows_in += batch->row_count;
    ((struct aggregate_state *)op)->takes_partial = batch->is_partial;
    op->base.ops->rows(&op->base, batch);
}

/* The answer of an aggregation without group variables to which no row came. */
static void meet_nothing(struct aggregate_state *state)
{
    static const gs_bound no_values[1];
    struct gs_operator *base = &state->op.base;
    if (!base->ops->is_of_all || state->has_met) return;
    struct gs_group_table *table = gs_group_window(base, no_values);
    if (table == NULL || !gs_group_admit(base, table, 0)) return; /* counted */
    memset(table->entries, 0, base->ops->entry_size);
}

static void on_punctuation(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch)
{
    struct aggregate_state *state = (struct aggregate_state *)op;
    gs_bound bounds[GS_TEMPORAL_MAX];
    struct gs_punctuation groups = {.bounds = bounds};
    gs_carry(op->base.ops->bounds, &op->inputs[port], state->windows.value_count, &groups,
             op->carried);
    gs_windows_pass(&state->windows, &groups);
    if (gs_operator_ended(op)) meet_nothing(state);
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
    struct gs_window *window;
    while ((window = gs_windows_any(&state->windows)) != NULL)
        window_close(state, (struct gs_group_window *)window);
    gs_windows_close(&state->windows);
    table_free(state, &state->spare);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregate (Li et al., VLDB 2008, A-2): a hash table per window; when a bound passes a window its
 * groups are due and leave by themselves, a batch a step, oldest window first (OPERATORS section
 * 4). Generated code finds groups and adds to them; here are the windows, their tables and the
 * bound. */
#include <stdlib.h>
#include <sys/mman.h>

#include "carry.h"
#include "window_operator.h"

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
    struct gs_window_operator shared; /* first */
    uint64_t group_count, max_groups;
    bool has_met;                /* there was a group, or one was refused */
    bool takes_partial;          /* the input's rows are of windows in which groups were refused */
    struct gs_group_table spare; /* the last closed window's table, emptied */
};

static const struct gs_aggregate_ops *ops_of(const struct gs_operator *base)
{
    return (const struct gs_aggregate_ops *)base->ops;
}

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
    return block_bytes((uint64_t)table->capacity * ops_of(&state->shared.op.base)->entry_size);
}

static void table_free(struct aggregate_state *state, struct gs_group_table *table)
{
    gs_let_go(&state->shared.op.holder, index_bytes(table) + entries_bytes(state, table));
    free(table->index);
    free(table->entries);
    memset(table, 0, sizeof *table);
}

/* What is kept for the next window goes first. */
static bool hold(struct aggregate_state *state, uint64_t bytes)
{
    if (gs_hold(&state->shared.op.holder, bytes)) return true;
    if (state->spare.index == NULL) return false;
    table_free(state, &state->spare);
    return gs_hold(&state->shared.op.holder, bytes);
}

/* A block for the groups, if the budget has it and there is memory. */
static void *hold_block(struct aggregate_state *state, uint64_t bytes)
{
    if (!hold(state, block_bytes(bytes))) return NULL;
    void *block = block_new(bytes);
    if (block == NULL) gs_let_go(&state->shared.op.holder, block_bytes(bytes));
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
    gs_let_go(&state->shared.op.holder, index_bytes(table));
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
    size_t entry_size = ops_of(&state->shared.op.base)->entry_size;
    uint8_t *entries = hold_block(state, capacity * entry_size);
    if (entries == NULL) return false;
    if (table->count > 0) memcpy(entries, table->entries, table->count * entry_size);
    gs_let_go(&state->shared.op.holder, entries_bytes(state, table));
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

static struct gs_window *window_new(struct aggregate_state *state, const gs_bound *values)
{
    const size_t size = sizeof(struct gs_group_window);
    uint64_t bytes = gs_windows_bytes(&state->shared.windows, size);
    struct gs_group_table table;
    if (!hold(state, bytes)) return NULL;
    if (window_table(state, &table)) {
        struct gs_window *window = gs_windows_add(&state->shared.windows, values, size);
        if (window != NULL) {
            ((struct gs_group_window *)window)->table = table;
            return window;
        }
        table_free(state, &table);
    }
    gs_let_go(&state->shared.op.holder, bytes);
    return NULL;
}

static void count_refused(struct aggregate_state *state, bool by_count)
{
    state->shared.op.base.counters.groups_refused++;
    state->has_met = true;
    state->shared.op.refused_for_memory += !by_count;
}

/* A window without groups would be memory that max_groups does not bound. */
static struct gs_window *window_admit(void *owner, const gs_bound *values)
{
    struct aggregate_state *state = owner;
    bool by_count = state->group_count >= state->max_groups;
    struct gs_window *window = by_count ? NULL : window_new(state, values);
    if (window != NULL) return window;
    count_refused(state, by_count);
    gs_windows_refuse(&state->shared.windows, values);
    return NULL;
}

struct gs_group_table *gs_group_window(struct gs_operator *base, const gs_bound *values)
{
    struct aggregate_state *state = (struct aggregate_state *)base;
    /* below the punctuation: the window is closed or leaving, and a promise was not kept */
    if (gs_windows_have_passed(&state->shared.windows, values)) {
        base->counters.no_value++;
        return NULL;
    }
    struct gs_window *window = *gs_window_operator_meet(&state->shared, values, 1);
    if (window == NULL) return NULL;
    window->is_partial |= state->takes_partial;
    return &((struct gs_group_window *)window)->table;
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
        gs_let_go(&state->shared.op.holder, sizeof *chunk + capacity);
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
        gs_let_go(&state->shared.op.holder, sizeof *chunk + chunk->capacity);
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

static void window_clear(struct gs_window_operator *op, struct gs_window *base)
{
    struct aggregate_state *state = (struct aggregate_state *)op;
    struct gs_group_window *window = (struct gs_group_window *)base;
    state->group_count -= window->table.count;
    table_retire(state, &window->table);
    arena_free(state, window->arena);
}

/* HAVING does not save the budget. */
static bool window_leave(struct gs_window_operator *op, struct gs_window *due, uint32_t *budget)
{
    struct gs_group_window *window = (struct gs_group_window *)due;
    struct gs_operator *base = &op->op.base;
    struct gs_batch *output = base->output;
    const struct gs_aggregate_ops *ops = ops_of(base);
    for (; window->cursor < window->table.count; window->cursor++, --*budget) {
        if (*budget == 0 || base->output != output) return false;
        ops->emit(base, window->table.entries + window->cursor * (size_t)ops->entry_size,
                  due->values);
    }
    return true;
}

static void promise_windows(struct gs_window_operator *op, uint32_t port,
                            struct gs_punctuation *values)
{
    gs_carry(ops_of(&op->op.base)->bounds, &op->op.inputs[port], op->windows.value_count, values,
             op->op.carried);
}

/* min(f(bound), oldest window not yet completely out), given when it grows. */
static void promise_output(struct gs_window_operator *op, struct gs_punctuation *values)
{
    gs_carry(ops_of(&op->op.base)->group_bounds, values, op->op.node->schema->column_count,
             &op->op.next, op->op.carried);
}

/* The answer of an aggregation without group variables to which no row came. */
static void meet_nothing(struct gs_window_operator *op)
{
    static const gs_bound no_values[1];
    struct gs_operator *base = &op->op.base;
    if (!ops_of(base)->is_of_all || ((struct aggregate_state *)op)->has_met) return;
    struct gs_group_table *table = gs_group_window(base, no_values);
    if (table == NULL || !gs_group_admit(base, table, 0)) return; /* counted */
    memset(table->entries, 0, ops_of(base)->entry_size);
}

static const struct gs_window_methods window_methods = {
    .window_size = sizeof(struct gs_group_window),
    .promise_windows = promise_windows,
    .promise_output = promise_output,
    .admit = window_admit,
    .end = meet_nothing,
    .leave = window_leave,
    .clear = window_clear,
};

static int open_aggregate(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                          struct gs_error *error)
{
    struct aggregate_state *state = (struct aggregate_state *)op;
    state->max_groups = settings->max_groups;
    if (gs_window_operator_open(&state->shared, &window_methods, ops_of(&op->base)->temporal_count,
                                settings))
        return GS_OK;
    return gs_fail(error, GS_ERROR, "no memory for operator %s", op->node->name);
}

static void on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)port;
    op->base.counters.rows_in += batch->row_count;
    ((struct aggregate_state *)op)->takes_partial = batch->is_partial;
    ops_of(&op->base)->rows(&op->base, batch);
}

/* Windows that a bound has passed leave by themselves: nobody need be asked for that. */
static void on_request(struct gs_operator_state *op, uint32_t column, gs_bound value)
{
    const struct gs_aggregate_ops *ops = ops_of(&op->base);
    struct gs_windows *windows = &((struct gs_window_operator *)op)->windows;
    for (uint32_t k = 0; k < windows->value_count; k++) {
        gs_bound needed =
            gs_carry_back(ops->group_bounds, &windows->passed, k, column, value, op->carried);
        if (needed > windows->passed.bounds[k]) gs_operator_ask_through(op, ops->bounds, k, needed);
    }
}

static uint64_t held(const struct gs_operator_state *op)
{
    return ((const struct aggregate_state *)op)->group_count;
}

static void close_aggregate(struct gs_operator_state *op)
{
    struct aggregate_state *state = (struct aggregate_state *)op;
    gs_window_operator_close(&state->shared);
    table_free(state, &state->spare);
}

const struct gs_operator_methods gs_aggregate_methods = {
    .name = "aggregate",
    .state_size = sizeof(struct aggregate_state),
    .open = open_aggregate,
    .on_batch = on_batch,
    .on_punctuation = gs_window_operator_on_punctuation,
    .on_request = on_request,
    .step = gs_window_operator_step,
    .held = held,
    .close = close_aggregate,
};

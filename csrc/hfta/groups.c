/* SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"

#include <stdlib.h>

#include "blocks.h"
#include "carry.h"

/* Index words of a new window's table; entries are at most 5/8 of them. */
#define GS_TABLE_FIRST 8u
#define GS_TABLE_LAST (1u << 30)
#define GS_ENTRIES_FIRST 4u
#define GS_SPARSE_PART 16u   /* of what there is room for: with fewer groups room is given back */
#define GS_ARENA_FIRST 1024u /* bytes of a window's first chunk of strings; then twice as many */
#define GS_ARENA_OF_ONE 64u  /* of one group's */
#define GS_ARENA_CHUNK 65536u
#define GS_ARENA_ALIGNMENT 8u

struct gs_arena_chunk {
    struct gs_arena_chunk *next;
    uint32_t used, capacity;
    _Alignas(8) uint8_t bytes[];
};

/* ---- memory ---- */

static uint64_t index_bytes(const struct gs_group_table *table)
{
    return table->index == NULL ? 0 : ((uint64_t)table->mask + 1) * sizeof(uint64_t);
}

static uint64_t entries_bytes(const struct gs_group_table *table, size_t entry_size)
{
    return (uint64_t)table->capacity * entry_size;
}

static void free_block(struct gs_group_operator *op, void *block, uint64_t bytes)
{
    gs_let_go(&op->shared.op.holder, gs_block_bytes(bytes));
    gs_block_free(block, bytes);
}

void gs_group_table_free(struct gs_group_operator *op, struct gs_group_table *table,
                         size_t entry_size)
{
    free_block(op, table->index, index_bytes(table));
    free_block(op, table->entries, entries_bytes(table, entry_size));
    memset(table, 0, sizeof *table);
}

static void table_free(struct gs_group_operator *op, struct gs_group_table *table)
{
    gs_group_table_free(op, table, gs_group_ops_of(&op->shared.op.base)->entry_size);
}

/* What is kept for the next window goes first. */
static bool hold(struct gs_group_operator *state, uint64_t bytes)
{
    if (gs_hold(&state->shared.op.holder, bytes)) return true;
    if (state->spare.index == NULL) return false;
    table_free(state, &state->spare);
    return gs_hold(&state->shared.op.holder, bytes);
}

/* What a table's entries are, and whether it is held where the budget has nothing left, too. */
struct table_kind {
    size_t entry_size;
    bool is_held_anyway;
};

static struct table_kind own_kind(const struct gs_group_operator *state)
{
    return (struct table_kind){gs_group_ops_of(&state->shared.op.base)->entry_size, false};
}

/* What a block for the groups takes, if the budget has it. */
static bool hold_block(struct gs_group_operator *state, uint64_t bytes, bool anyway)
{
    if (!anyway) return hold(state, gs_block_bytes(bytes));
    gs_hold_anyway(&state->shared.op.holder, gs_block_bytes(bytes));
    return true;
}

/* A block that is held, or NULL: there is no memory. */
static void *held_block(struct gs_group_operator *state, void *block, uint64_t bytes)
{
    if (block == NULL) gs_let_go(&state->shared.op.holder, gs_block_bytes(bytes));
    return block;
}

static uint64_t *index_new(struct gs_group_operator *state, uint32_t words, struct table_kind kind)
{
    uint64_t bytes = words * sizeof(uint64_t);
    if (!hold_block(state, bytes, kind.is_held_anyway)) return NULL;
    uint64_t *index = held_block(state, gs_block_new(bytes), bytes);
    if (index != NULL) memset(index, 0, bytes);
    return index;
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

static bool index_resize(struct gs_group_operator *state, struct gs_group_table *table,
                         uint32_t words, struct table_kind kind)
{
    uint64_t *index = index_new(state, words, kind);
    if (index == NULL) return false;
    index_fill(index, words - 1, table);
    free_block(state, table->index, index_bytes(table));
    table->index = index;
    table->mask = words - 1;
    return true;
}

static bool index_grow(struct gs_group_operator *state, struct gs_group_table *table,
                       struct table_kind kind)
{
    uint32_t words = table->mask + 1;
    if (words > GS_TABLE_LAST / 4) return false;
    return index_resize(state, table, 4 * words, kind) ||
           index_resize(state, table, 2 * words, kind);
}

static bool entries_resize(struct gs_group_operator *state, struct gs_group_table *table,
                           uint32_t capacity, struct table_kind kind)
{
    uint64_t before = entries_bytes(table, kind.entry_size), bytes = capacity * kind.entry_size;
    if (!hold_block(state, bytes, kind.is_held_anyway)) return false;
    void *entries = held_block(
        state, gs_block_resize(table->entries, before, bytes, table->count * kind.entry_size),
        bytes);
    if (entries == NULL) return false;
    gs_let_go(&state->shared.op.holder, gs_block_bytes(before));
    table->entries = entries;
    table->capacity = capacity;
    return true;
}

/* In smaller steps where the budget has not so much left. */
static bool entries_grow(struct gs_group_operator *state, struct gs_group_table *table,
                         struct table_kind kind)
{
    uint32_t before = table->capacity;
    if (before < 2 * GS_ENTRIES_FIRST)
        return entries_resize(state, table, before + GS_ENTRIES_FIRST, kind);
    return entries_resize(state, table, 2 * before, kind) ||
           entries_resize(state, table, before + before / 2, kind) ||
           entries_resize(state, table, before + before / 8, kind);
}

static bool is_full(const struct gs_group_table *table)
{
    return table->count >= entries_of_index(table->mask) || table->count >= table->capacity;
}

/* What the window before has left is there already, page by page; generated code looks for a row's
 * place again where the mask is another. */
static void grow_into_spare(struct gs_group_operator *state, struct gs_group_table *table)
{
    struct gs_group_table *spare = &state->spare, before = *table;
    size_t entry_size = own_kind(state).entry_size;
    if (spare->index == NULL || spare->mask <= before.mask || spare->capacity <= before.capacity)
        return;
    index_fill(spare->index, spare->mask, &before);
    if (before.count > 0) memcpy(spare->entries, before.entries, before.count * entry_size);
    spare->count = before.count;
    *table = *spare;
    memset(spare, 0, sizeof *spare);
    table_free(state, &before);
}

/* Room for one more entry. */
static bool table_reserve(struct gs_group_operator *state, struct gs_group_table *table,
                          struct table_kind kind)
{
    if (table->count >= entries_of_index(table->mask) && !index_grow(state, table, kind))
        return false;
    return table->count < table->capacity || entries_grow(state, table, kind);
}

static bool table_open(struct gs_group_operator *state, struct gs_group_table *table,
                       struct table_kind kind)
{
    table->index = index_new(state, GS_TABLE_FIRST, kind);
    if (table->index == NULL) return false;
    table->mask = GS_TABLE_FIRST - 1;
    return true;
}

bool gs_group_table_reserve(struct gs_group_operator *op, struct gs_group_table *table,
                            size_t entry_size)
{
    struct table_kind kind = {entry_size, true};
    if (table->index == NULL && !table_open(op, table, kind)) return false;
    return table_reserve(op, table, kind);
}

bool gs_group_table_admit(struct gs_group_operator *op, struct gs_group_table *table,
                          size_t entry_size)
{
    struct table_kind kind = {entry_size, false};
    if (table->index == NULL && !table_open(op, table, kind)) return false;
    return table_reserve(op, table, kind);
}

/* Far from where it would grow again, and from where it would shrink. */
static uint32_t fitting(uint32_t room, uint32_t count, uint32_t least)
{
    while (room > least && count < room / GS_SPARSE_PART)
        room /= 4;
    return room < least ? least : room;
}

/* For a moment both tables are there, the new one a quarter as large. */
void gs_group_table_fit(struct gs_group_operator *op, struct gs_group_table *table,
                        size_t entry_size, uint32_t count)
{
    struct table_kind kind = {entry_size, true};
    if (table->index == NULL) return;
    uint32_t words = fitting(table->mask + 1, count, GS_TABLE_FIRST);
    uint32_t capacity = fitting(table->capacity, count, GS_ENTRIES_FIRST);
    if (words <= table->mask) index_resize(op, table, words, kind);
    if (capacity < table->capacity) entries_resize(op, table, capacity, kind);
}

/* An emptied table serves the next groups, unless it is far larger than these needed: clearing its
 * index would cost what is allocated, not what is occupied. */
static void table_retire(struct gs_group_operator *state, struct gs_group_table *table)
{
    if (table->index == NULL) return; /* it had no room for one */
    if (state->spare.index != NULL || table->mask >= 16 * (table->count + GS_TABLE_FIRST)) {
        table_free(state, table);
        return;
    }
    memset(table->index, 0, ((size_t)table->mask + 1) * sizeof *table->index);
    table->count = 0;
    state->spare = *table;
}

/* ---- groups ---- */

bool gs_groups_hold(struct gs_group_operator *op, uint64_t bytes)
{
    return hold(op, bytes);
}

bool gs_groups_open(struct gs_group_operator *op, struct gs_groups *groups, bool *is_partial)
{
    *groups = (struct gs_groups){.table = op->spare, .is_partial = is_partial};
    memset(&op->spare, 0, sizeof op->spare);
    return groups->table.index != NULL || table_open(op, &groups->table, own_kind(op));
}

bool gs_groups_hold_window(struct gs_group_operator *op, uint64_t bytes)
{
    if (hold(op, bytes)) return true;
    if (op->shared.op.is_part) gs_hold_anyway(&op->shared.op.holder, bytes);
    return op->shared.op.is_part;
}

struct gs_groups *gs_groups_begun(struct gs_group_operator *op, struct gs_groups *groups)
{
    if (groups->table.index != NULL || gs_groups_open(op, groups, groups->is_partial))
        return groups;
    gs_groups_refuse(op, groups, false);
    return NULL;
}

void gs_groups_fit(struct gs_group_operator *op, struct gs_groups *groups)
{
    gs_group_table_fit(op, &groups->table, own_kind(op).entry_size, groups->table.count);
}

void gs_groups_count_refused(struct gs_group_operator *op, bool by_count)
{
    op->shared.op.base.counters.groups_refused++;
    op->has_met = true;
    op->shared.op.refused_for_memory += !by_count;
}

struct gs_group_table *gs_group_window(struct gs_operator *base, const gs_bound *values)
{
    struct gs_group_operator *op = (struct gs_group_operator *)base;
    struct gs_groups *groups = op->find(op, values);
    if (groups == NULL) return NULL;
    *groups->is_partial |= op->takes_partial;
    return &groups->table;
}

bool gs_groups_refuse(struct gs_group_operator *op, struct gs_groups *groups, bool by_count)
{
    gs_groups_count_refused(op, by_count);
    *groups->is_partial = true;
    return false;
}

/* ---- strings ---- */

/* Room for so many bytes in the last chunk. */
static bool arena_reserve(struct gs_group_operator *state, struct gs_groups *groups, uint64_t bytes)
{
    struct gs_arena_chunk *last = groups->arena;
    if (bytes == 0 || (last != NULL && last->capacity - last->used >= bytes)) return true;
    if (bytes > UINT32_MAX / 2) return false;
    uint32_t first = groups->is_of_one ? GS_ARENA_OF_ONE : GS_ARENA_FIRST;
    uint32_t capacity = last == NULL ? first : 2 * last->capacity;
    if (capacity > GS_ARENA_CHUNK) capacity = GS_ARENA_CHUNK;
    if (capacity < bytes) capacity = (uint32_t)bytes;
    if (!hold(state, sizeof *last + capacity)) return false;
    struct gs_arena_chunk *chunk = malloc(sizeof *chunk + capacity);
    if (chunk == NULL) {
        gs_let_go(&state->shared.op.holder, sizeof *chunk + capacity);
        return false;
    }
    *chunk = (struct gs_arena_chunk){last, 0, capacity};
    groups->arena = chunk;
    return true;
}

void *gs_groups_memory(struct gs_group_operator *op, struct gs_groups *groups, uint64_t bytes)
{
    if (!arena_reserve(op, groups, bytes + GS_ARENA_ALIGNMENT - 1)) return NULL;
    struct gs_arena_chunk *chunk = groups->arena;
    uint32_t at = (chunk->used + GS_ARENA_ALIGNMENT - 1) & ~(GS_ARENA_ALIGNMENT - 1);
    chunk->used = at + (uint32_t)bytes;
    return chunk->bytes + at;
}

bool gs_group_admit(struct gs_operator *base, struct gs_group_table *table, uint64_t string_bytes)
{
    struct gs_group_operator *state = (struct gs_group_operator *)base;
    struct gs_groups *groups = (struct gs_groups *)table;
    if (state->group_count >= state->max_groups) return gs_groups_refuse(state, groups, true);
    if (is_full(table)) grow_into_spare(state, table);
    if (!table_reserve(state, table, own_kind(state)))
        return gs_groups_refuse(state, groups, false);
    if (!arena_reserve(state, groups, string_bytes)) return gs_groups_refuse(state, groups, false);
    table->count++;
    state->group_count++;
    state->has_met = true;
    return true;
}

struct gs_string gs_group_string(struct gs_operator *base, struct gs_group_table *table,
                                 struct gs_string s, uint32_t room)
{
    static const uint8_t empty[1];
    struct gs_groups *groups = (struct gs_groups *)table;
    if (room == 0) return (struct gs_string){empty, 0};
    if (!arena_reserve((struct gs_group_operator *)base, groups, room)) {
        gs_groups_refuse((struct gs_group_operator *)base, groups, false);
        return (struct gs_string){NULL, 0};
    }
    struct gs_arena_chunk *chunk = groups->arena;
    struct gs_string copy = {chunk->bytes + chunk->used, s.length};
    if (s.length > 0) memcpy(chunk->bytes + chunk->used, s.bytes, s.length);
    chunk->used += room;
    return copy;
}

static void arena_free(struct gs_group_operator *state, struct gs_arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct gs_arena_chunk *next = chunk->next;
        gs_let_go(&state->shared.op.holder, sizeof *chunk + chunk->capacity);
        free(chunk);
        chunk = next;
    }
}

void gs_groups_close(struct gs_group_operator *op, struct gs_groups *groups)
{
    op->group_count -= groups->table.count;
    table_retire(op, &groups->table);
    gs_value_sets_close(op, &groups->values);
    arena_free(op, groups->arena);
    groups->arena = NULL;
}

/* ---- what one group keeps ---- */

struct gs_groups *gs_groups_of_one(struct gs_group_operator *op, bool *is_partial,
                                   uint64_t string_bytes)
{
    if (!hold(op, sizeof(struct gs_groups))) return NULL;
    struct gs_groups *groups = malloc(sizeof *groups);
    if (groups == NULL) {
        gs_let_go(&op->shared.op.holder, sizeof *groups);
        return NULL;
    }
    *groups = (struct gs_groups){.is_partial = is_partial, .is_of_one = true};
    if (arena_reserve(op, groups, string_bytes)) return groups;
    gs_groups_of_one_free(op, groups);
    return NULL;
}

void gs_groups_of_one_free(struct gs_group_operator *op, struct gs_groups *groups)
{
    if (groups == NULL) return;
    gs_value_sets_close(op, &groups->values);
    arena_free(op, groups->arena);
    gs_let_go(&op->shared.op.holder, sizeof *groups);
    free(groups);
}

/* ---- what operators with groups share ---- */

void gs_group_operator_promise_windows(struct gs_window_operator *op, uint32_t port,
                                       struct gs_punctuation *values)
{
    gs_carry(gs_group_ops_of(&op->op.base)->bounds, &op->op.inputs[port], op->windows.value_count,
             values, op->op.carried);
}

void gs_group_operator_extend_output(struct gs_window_operator *op, struct gs_extent *extent)
{
    struct gs_punctuation values = {.bounds = extent->own};
    gs_group_ops_of(&op->op.base)->group_bounds(&values, extent->columns);
}

void gs_group_operator_extend(struct gs_window_operator *op, struct gs_punctuation *last,
                              struct gs_extent *extent)
{
    gs_group_ops_of(&op->op.base)->bounds(last, extent->own);
    gs_group_operator_extend_output(op, extent);
}

/* min(f(bound), oldest window not yet completely out), given when it grows. */
void gs_group_operator_promise_output(struct gs_window_operator *op, struct gs_punctuation *values)
{
    gs_carry(gs_group_ops_of(&op->op.base)->group_bounds, values, op->op.node->schema->column_count,
             &op->op.next, op->op.carried);
}

void gs_group_operator_ask(struct gs_window_operator *op, uint32_t k, gs_bound value)
{
    gs_operator_ask_through(&op->op, gs_group_ops_of(&op->op.base)->bounds, k, value);
}

void gs_group_operator_on_batch(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)port;
    op->base.counters.rows_in += batch->row_count;
    ((struct gs_group_operator *)op)->takes_partial = batch->is_partial;
    gs_group_ops_of(&op->base)->rows(&op->base, batch);
}

/* Windows that a bound has passed leave by themselves: nobody need be asked for that. */
void gs_group_operator_on_request(struct gs_operator_state *op, uint32_t column, gs_bound value)
{
    const struct gs_group_ops *ops = gs_group_ops_of(&op->base);
    struct gs_windows *windows = &((struct gs_window_operator *)op)->windows;
    for (uint32_t k = 0; k < windows->value_count; k++) {
        gs_bound needed =
            gs_carry_back(ops->group_bounds, &windows->passed, k, column, value, op->carried);
        if (needed > windows->passed.bounds[k])
            gs_group_operator_ask((struct gs_window_operator *)op, k, needed);
    }
}

uint64_t gs_group_operator_held(const struct gs_operator_state *op)
{
    return ((const struct gs_group_operator *)op)->group_count;
}

int gs_group_operator_open(struct gs_group_operator *op, const struct gs_window_methods *methods,
                           const struct gs_operator_settings *settings, struct gs_error *error)
{
    struct gs_operator_state *state = &op->shared.op;
    op->max_groups = settings->max_groups;
    if (gs_window_operator_open(&op->shared, methods, gs_group_ops_of(&state->base)->temporal_count,
                                settings))
        return GS_OK;
    return gs_fail(error, GS_ERROR, "no memory for operator %s", state->node->name);
}

void gs_group_operator_close(struct gs_group_operator *op)
{
    gs_window_operator_close(&op->shared);
    table_free(op, &op->spare);
}

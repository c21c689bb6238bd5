/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling (GSQL section 6.5; Johnson, Muthukrishnan, Rozenbaum, SIGMOD 2005): an aggregation whose
 * groups are within supergroups. Rows come in order, so that one window is filled at a time: with
 * the first row of the next one it is over, HAVING is asked of its groups, and what its supergroups
 * keep goes on into the next.
 *
 * A group that is cleaned away stays in the table, unfound, until half of it is gone: then it is
 * packed. A cleaning goes along the groups of its supergroup alone, so that all of it costs what
 * CLEANING_BY is asked. */
#include <stdlib.h>

#include "group_windows.h"

#define GS_SAMPLE_PACKED 64u /* groups that are gone, and do not matter */

struct sample_window {
    struct gs_group_window groups;     /* first */
    struct gs_group_table supergroups; /* of entries that begin with struct gs_supergroup */
    struct gs_group_table next;        /* of their states, where what they are at its end goes */
    uint32_t gone;                     /* of the groups in the table */
    bool is_over;
};

struct sample_state {
    struct gs_group_operator shared; /* first */
    struct gs_group_table before;    /* the supergroups of the window that was over last */
    struct sample_window *open;      /* that rows come into; NULL: none */
    struct sample_window *current;   /* that generated code asks of */
    uint64_t begun;                  /* supergroups */
};

static const struct gs_sample_ops *ops_of(const struct sample_state *state)
{
    return (const struct gs_sample_ops *)state->shared.shared.op.base.ops;
}

static struct gs_group_table *table_of(struct sample_window *window)
{
    return &window->groups.groups.table;
}

static void *entry_at(const struct sample_state *state, struct sample_window *window,
                      uint32_t number)
{
    return table_of(window)->entries + number * (size_t)ops_of(state)->groups.entry_size;
}

static struct gs_sample_link *link_of(const struct sample_state *state, void *entry)
{
    return (struct gs_sample_link *)((uint8_t *)entry + ops_of(state)->link);
}

static struct gs_supergroup *supergroup_at(const struct sample_state *state,
                                           const struct gs_group_table *table, uint32_t number)
{
    uint8_t *at = table->entries + number * (size_t)ops_of(state)->supergroup_size;
    return (struct gs_supergroup *)at;
}

static uint64_t word_of(uint32_t control, uint32_t number)
{
    return (uint64_t)control << 32 | number;
}

/* ---- supergroups ---- */

/* Where the supergroup of a row is, or would be. */
static uint32_t place_of(const struct sample_state *state, const struct gs_group_table *table,
                         uint32_t control, const void *row)
{
    uint32_t at = control & table->mask;
    for (; table->index[at] != 0; at = (at + 1) & table->mask)
        if ((uint32_t)(table->index[at] >> 32) == control &&
            ops_of(state)->is_of(supergroup_at(state, table, (uint32_t)table->index[at]), row))
            break;
    return at;
}

static struct gs_supergroup *find(const struct sample_state *state,
                                  const struct gs_group_table *table, uint32_t control,
                                  const void *row)
{
    if (table->index == NULL) return NULL;
    uint64_t word = table->index[place_of(state, table, control, row)];
    return word == 0 ? NULL : supergroup_at(state, table, (uint32_t)word);
}

static bool refuse(struct sample_state *state, struct sample_window *window, bool by_count)
{
    return gs_groups_refuse(&state->shared, &window->groups.groups, by_count);
}

/* Room for what a group, or a supergroup, of the window at hand keeps. */
static struct gs_group_table *room_of_one(struct sample_state *state, uint64_t string_bytes)
{
    bool *is_partial = state->current->groups.groups.is_partial;
    struct gs_groups *made = gs_groups_of_one(&state->shared, is_partial, string_bytes);
    return made == NULL ? NULL : &made->table;
}

static void drop(struct sample_state *state, struct gs_group_table **kept)
{
    gs_groups_of_one_free(&state->shared, (struct gs_groups *)*kept);
    *kept = NULL;
}

static void free_supergroups(struct sample_state *state, struct gs_group_table *table)
{
    for (uint32_t number = 0; number < table->count; number++)
        drop(state, &supergroup_at(state, table, number)->kept);
    gs_group_table_free(&state->shared, table, ops_of(state)->supergroup_size);
}

/* Both have room for one more. What goes on into the next window has it from the first row on: when
 * the window is over no row is left that could be refused. */
static bool admit_to_tables(struct sample_state *state, struct sample_window *window)
{
    size_t size = ops_of(state)->supergroup_size;
    return gs_group_table_admit(&state->shared, &window->supergroups, size) &&
           (!ops_of(state)->has_states ||
            gs_group_table_admit(&state->shared, &window->next, size));
}

/* There is room for it, and for its texts, if it has any. */
static bool admit(struct sample_state *state, struct sample_window *window, uint64_t string_bytes,
                  struct gs_group_table **kept)
{
    bool by_count = window->supergroups.count >= state->shared.max_groups;
    *kept = NULL;
    if (by_count || !admit_to_tables(state, window)) return refuse(state, window, by_count);
    if (string_bytes > 0) *kept = room_of_one(state, string_bytes);
    return string_bytes == 0 || *kept != NULL || refuse(state, window, false);
}

/* The last one of a table, which has room for it. */
static struct gs_supergroup *add(const struct sample_state *state, struct gs_group_table *table,
                                 uint32_t control)
{
    uint32_t at = control & table->mask;
    while (table->index[at] != 0)
        at = (at + 1) & table->mask;
    table->index[at] = word_of(control, table->count);
    return supergroup_at(state, table, table->count++);
}

void *gs_sample_meet(struct gs_operator *base, struct gs_group_table *groups, uint32_t control,
                     const void *row, uint64_t string_bytes)
{
    struct sample_state *state = (struct sample_state *)base;
    struct sample_window *window = state->current;
    struct gs_group_table *kept;
    (void)groups;
    struct gs_supergroup *found = find(state, &window->supergroups, control, row);
    if (found != NULL) return found;
    if (!admit(state, window, string_bytes, &kept)) return NULL;
    if (ops_of(state)->has_states) add(state, &window->next, control);
    found = add(state, &window->supergroups, control);
    memset(found, 0, ops_of(state)->supergroup_size);
    found->control = control;
    found->kept = kept;
    const void *before = find(state, &state->before, control, row);
    ops_of(state)->begin(base, found, row, before, state->begun++);
    return found;
}

void *gs_sample_at(struct gs_operator *base, uint32_t number)
{
    struct sample_state *state = (struct sample_state *)base;
    return supergroup_at(state, &state->current->supergroups, number);
}

/* ---- groups ---- */

/* The group is the last of the supergroup's. */
static void append(struct sample_state *state, struct sample_window *window,
                   struct gs_supergroup *supergroup, uint32_t number)
{
    link_of(state, entry_at(state, window, number))->next = 0;
    if (supergroup->last == 0)
        supergroup->first = number + 1;
    else
        link_of(state, entry_at(state, window, supergroup->last - 1))->next = number + 1;
    supergroup->last = number + 1;
}

struct gs_group_table *gs_sample_admit(struct gs_operator *base, struct gs_group_table *table,
                                       uint64_t string_bytes)
{
    struct sample_state *state = (struct sample_state *)base;
    struct gs_group_table *kept = room_of_one(state, string_bytes);
    if (kept == NULL)
        refuse(state, state->current, false);
    else if (!gs_group_admit(base, table, 0))
        drop(state, &kept);
    return kept;
}

void gs_sample_join(struct gs_operator *base, struct gs_group_table *table, void *memory,
                    struct gs_group_table *kept)
{
    struct sample_state *state = (struct sample_state *)base;
    struct gs_supergroup *supergroup = memory;
    size_t at = (size_t)((uint8_t *)memory - state->current->supergroups.entries);
    struct gs_sample_link *link = link_of(state, entry_at(state, state->current, table->count - 1));
    link->supergroup = (uint32_t)(at / ops_of(state)->supergroup_size);
    link->is_gone = false;
    link->kept = kept;
    append(state, state->current, supergroup, table->count - 1);
    supergroup->count++;
}

typedef bool (*keeps_function)(struct gs_operator *op, const void *entry, const gs_bound *window);

/* Each group sees the supergroup as it is before any has left. */
static void mark(struct sample_state *state, struct sample_window *window,
                 const struct gs_supergroup *supergroup, keeps_function keeps)
{
    struct gs_operator *base = &state->shared.shared.op.base;
    for (uint32_t at = supergroup->first; at != 0;) {
        void *entry = entry_at(state, window, at - 1);
        struct gs_sample_link *link = link_of(state, entry);
        at = link->next;
        link->is_gone = !keeps(base, entry, window->groups.window.values);
    }
}

static void let_go(struct sample_state *state, struct sample_window *window,
                   struct gs_supergroup *supergroup)
{
    uint32_t at = supergroup->first;
    supergroup->first = supergroup->last = 0;
    while (at != 0) {
        uint32_t number = at - 1;
        void *entry = entry_at(state, window, number);
        at = link_of(state, entry)->next;
        if (!link_of(state, entry)->is_gone) {
            append(state, window, supergroup, number);
            continue;
        }
        ops_of(state)->leave(supergroup, entry);
        drop(state, &link_of(state, entry)->kept);
        supergroup->count--;
        state->shared.group_count--;
        window->gone++;
    }
}

static void sift(struct sample_state *state, struct sample_window *window,
                 struct gs_supergroup *supergroup, keeps_function keeps)
{
    if (keeps == NULL) return;
    mark(state, window, supergroup, keeps);
    let_go(state, window, supergroup);
}

/* ---- the table is packed ---- */

static void index_again(struct sample_state *state, struct sample_window *window,
                        const uint32_t *controls, uint32_t count)
{
    struct gs_group_table *table = table_of(window);
    memset(table->index, 0, ((size_t)table->mask + 1) * sizeof *table->index);
    for (uint32_t number = 0; number < count; number++) {
        uint32_t at = controls[number] & table->mask;
        while (table->index[at] != 0)
            at = (at + 1) & table->mask;
        table->index[at] = word_of(controls[number], number);
        const struct gs_sample_link *link = link_of(state, entry_at(state, window, number));
        append(state, window, supergroup_at(state, &window->supergroups, link->supergroup), number);
    }
}

/* The hash of each group by its number: the index has it. */
static void controls_of(const struct gs_group_table *table, uint32_t *controls)
{
    for (uint32_t at = 0; at <= table->mask; at++)
        if (table->index[at] != 0)
            controls[(uint32_t)table->index[at]] = (uint32_t)(table->index[at] >> 32);
}

/* The groups that are there move up, in their order. */
static void pack(struct sample_state *state, struct sample_window *window, uint32_t *controls)
{
    struct gs_group_table *table = table_of(window);
    size_t size = ops_of(state)->groups.entry_size;
    uint32_t kept = 0;
    controls_of(table, controls);
    for (uint32_t number = 0; number < table->count; number++) {
        if (link_of(state, entry_at(state, window, number))->is_gone) continue;
        if (kept != number)
            memcpy(entry_at(state, window, kept), entry_at(state, window, number), size);
        controls[kept++] = controls[number];
    }
    for (uint32_t number = 0; number < window->supergroups.count; number++) {
        struct gs_supergroup *each = supergroup_at(state, &window->supergroups, number);
        each->first = each->last = 0;
    }
    table->count = kept;
    window->gone = 0;
    index_again(state, window, controls, kept);
}

/* As soon as it pays: what it costs has been cleaned away by then. Without memory for a moment it
 * waits. */
static void pack_if_worth(struct sample_state *state, struct sample_window *window)
{
    struct gs_group_table *table = table_of(window);
    uint64_t worth = ((uint64_t)table->count + window->supergroups.count) / 2;
    if (window->gone < GS_SAMPLE_PACKED || window->gone < worth) return;
    uint64_t bytes = (uint64_t)table->count * sizeof(uint32_t);
    if (!gs_groups_hold(&state->shared, bytes)) return;
    uint32_t *controls = malloc(bytes);
    if (controls != NULL) pack(state, window, controls);
    free(controls);
    gs_let_go(&state->shared.shared.op.holder, bytes);
}

void gs_sample_clean(struct gs_operator *base, struct gs_group_table *table, void *supergroup)
{
    struct sample_state *state = (struct sample_state *)base;
    (void)table;
    sift(state, state->current, supergroup, ops_of(state)->keeps);
    pack_if_worth(state, state->current);
}

/* ---- a window is over ---- */

/* What supergroups keep is copied: SELECT is asked of the window's own as it leaves. Their texts
 * go with them: by these they are found, and in a window that is over none is. */
static void carry(struct sample_state *state, struct sample_window *window)
{
    struct gs_group_table *from = &window->supergroups;
    free_supergroups(state, &state->before);
    state->before = window->next;
    memset(&window->next, 0, sizeof window->next);
    if (from->count > 0)
        memcpy(state->before.entries, from->entries,
               from->count * (size_t)ops_of(state)->supergroup_size);
    for (uint32_t number = 0; number < from->count; number++)
        supergroup_at(state, from, number)->kept = NULL;
}

static void finish(struct sample_state *state, struct sample_window *window)
{
    const struct gs_sample_ops *ops = ops_of(state);
    if (window->is_over) return;
    window->is_over = true;
    state->current = window;
    for (uint32_t number = 0; number < window->supergroups.count; number++) {
        struct gs_supergroup *each = supergroup_at(state, &window->supergroups, number);
        ops->end(each);
        sift(state, window, each, ops->passes);
    }
    if (ops->has_states) carry(state, window);
    if (state->open == window) state->open = NULL;
}

/* Of a window that is over no row comes: one that does is late. */
static struct gs_groups *find_groups(struct gs_group_operator *op, const gs_bound *values)
{
    struct sample_state *state = (struct sample_state *)op;
    struct gs_groups *groups = gs_group_window_find(op, values);
    if (groups == NULL) return NULL;
    struct sample_window *window = (struct sample_window *)op->shared.windows.met;
    if (window->is_over) {
        op->shared.op.base.counters.no_value++;
        return NULL;
    }
    if (state->open != NULL && state->open != window) finish(state, state->open);
    state->open = state->current = window;
    return groups;
}

static bool window_leave(struct gs_window_operator *op, struct gs_window *due, uint32_t *budget)
{
    struct sample_state *state = (struct sample_state *)op;
    struct sample_window *window = (struct sample_window *)due;
    uint64_t sequence = op->op.sequence;
    finish(state, window);
    state->current = window;
    for (; window->groups.cursor < table_of(window)->count; window->groups.cursor++) {
        void *entry = entry_at(state, window, window->groups.cursor);
        if (link_of(state, entry)->is_gone) continue;
        if (*budget == 0 || op->op.sequence != sequence) return false;
        ops_of(state)->groups.emit(&op->op.base, entry, due->values);
        --*budget;
    }
    return true;
}

static void drop_groups(struct sample_state *state, struct sample_window *window)
{
    for (uint32_t number = 0; number < table_of(window)->count; number++)
        drop(state, &link_of(state, entry_at(state, window, number))->kept);
}

static void window_clear(struct gs_window_operator *op, struct gs_window *base)
{
    struct sample_state *state = (struct sample_state *)op;
    struct sample_window *window = (struct sample_window *)base;
    if (state->open == window) state->open = NULL;
    state->shared.group_count += window->gone; /* they are among those that leave with the table */
    drop_groups(state, window);
    free_supergroups(state, &window->supergroups);
    gs_group_table_free(&state->shared, &window->next, ops_of(state)->supergroup_size);
    gs_group_window_clear(op, base);
}

static const struct gs_window_methods window_methods = {
    .window_size = sizeof(struct sample_window),
    .promise_windows = gs_group_operator_promise_windows,
    .extend = gs_group_operator_extend,
    .promise_output = gs_group_operator_promise_output,
    .admit = gs_group_window_admit,
    .ask = gs_group_operator_ask,
    .leave = window_leave,
    .clear = window_clear,
};

static int open_sample(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                       struct gs_error *error)
{
    struct gs_group_operator *state = (struct gs_group_operator *)op;
    state->find = find_groups;
    return gs_group_operator_open(state, &window_methods, settings, error);
}

static void close_sample(struct gs_operator_state *op)
{
    struct sample_state *state = (struct sample_state *)op;
    gs_group_operator_close(&state->shared);
    free_supergroups(state, &state->before);
}

const struct gs_operator_methods gs_sample_methods = {
    .name = "sample",
    .state_size = sizeof(struct sample_state),
    .cut_kind = GS_CUT_BY_WINDOW,
    .open = open_sample,
    .on_batch = gs_group_operator_on_batch,
    .on_punctuation = gs_window_operator_on_punctuation,
    .on_request = gs_group_operator_on_request,
    .extend = gs_window_operator_extend,
    .reach = gs_window_operator_reach,
    .on_idle = gs_window_operator_on_idle,
    .step = gs_window_operator_step,
    .held = gs_group_operator_held,
    .close = close_sample,
};

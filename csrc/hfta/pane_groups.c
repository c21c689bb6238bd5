/* SPDX-License-Identifier: Apache-2.0 */
#include "pane_groups.h"

static const struct gs_slide_ops *ops_of(const struct gs_group_operator *op)
{
    return (const struct gs_slide_ops *)op->shared.op.base.ops;
}

static void combine(const struct gs_group_operator *op, void *into, const void *from)
{
    ops_of(op)->combine(op->shared.op.base.handles, into, from);
}

static size_t entry_size(const struct gs_group_operator *op)
{
    return ops_of(op)->groups.entry_size;
}

/* Before an entry that has the keys, and the aggregate of the back. */
struct pane_group {
    _Alignas(16) void *front; /* the oldest entry of the front; NULL: it is empty */
    void *back;               /* the newest of the back */
    uint32_t control;         /* of its word of the index */
};

/* From one to the next of a table: a sum of 128 bits begins where it may. */
static size_t group_size(const struct gs_group_operator *op)
{
    const size_t alignment = _Alignof(struct pane_group);
    size_t size = sizeof(struct pane_group) + entry_size(op);
    return (size + alignment - 1) / alignment * alignment;
}

static void **link_of(const struct gs_group_operator *op, void *entry)
{
    return (void **)((char *)entry + ops_of(op)->link);
}

static void *back_of(struct pane_group *group)
{
    return group + 1;
}

/* An entry that has the group's keys: of the back, whose strings are there as long as it is. */
static void *keys_of(struct pane_group *group)
{
    return group->back != NULL ? back_of(group) : group->front;
}

static struct pane_group *group_at(const struct gs_pane_groups *all, uint32_t number)
{
    return (struct pane_group *)(all->table.entries + number * group_size(all->op));
}

static uint64_t word_of(uint32_t control, uint32_t number)
{
    return (uint64_t)control << 32 | number;
}

/* Where a group's word is in the index, or the empty place where it belongs. */
static uint32_t place_of(const struct gs_pane_groups *all, uint32_t control, const void *entry)
{
    const struct gs_group_table *table = &all->table;
    uint32_t at = control & table->mask;
    for (; table->index[at] != 0; at = (at + 1) & table->mask)
        if ((uint32_t)(table->index[at] >> 32) == control &&
            ops_of(all->op)->is_same(keys_of(group_at(all, (uint32_t)table->index[at])), entry))
            break;
    return at;
}

/* The group of an entry, made if it is new; NULL where there is no memory. */
static struct pane_group *group_of(struct gs_pane_groups *all, uint32_t control, const void *entry)
{
    struct gs_group_table *table = &all->table;
    if (!gs_group_table_reserve(all->op, table, group_size(all->op))) return NULL;
    uint32_t at = place_of(all, control, entry);
    if (table->index[at] != 0) return group_at(all, (uint32_t)table->index[at]);
    table->index[at] = word_of(control, table->count);
    struct pane_group *group = group_at(all, table->count++);
    *group = (struct pane_group){NULL, NULL, control};
    return group;
}

/* Linear probing leaves no holes: what follows moves up, unless it is before its home there. */
static void index_remove(struct gs_group_table *table, uint32_t hole)
{
    for (uint32_t at = (hole + 1) & table->mask; table->index[at] != 0;
         at = (at + 1) & table->mask) {
        uint32_t home = (uint32_t)(table->index[at] >> 32) & table->mask;
        if (((at - home) & table->mask) < ((at - hole) & table->mask)) continue;
        table->index[hole] = table->index[at];
        hole = at;
    }
    table->index[hole] = 0;
}

static uint32_t place_of_word(const struct gs_group_table *table, uint64_t word)
{
    uint32_t at = (uint32_t)(word >> 32) & table->mask;
    while (table->index[at] != word)
        at = (at + 1) & table->mask;
    return at;
}

/* The last group takes its place: what leaves is what is there. */
static void group_remove(struct gs_pane_groups *all, uint32_t number)
{
    struct gs_group_table *table = &all->table;
    struct pane_group *group = group_at(all, number);
    index_remove(table, place_of_word(table, word_of(group->control, number)));
    if (number == --table->count) return;
    struct pane_group *moved = group_at(all, table->count);
    table->index[place_of_word(table, word_of(moved->control, table->count))] =
        word_of(moved->control, number);
    memcpy(group, moved, group_size(all->op));
}

/* ---- entries come and go ---- */

static void entry_enter(struct gs_pane_groups *all, struct pane_group *group, void *entry)
{
    *link_of(all->op, entry) = group->back;
    if (group->back == NULL)
        memcpy(back_of(group), entry, entry_size(all->op));
    else
        combine(all->op, back_of(group), entry);
    group->back = entry;
}

static void *entry_at(const struct gs_pane_groups *all, const struct gs_groups *pane, uint64_t word)
{
    return pane->table.entries + (uint32_t)word * entry_size(all->op);
}

/* So many entries are looked up together: their groups are in no cache. */
#define AT_ONCE 16
#define AHEAD 8 /* groups that leave one after the other */

struct looked_up {
    uint32_t control[AT_ONCE];
    void *entry[AT_ONCE];
    uint32_t number[AT_ONCE]; /* of their groups, where one leaves */
    uint32_t count;
};

/* The next entries of the pane's index from `at` on, in which the words of the table's are met in
 * their order; what they will be compared with is on its way. Gives where to go on. */
static uint32_t look_up(const struct gs_pane_groups *all, const struct gs_groups *pane, uint32_t at,
                        struct looked_up *found)
{
    const struct gs_group_table *from = &pane->table, *table = &all->table;
    found->count = 0;
    for (; at <= from->mask && found->count < AT_ONCE; at++) {
        uint64_t word = from->index[at];
        if (word == 0) continue;
        uint32_t control = (uint32_t)(word >> 32);
        found->control[found->count] = control;
        found->entry[found->count] = entry_at(all, pane, word);
        __builtin_prefetch(found->entry[found->count++], 1);
        if (table->index != NULL) __builtin_prefetch(&table->index[control & table->mask]);
    }
    for (uint32_t k = 0; table->count > 0 && k < found->count; k++) {
        uint64_t word = table->index[found->control[k] & table->mask];
        if (word != 0) __builtin_prefetch(group_at(all, (uint32_t)word), 1);
    }
    return at;
}

bool gs_pane_groups_enter(struct gs_pane_groups *all, const struct gs_groups *pane)
{
    struct looked_up found;
    if (pane->table.index == NULL) return true; /* there was no room for one */
    for (uint32_t at = 0; at <= pane->table.mask;) {
        at = look_up(all, pane, at, &found);
        for (uint32_t k = 0; k < found.count; k++) {
            struct pane_group *group = group_of(all, found.control[k], found.entry[k]);
            if (group == NULL) return false;
            entry_enter(all, group, found.entry[k]);
        }
    }
    return true;
}

/* ---- the oldest leaves ---- */

/* A group whose back becomes its front, on its way from the newest entry to the oldest. */
struct turning {
    struct pane_group *group;
    void *entry, *newer; /* that is next, and the one before it */
};

/* The next entry gets what the newer ones have; false: it was the oldest. */
static bool turn_on(const struct gs_group_operator *op, struct turning *turn)
{
    void *entry = turn->entry, *older = *link_of(op, entry);
    __builtin_prefetch(older, 1);
    *link_of(op, entry) = turn->newer;
    if (turn->newer != NULL) combine(op, entry, turn->newer);
    turn->newer = entry;
    turn->entry = older;
    if (older != NULL) return true;
    turn->group->front = entry;
    turn->group->back = NULL;
    return false;
}

/* All of them whose front is empty, by turns: an entry is in a pane of its own and in no cache, and
 * while one group waits for its next one the others go on. (One group after the other the whole of
 * a leave was waiting.) */
static void turn_all(const struct gs_pane_groups *all, const struct looked_up *found)
{
    struct turning turns[AT_ONCE];
    uint32_t count = 0;
    for (uint32_t k = 0; k < found->count; k++) {
        struct pane_group *group = group_at(all, found->number[k]);
        if (group->front == NULL) turns[count++] = (struct turning){group, group->back, NULL};
    }
    while (count > 0)
        for (uint32_t k = 0; k < count;)
            if (turn_on(all->op, &turns[k]))
                k++;
            else
                turns[k] = turns[--count];
}

/* The group goes with its last entry; the last group moves to its place, and is found there. */
static void entry_leave(struct gs_pane_groups *all, struct looked_up *found, uint32_t k)
{
    struct pane_group *group = group_at(all, found->number[k]);
    group->front = *link_of(all->op, group->front);
    if (group->front != NULL || group->back != NULL) return;
    group_remove(all, found->number[k]);
    for (uint32_t other = k + 1; other < found->count; other++)
        if (found->number[other] == all->table.count) found->number[other] = found->number[k];
}

void gs_pane_groups_leave(struct gs_pane_groups *all, const struct gs_groups *pane)
{
    struct looked_up found;
    if (pane->table.index == NULL) return;
    for (uint32_t at = 0; at <= pane->table.mask;) {
        at = look_up(all, pane, at, &found);
        for (uint32_t k = 0; k < found.count; k++)
            found.number[k] =
                (uint32_t)all->table.index[place_of(all, found.control[k], found.entry[k])];
        turn_all(all, &found);
        for (uint32_t k = 0; k < found.count; k++)
            entry_leave(all, &found, k);
    }
}

void gs_pane_groups_fit(struct gs_pane_groups *all, uint32_t count)
{
    if (count < all->table.count) count = all->table.count;
    gs_group_table_fit(all->op, &all->table, group_size(all->op), count);
}

const void *gs_pane_groups_at(const struct gs_pane_groups *all, uint32_t number, void *scratch)
{
    struct pane_group *group = group_at(all, number);
    if (number + AHEAD < all->table.count) __builtin_prefetch(group_at(all, number + AHEAD)->front);
    if (group->back == NULL) return group->front;
    if (group->front == NULL) return back_of(group);
    memcpy(scratch, back_of(group), entry_size(all->op));
    combine(all->op, scratch, group->front);
    return scratch;
}

void gs_pane_groups_close(struct gs_pane_groups *all)
{
    gs_group_table_free(all->op, &all->table, group_size(all->op));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of the high level: generated code finds them and adds to them; here are their tables, the
 * memory of their strings, and what all operators that keep groups share. Whose they are, those of
 * a window (aggregate.c) or of a pane (slide.c), is the operator's. */
#ifndef GS_HFTA_GROUPS_H
#define GS_HFTA_GROUPS_H

#include "value_sets.h"
#include "window_operator.h"

struct gs_arena_chunk;

struct gs_groups {
    struct gs_group_table table;  /* first: generated code is given a pointer to it */
    struct gs_arena_chunk *arena; /* of strings, and of values */
    struct gs_value_sets values;  /* that they have met */
    bool *is_partial;             /* of their owner: rows of it were refused */
    bool is_of_one;               /* what one group keeps, in pieces that begin small */
};

struct gs_group_operator {
    struct gs_window_operator shared; /* first */
    uint64_t group_count, max_groups;
    bool has_met;                /* there was a group, or one was refused */
    bool takes_partial;          /* the input's rows are of windows in which groups were refused */
    struct gs_group_table spare; /* the last closed table, emptied */
    /* The groups of rows with these values of the temporal group variables, made where they are
     * new; NULL, and counted why. */
    struct gs_groups *(*find)(struct gs_group_operator *op, const gs_bound *values);
};

static inline const struct gs_group_ops *gs_group_ops_of(const struct gs_operator *base)
{
    return (const struct gs_group_ops *)base->ops;
}

/* Counts the bytes of a window or pane, of which the budget may have too few. */
bool gs_groups_hold(struct gs_group_operator *op, uint64_t bytes);
/* False where there is no memory for a table. */
bool gs_groups_open(struct gs_group_operator *op, struct gs_groups *groups, bool *is_partial);
/* The same where a window begins. Of a part of the groups it begins in any case, perhaps without a
 * table: it says that it lacks them, which rows of the others depend on. */
bool gs_groups_hold_window(struct gs_group_operator *op, uint64_t bytes);
static inline bool gs_groups_begin(struct gs_group_operator *op, struct gs_groups *groups)
{
    return gs_groups_open(op, groups, NULL) || op->shared.op.is_part;
}
/* Those of a window that has begun; NULL: there is no room yet, which is counted and marked. */
struct gs_groups *gs_groups_begun(struct gs_group_operator *op, struct gs_groups *groups);
/* No group comes any more: a table that is far larger than they need, as one that served many more
 * before, gives back what it has too much. */
void gs_groups_fit(struct gs_group_operator *op, struct gs_groups *groups);
/* All of them leave; the table serves the next ones. */
void gs_groups_close(struct gs_group_operator *op, struct gs_groups *groups);
/* A row of a group that there is no room for. */
void gs_groups_count_refused(struct gs_group_operator *op, bool by_count);
/* The same, of groups that are there: they lack the row. */
bool gs_groups_refuse(struct gs_group_operator *op, struct gs_groups *groups, bool by_count);
/* What one group keeps, which may leave before its window: without a table, and with room for so
 * many bytes of strings. NULL: there is no memory. */
struct gs_groups *gs_groups_of_one(struct gs_group_operator *op, bool *is_partial,
                                   uint64_t string_bytes);
void gs_groups_of_one_free(struct gs_group_operator *op, struct gs_groups *groups);
/* So many bytes, aligned to 8, that live as long as the groups; NULL: there is no memory. */
void *gs_groups_memory(struct gs_group_operator *op, struct gs_groups *groups, uint64_t bytes);

/* Tables of other entries than the generated ones, of the size that is given. They are held in any
 * case; false where the system has no memory. */
bool gs_group_table_reserve(struct gs_group_operator *op, struct gs_group_table *table,
                            size_t entry_size);
/* The same within the budget; false where it has nothing left, too. */
bool gs_group_table_admit(struct gs_group_operator *op, struct gs_group_table *table,
                          size_t entry_size);
/* Gives back what it has too much for so many groups, at least as many as it has; where there is no
 * memory for a smaller one it stays as it is. */
void gs_group_table_fit(struct gs_group_operator *op, struct gs_group_table *table,
                        size_t entry_size, uint32_t count);
void gs_group_table_free(struct gs_group_operator *op, struct gs_group_table *table,
                         size_t entry_size);

/* For struct gs_operator_methods and struct gs_window_methods. */
int gs_group_operator_open(struct gs_group_operator *op, const struct gs_window_methods *methods,
                           const struct gs_operator_settings *settings, struct gs_error *error);
void gs_group_operator_on_batch(struct gs_operator_state *op, uint32_t port,
                                struct gs_batch *batch);
void gs_group_operator_on_request(struct gs_operator_state *op, uint32_t column, gs_bound value);
void gs_group_operator_promise_windows(struct gs_window_operator *op, uint32_t port,
                                       struct gs_punctuation *values);
void gs_group_operator_extend(struct gs_window_operator *op, struct gs_punctuation *last,
                              struct gs_extent *extent);
void gs_group_operator_extend_output(struct gs_window_operator *op, struct gs_extent *extent);
void gs_group_operator_promise_output(struct gs_window_operator *op, struct gs_punctuation *values);
void gs_group_operator_ask(struct gs_window_operator *op, uint32_t k, gs_bound value);
uint64_t gs_group_operator_held(const struct gs_operator_state *op);
void gs_group_operator_close(struct gs_group_operator *op);

#endif

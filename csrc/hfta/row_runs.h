/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that wait to leave in the order of a temporal column. They stand in runs, each a queue in
 * order: what comes in order is one run, what comes of n streams in order at most n, and a row that
 * is late goes behind the run whose last row is nearest below it (patience sorting). So a row costs
 * a search among the runs, and leaving costs what leaves; nothing is ever sorted again.
 *
 * Of every other temporal column the least value that is held is known: each run keeps the values
 * that are less than all behind them, as the minimum of a sliding window is kept. */
#ifndef GS_HFTA_ROW_RUNS_H
#define GS_HFTA_ROW_RUNS_H

#include "ring.h"
#include "row_store.h"

struct gs_held_row {
    gs_bound key;   /* of the column that orders, as bounds have it */
    uint64_t place; /* among rows of the same key */
    struct gs_row_chunk *chunk;
    uint32_t row;
    bool is_partial;
};

struct gs_row_run {
    struct gs_ring rows;    /* struct gs_held_row */
    uint64_t left;          /* rows that have left it: the number of its first one */
    struct gs_ring least[]; /* by followed column: struct least_value */
};

struct gs_row_runs {
    struct gs_row_store store;
    uint32_t key_column;
    uint32_t followed_count;
    uint32_t *followed; /* the other temporal columns */
    /* None is empty. By their last rows, the greatest first; and a heap by their first rows. */
    struct gs_row_run **runs, **heap;
    uint32_t run_count, run_capacity;
};

/* False where there is no memory. */
bool gs_row_runs_open(struct gs_row_runs *runs, const struct gs_schema *schema, uint32_t key_column,
                      struct gs_holder *holder);
void gs_row_runs_close(struct gs_row_runs *runs);
/* A copy of a row that comes after all of lesser key, or of the same key and lesser place; false
 * where the budget, or the memory, has no room for it. */
bool gs_row_runs_add(struct gs_row_runs *runs, const struct gs_batch *batch, uint32_t row,
                     gs_bound key, uint64_t place);
/* The row that is to leave next; NULL where none is held. */
const struct gs_held_row *gs_row_runs_first(const struct gs_row_runs *runs);
void gs_row_runs_remove_first(struct gs_row_runs *runs);
/* Gives back what rows that have left still take: after some have. */
void gs_row_runs_tidy(struct gs_row_runs *runs);
/* What the rows that are held promise of a temporal column; GS_BOUND_END where none is held. */
gs_bound gs_row_runs_least(const struct gs_row_runs *runs, uint32_t column);
/* A row is held that is below both bounds. */
bool gs_row_runs_has_below(const struct gs_row_runs *runs, const struct gs_joint_bound *joint);

#endif

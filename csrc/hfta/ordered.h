/* SPDX-License-Identifier: Apache-2.0 */
/* What Sort and Merge share: rows wait until they may leave, the least first; they leave a batch a
 * step; and no bound that is given is above a row that is not out yet (OPERATORS section 4). */
#ifndef GS_HFTA_ORDERED_H
#define GS_HFTA_ORDERED_H

#include "operator.h"
#include "row_runs.h"

struct gs_ordered {
    struct gs_operator_state op; /* first */
    struct gs_row_runs runs;
    void (*copy)(struct gs_operator *op, const struct gs_batch *input, uint32_t row);
    uint64_t max_rows;
    uint64_t arrivals;
    gs_bound limit;    /* rows up to it may leave; GS_BOUND_NONE: none */
    gs_bound promised; /* of the column that orders, once they have left */
    bool has_news;     /* what is promised may have grown since it was given */
    bool has_ended;
};

int gs_ordered_open(struct gs_ordered *state, uint32_t column,
                    void (*copy)(struct gs_operator *, const struct gs_batch *, uint32_t),
                    const struct gs_operator_settings *settings, struct gs_error *error);
/* The key of a row; false, and the row counted, where it has none: it would wait for the end. */
bool gs_ordered_key(struct gs_ordered *state, const struct gs_batch *batch, uint32_t row,
                    gs_bound *key);
/* Keeps a row; it is refused, and counted, where there is no room. Of rows of one key those of a
 * lesser port leave first, then those that came first. */
void gs_ordered_hold(struct gs_ordered *state, uint32_t port, const struct gs_batch *batch,
                     uint32_t row, gs_bound key);
/* The same, of a row whose place among those of one key is known. */
void gs_ordered_hold_at(struct gs_ordered *state, const struct gs_batch *batch, uint32_t row,
                        gs_bound key, uint64_t place);
/* Gives what is promised of the rows held and to come, and passes a heartbeat on. */
void gs_ordered_progress(struct gs_ordered *state, const struct gs_batch *cause);
/* For struct gs_operator_methods. */
bool gs_ordered_step(struct gs_operator_state *op);
uint64_t gs_ordered_held(const struct gs_operator_state *op);
void gs_ordered_close(struct gs_operator_state *op);

#endif

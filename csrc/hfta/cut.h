/* SPDX-License-Identifier: Apache-2.0 */
/* What a query set has not seen whole: of the windows that were running when it was attached to an
 * engine at work it has the rest, of those that were running when it was detached the beginning.
 * Value by value it is known how far what was before reaches (struct gs_extent of missing.h);
 * behind a detach all is cut. Rows without a window are never cut: they are whole, or not there. */
#ifndef GS_HFTA_CUT_H
#define GS_HFTA_CUT_H

#include "gs_batch.h"

struct gs_operator_state;

/* How an operator knows which of its rows are cut, before the columns of its output say more. */
enum gs_cut_kind {
    GS_CUT_PASSES = 0, /* as the batches that they came in */
    GS_CUT_HOLDS,      /* rows wait: all, until the bounds that it gives have passed what is cut */
    GS_CUT_JOINS,      /* the same; it has windows itself */
    GS_CUT_BY_WINDOW   /* by the values of their windows */
};

struct gs_cut {
    enum gs_cut_kind kind;
    bool has_windows; /* what comes out is of windows */
    bool is_begun;    /* packets came before it was there: up to `last` their rows are not seen */
    bool is_over;     /* its input was broken off: what comes out now lacks rows */
    bool is_kept;     /* and is put out for all that, with its mark: nothing comes after it */
    bool is_now;      /* some of the rows that wait to be sent may be cut */
    gs_bound *last;   /* by column, then its own values; NULL until it is begun */
    uint64_t rows;    /* of an output: left out */
};

void gs_cut_close(struct gs_operator_state *op);
/* An input of this port lacks rows up to these values of its columns. False: no memory. */
bool gs_cut_begin(struct gs_operator_state *op, uint32_t port, const gs_bound *columns);
/* The input is about to be broken off. */
void gs_cut_end(struct gs_operator_state *op, bool is_kept);
/* Whether the window of these values is cut. */
bool gs_cut_has_window(const struct gs_operator_state *op, const gs_bound *values, uint32_t count);
/* Whether a row of a batch that came in is: `op` is an output, whose columns are the batch's. */
bool gs_cut_has_row(const struct gs_operator_state *op, const struct gs_batch *batch, uint32_t row);
/* Whether rows of this batch may be. */
bool gs_cut_may_have(const struct gs_operator_state *op, const struct gs_batch *batch);
/* Before the rows of a batch come in: those that are cut and those that are not keep apart. */
void gs_cut_take(struct gs_operator_state *op, const struct gs_batch *batch);
/* Says it of a batch that is sent now, with op->given. */
void gs_cut_mark(struct gs_operator_state *op, struct gs_batch *batch);

#endif

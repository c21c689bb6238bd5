/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the join share. */
#ifndef GS_HFTA_JOIN_H
#define GS_HFTA_JOIN_H

#include "join_rows.h"
#include "operator.h"

struct join_state {
    struct gs_operator_state op; /* first */
    struct gs_join_rows rows[2];
    uint64_t max_rows; /* held of both: as the query says, or the run, whichever is less */
    gs_bound times[2][GS_TEMPORAL_MAX]; /* by port and pair: what it promises */
    bool has_ended[2];
    /* By port: nothing is promised of its columns, but of the one that an inverse is sought for. */
    struct gs_punctuation alone[2];
};

static inline const struct gs_join_ops *gs_join_ops_of(const struct join_state *state)
{
    return (const struct gs_join_ops *)state->op.base.ops;
}

/* Whether nothing is still to come that a row with the least of a pair's times can match. */
bool gs_join_is_due(struct join_state *state, uint32_t side, uint32_t pair);
/* A port promises more: rows of the other side may leave. */
void gs_join_take_promise(struct join_state *state, uint32_t port);
/* What holds of all rows that are still to leave, or to come, to op.next. */
void gs_join_promise(struct join_state *state);
/* For struct gs_operator_methods. */
void gs_join_extend(struct gs_operator_state *op, uint32_t port, struct gs_punctuation *last,
                    struct gs_extent *extent);
void gs_join_reach(struct gs_operator_state *op, gs_bound *own);
void gs_join_on_request(struct gs_operator_state *op, uint32_t column, gs_bound value);
void gs_join_on_idle(struct gs_operator_state *op);

#endif

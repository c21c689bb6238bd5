/* SPDX-License-Identifier: Apache-2.0 */
/* Whose rows are missing of what an operator puts out (Johnson et al., VLDB 2005, section 6.1). A
 * batch says whose are of all that it closes. What these would have been part of may leave long
 * after it: there is a gap until all of that has left, and what is sent until then says so. */
#ifndef GS_HFTA_MISSING_H
#define GS_HFTA_MISSING_H

#include "gs_batch.h"
#include "gs_query_set.h"

#define GS_OWN_VALUES (2 * GS_TEMPORAL_MAX)

struct gs_operator_state;

/* Value by value how far something reaches; GS_BOUND_NONE: it does not concern it. */
struct gs_extent {
    gs_bound *columns; /* of the output */
    gs_bound *own;     /* GS_OWN_VALUES by which the operator holds rows; they need be no columns */
};

struct gs_missing {
    uint64_t now;  /* of the rows that wait to be sent, and of what the next bounds close */
    uint64_t said; /* of what is behind the last batch that was sent */
    uint64_t gaps;
    uint64_t *still; /* by port: what its last batch says of the time behind it */
    /* NULL until there is a gap: how far that of each bit reaches, then scratches. */
    gs_bound *extents;
    bool is_over; /* the end has been sent */
};

bool gs_missing_open(struct gs_operator_state *op, uint32_t port_count);
void gs_missing_close(struct gs_operator_state *op);
/* Of a batch that a port is given, before its rows. */
void gs_missing_take(struct gs_operator_state *op, uint32_t port, const struct gs_batch *batch);
/* Says it of a batch that is sent now, with op->given. */
void gs_missing_mark(struct gs_operator_state *op, struct gs_batch *batch);
/* A batch of nothing else says what neither rows nor bounds have said. */
void gs_missing_review(struct gs_operator_state *op);

#endif

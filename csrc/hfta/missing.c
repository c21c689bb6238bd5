/* SPDX-License-Identifier: Apache-2.0 */
#include "missing.h"

#include <stdlib.h>

#include "gs_bounds.h"
#include "operator.h"

#define BITS 64
#define BEYOND (GS_BOUND_END - 1)

static uint32_t column_count(const struct gs_operator_state *op)
{
    return op->node->schema->column_count;
}

static uint32_t extent_width(const struct gs_operator_state *op)
{
    return column_count(op) + GS_OWN_VALUES;
}

/* That of a bit; behind those of all bits are scratches: two extents, and columns of an input. */
static struct gs_extent extent_at(const struct gs_operator_state *op, uint32_t at)
{
    gs_bound *values = op->missing.extents + (size_t)at * extent_width(op);
    return (struct gs_extent){values, values + column_count(op)};
}

static struct gs_extent cleared(struct gs_extent extent, uint32_t width)
{
    for (uint32_t at = 0; at < width; at++)
        extent.columns[at] = GS_BOUND_NONE;
    return extent;
}

bool gs_missing_open(struct gs_operator_state *op, uint32_t port_count)
{
    op->missing.still = calloc(port_count + 1, sizeof *op->missing.still);
    return op->missing.still != NULL;
}

void gs_missing_close(struct gs_operator_state *op)
{
    free(op->missing.still);
    free(op->missing.extents);
}

/* Few operators ever see a gap: there is room for them from the first on. */
static bool extents_open(struct gs_operator_state *op)
{
    struct gs_missing *missing = &op->missing;
    uint32_t columns = 0;
    if (missing->extents != NULL) return true;
    for (uint32_t port = 0; port < op->port_count; port++)
        if (op->port_columns[port] > columns) columns = op->port_columns[port];
    missing->extents =
        malloc(((size_t)(BITS + 2) * extent_width(op) + columns) * sizeof *missing->extents);
    *op->failed |= missing->extents == NULL;
    return missing->extents != NULL;
}

/* ---- how far a gap reaches ---- */

/* The greatest bound but the end stands for all that are beyond bounds: these may be missing. */
static gs_bound last_below(gs_bound bound, gs_bound other)
{
    gs_bound first = gs_bound_max(bound, other);
    return first == BEYOND ? first : gs_bound_add(first, -1);
}

/* Of each column the last value that the batch closes; a joint bound closes in both of its own. */
static struct gs_punctuation last_closed(const struct gs_operator_state *op, uint32_t port,
                                         const struct gs_batch *batch)
{
    const struct gs_punctuation *before = &op->inputs[port], *now = &batch->punctuation;
    struct gs_punctuation last = {.bounds = extent_at(op, BITS + 2).columns};
    for (uint32_t c = 0; c < op->port_columns[port]; c++)
        last.bounds[c] = last_below(before->bounds[c], now->bounds[c]);
    for (uint32_t i = 0; now->joint.is_given && i < 2; i++) {
        gs_bound *of_column = &last.bounds[now->joint.columns[i]];
        *of_column = gs_bound_max(*of_column, last_below(now->joint.bounds[i], GS_BOUND_NONE));
    }
    return last;
}

/* No bound is ever given of a column that is not temporal, and none passes what is beyond all: a
 * gap would last to the end. */
static void keep_passable(const struct gs_operator_state *op, struct gs_extent extent)
{
    for (uint32_t c = 0; c < column_count(op); c++)
        extent.columns[c] = op->node->schema->fields[c].temporal == 0
                                ? GS_BOUND_NONE
                                : gs_bound_passable(extent.columns[c]);
}

/* What an operator holds by a time beyond all bounds leaves with the end. */
static void keep_to_the_end(struct gs_operator_state *op, uint32_t port,
                            struct gs_punctuation *last, struct gs_extent extent)
{
    struct gs_extent at_end = cleared(extent_at(op, BITS + 1), extent_width(op));
    for (uint32_t c = 0; c < op->port_columns[port]; c++)
        if (last->bounds[c] == BEYOND) last->bounds[c] = GS_BOUND_END;
    op->methods->extend(op, port, last, &at_end);
    memcpy(extent.own, at_end.own, GS_OWN_VALUES * sizeof *extent.own);
}

static struct gs_extent extent_of(struct gs_operator_state *op, uint32_t port,
                                  const struct gs_batch *batch)
{
    struct gs_punctuation last = last_closed(op, port, batch);
    struct gs_extent extent = cleared(extent_at(op, BITS), extent_width(op));
    if (op->methods->extend != NULL)
        op->methods->extend(op, port, &last, &extent);
    else
        memcpy(extent.columns, last.bounds, column_count(op) * sizeof *last.bounds);
    keep_passable(op, extent);
    if (op->methods->reach != NULL) keep_to_the_end(op, port, &last, extent);
    return extent;
}

static void gap_raise(struct gs_operator_state *op, uint32_t bit, struct gs_extent to)
{
    uint32_t width = extent_width(op);
    struct gs_extent gap = extent_at(op, bit);
    if ((op->missing.gaps >> bit & 1) == 0) cleared(gap, width);
    for (uint32_t at = 0; at < width; at++)
        gap.columns[at] = gs_bound_max(gap.columns[at], to.columns[at]);
    op->missing.gaps |= UINT64_C(1) << bit;
}

/* ---- until all that it concerns has left ---- */

static void end_gaps(struct gs_operator_state *op)
{
    struct gs_missing *missing = &op->missing;
    if (missing->gaps == 0) return;
    struct gs_extent reached = extent_at(op, BITS);
    if (op->methods->reach != NULL) op->methods->reach(op, reached.own);
    for (uint32_t bit = 0; bit < BITS; bit++) {
        struct gs_extent gap = extent_at(op, bit);
        if ((missing->gaps >> bit & 1) != 0 &&
            gs_bounds_have_passed(op->given.bounds, gap.columns, column_count(op)) &&
            gs_bounds_have_passed(reached.own, gap.own, GS_OWN_VALUES))
            missing->gaps &= ~(UINT64_C(1) << bit);
    }
}

/* Of what is sent from now on. */
static uint64_t behind(struct gs_operator_state *op)
{
    uint64_t behind;
    end_gaps(op);
    behind = op->missing.gaps;
    for (uint32_t port = 0; port < op->port_count; port++)
        behind |= op->missing.still[port];
    return behind;
}

/* ---- what is said ---- */

void gs_missing_take(struct gs_operator_state *op, uint32_t port, const struct gs_batch *batch)
{
    struct gs_missing *missing = &op->missing;
    uint64_t bits = batch->missing & ~GS_MISSING_CUT;
    missing->still[port] = batch->is_end ? 0 : batch->still_missing;
    if (op->base.output->row_count == 0) missing->now = behind(op);
    missing->now |= bits | missing->still[port];
    if (bits == 0 || !extents_open(op)) return;
    struct gs_extent extent = extent_of(op, port, batch);
    for (uint32_t bit = 0; bit < BITS; bit++)
        if (bits >> bit & 1) gap_raise(op, bit, extent);
}

void gs_missing_mark(struct gs_operator_state *op, struct gs_batch *batch)
{
    batch->missing = op->missing.now;
    batch->still_missing = op->missing.now = op->missing.said = behind(op);
    op->missing.is_over |= batch->is_end;
    gs_cut_mark(op, batch);
}

/* Whoever reads this operator must hear of a gap, and of its end. */
void gs_missing_review(struct gs_operator_state *op)
{
    struct gs_missing *missing = &op->missing;
    bool has_none = (missing->now | missing->said) == 0;
    if (has_none || missing->is_over || op->base.output->row_count > 0) return;
    uint64_t bits = behind(op);
    if (bits != missing->now || bits != missing->said) gs_operator_send(op, NULL);
}

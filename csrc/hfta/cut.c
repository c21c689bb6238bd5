/* SPDX-License-Identifier: Apache-2.0 */
#include "cut.h"

#include <stdlib.h>

#include "gs_bounds.h"
#include "operator.h"

static uint32_t column_count(const struct gs_operator_state *op)
{
    return op->node->schema->column_count;
}

static uint32_t width(const struct gs_operator_state *op)
{
    return column_count(op) + GS_OWN_VALUES;
}

void gs_cut_close(struct gs_operator_state *op)
{
    free(op->cut.last);
}

/* It decides by what it gives, not by each window. */
static bool holds(const struct gs_operator_state *op)
{
    return op->cut.kind == GS_CUT_HOLDS || op->cut.kind == GS_CUT_JOINS;
}

/* ---- how far what was before reaches ---- */

static gs_bound *nothing(uint32_t count)
{
    gs_bound *values = malloc(count * sizeof *values);
    for (uint32_t at = 0; values != NULL && at < count; at++)
        values[at] = GS_BOUND_NONE;
    return values;
}

/* A column that is not temporal says nothing of where a row belongs. */
static void raise_last(struct gs_operator_state *op, const gs_bound *to)
{
    for (uint32_t at = 0; at < width(op); at++) {
        bool says = at >= column_count(op) || op->node->schema->fields[at].temporal != 0;
        if (says) op->cut.last[at] = gs_bound_max(op->cut.last[at], gs_bound_passable(to[at]));
    }
}

static void extend(struct gs_operator_state *op, uint32_t port, gs_bound *input, gs_bound *to)
{
    struct gs_punctuation last = {.bounds = input};
    struct gs_extent extent = {to, to + column_count(op)};
    if (op->methods->extend != NULL)
        op->methods->extend(op, port, &last, &extent);
    else
        memcpy(to, input, column_count(op) * sizeof *to);
}

bool gs_cut_begin(struct gs_operator_state *op, uint32_t port, const gs_bound *columns)
{
    uint32_t inputs = op->port_columns[port];
    gs_bound *to = nothing(width(op)), *input = nothing(inputs + 1);
    if (op->cut.last == NULL) op->cut.last = nothing(width(op));
    bool has_room = to != NULL && input != NULL && op->cut.last != NULL;
    if (has_room) {
        memcpy(input, columns, inputs * sizeof *input);
        extend(op, port, input, to);
        raise_last(op, to);
        op->cut.is_begun = true;
        op->cut.is_now = op->cut.has_windows && holds(op);
    }
    free(to);
    free(input);
    return has_room;
}

void gs_cut_end(struct gs_operator_state *op, bool is_kept)
{
    op->cut.is_kept = is_kept;
    op->cut.is_over = op->cut.has_windows;
    if (op->cut.is_over && holds(op)) op->cut.is_now = true;
}

/* ---- what is cut ---- */

/* A packet that was not seen had, of every value, at most its last. */
bool gs_cut_has_window(const struct gs_operator_state *op, const gs_bound *values, uint32_t count)
{
    if (op->cut.is_over || !op->cut.is_begun) return op->cut.is_over;
    const gs_bound *own = op->cut.last + column_count(op);
    for (uint32_t k = 0; k < count; k++)
        if (values[k] > own[k]) return false;
    return true;
}

bool gs_cut_may_have(const struct gs_operator_state *op, const struct gs_batch *batch)
{
    bool is_marked = (batch->missing & GS_MISSING_CUT) != 0;
    return is_marked && op->cut.has_windows && (op->cut.is_begun || op->cut.is_over);
}

bool gs_cut_has_row(const struct gs_operator_state *op, const struct gs_batch *batch, uint32_t row)
{
    if (op->cut.is_over) return true;
    for (uint32_t c = 0; c < column_count(op); c++) {
        if (op->cut.last[c] == GS_BOUND_NONE || gs_column_is_null(&batch->columns[c], row))
            continue;
        if (gs_row_bound(batch, c, row) > op->cut.last[c]) return false;
    }
    return true;
}

/* ---- what is said ---- */

void gs_cut_take(struct gs_operator_state *op, const struct gs_batch *batch)
{
    bool is_cut = (batch->missing & GS_MISSING_CUT) != 0;
    if (op->cut.kind != GS_CUT_PASSES || batch->row_count == 0 || is_cut == op->cut.is_now) return;
    gs_operator_flush_output(op);
    op->cut.is_now = is_cut;
}

/* What is held, or to come, is behind all that would have met a row that was not seen. */
static bool reaches_whole(struct gs_operator_state *op)
{
    gs_bound own[GS_OWN_VALUES];
    if (op->methods->reach == NULL) return false;
    for (uint32_t at = 0; at < GS_OWN_VALUES; at++)
        own[at] = GS_BOUND_NONE;
    op->methods->reach(op, own);
    return gs_bounds_have_passed(own, op->cut.last + column_count(op), GS_OWN_VALUES);
}

/* What comes out behind a bound is above it, and whole where that is above the last that is cut. */
static bool has_passed(struct gs_operator_state *op)
{
    for (uint32_t c = 0; c < column_count(op); c++)
        if (op->cut.last[c] != GS_BOUND_NONE && op->given.bounds[c] > op->cut.last[c]) return true;
    return reaches_whole(op);
}

void gs_cut_mark(struct gs_operator_state *op, struct gs_batch *batch)
{
    struct gs_cut *cut = &op->cut;
    if (!cut->is_now) return;
    batch->missing |= GS_MISSING_CUT;
    if (holds(op)) cut->is_now = cut->is_over || !has_passed(op);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Punctuation of a join (OPERATORS section 4): bounds in, which rows they let go, bounds out, and
 * what is asked for. F_i, the forward reach of side i, is how far a time of the other side may be
 * ahead of its own. */
#include "carry.h"
#include "join.h"

/* ---- what is promised of the times ---- */

static int64_t reach(const struct join_state *state, uint32_t pair, uint32_t side)
{
    return gs_join_ops_of(state)->reaches[pair][side];
}

static void raise_times(struct join_state *state, uint32_t port)
{
    const struct gs_join_ops *ops = gs_join_ops_of(state);
    gs_bound bounds[GS_TEMPORAL_MAX];
    struct gs_punctuation times = {.bounds = bounds};
    gs_carry(ops->times[port], &state->op.inputs[port], ops->pair_count, &times, state->op.carried);
    for (uint32_t pair = 0; pair < ops->pair_count; pair++) {
        gs_bound time = state->has_ended[port] ? GS_BOUND_END : bounds[pair];
        if (time > state->times[port][pair]) state->times[port][pair] = time;
    }
}

/* Not b - F itself: -F may be no int64_t. */
static gs_bound minus(gs_bound time, int64_t by)
{
    return gs_bound_is_special(time) ? time : gs_bound_saturate((__int128)time - by);
}

void gs_join_take_promise(struct join_state *state, uint32_t port)
{
    uint32_t other = 1 - port;
    struct gs_join_rows *rows = &state->rows[other];
    raise_times(state, port);
    for (uint32_t pair = 0; pair < rows->pair_count; pair++)
        rows->limits[pair] = minus(state->times[port][pair], reach(state, pair, other));
    rows->side.is_over = state->has_ended[port];
}

bool gs_join_is_due(struct join_state *state, uint32_t side, uint32_t pair)
{
    struct gs_join_rows *rows = &state->rows[side];
    const struct gs_join_entry *least = gs_join_rows_least(rows, pair);
    if (least == NULL) return false;
    return rows->side.is_over || least->value < rows->limits[pair];
}

/* ---- through a pair's expression, and back ---- */

/* What the pair's expression is of a bound of this column alone. */
static gs_bound forward(struct join_state *state, const struct gs_join_bound *bound, gs_bound of)
{
    gs_bound times[GS_TEMPORAL_MAX], *at = &state->alone[bound->side].bounds[bound->input];
    *at = of;
    gs_join_ops_of(state)->times[bound->side](&state->alone[bound->side], times);
    *at = GS_BOUND_NONE;
    return times[bound->value];
}

/* The least value of the column by which the expression is this at least. */
static gs_bound inverse(struct join_state *state, const struct gs_join_bound *bound, gs_bound value)
{
    gs_bound low = GS_BOUND_NONE, high = GS_BOUND_END;
    if (gs_bound_is_special(value)) return value;
    if (forward(state, bound, value) >= value) high = value; /* the column itself, mostly */
    if (high == value && forward(state, bound, value - 1) < value) return value;
    while (low < high) {
        gs_bound middle = (gs_bound)(((__int128)low + high) >> 1);
        if (forward(state, bound, middle) >= value)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- what is given ---- */

static gs_bound least_of(struct join_state *state, const struct gs_join_bound *bound)
{
    const struct gs_join_entry *least = gs_join_rows_least(&state->rows[bound->side], bound->value);
    return least == NULL ? GS_BOUND_END : gs_bound_of_held(least->value);
}

/* min(b_i, f_i^-1(f_other(b_other) - F_i)), and not above a row that is due and not out yet; of a
 * column outside of the predicate min(b_i, the least that is held). */
static gs_bound bound_of(struct join_state *state, const struct gs_join_bound *bound)
{
    const struct gs_join_rows *rows = &state->rows[bound->side];
    gs_bound held = least_of(state, bound);
    if (bound->value < rows->pair_count) {
        gs_bound limit = rows->side.is_over ? GS_BOUND_END : rows->limits[bound->value];
        held = inverse(state, bound, gs_bound_min(limit, held));
    }
    return gs_bound_min(state->op.inputs[bound->side].bounds[bound->input], held);
}

/* The greatest over the pairs of a side's column; of one that either side may fill the least, of
 * one that both do the greatest over the sides. */
static gs_bound bound_of_column(struct join_state *state, const struct gs_join_bound *bounds,
                                uint32_t count)
{
    const struct gs_join_ops *ops = gs_join_ops_of(state);
    gs_bound by_side[2] = {GS_BOUND_NONE, GS_BOUND_NONE};
    for (uint32_t at = 0; at < count; at++) {
        gs_bound *greatest = &by_side[bounds[at].side];
        *greatest = gs_bound_max(*greatest, bound_of(state, &bounds[at]));
    }
    bool is_of_either = ops->keeps[0] && ops->keeps[1];
    return is_of_either ? gs_bound_min(by_side[0], by_side[1])
                        : gs_bound_max(by_side[0], by_side[1]);
}

static uint32_t same_column(const struct gs_join_ops *ops, uint32_t from)
{
    uint32_t end = from + 1;
    while (end < ops->bound_count && ops->bounds[end].output == ops->bounds[from].output)
        end++;
    return end - from;
}

/* A row to come has a time of the one input or of the other that is to come (Li et al., VLDB 2008,
 * section 7). */
static struct gs_joint_bound joint(const struct join_state *state)
{
    const struct gs_join_ops *ops = gs_join_ops_of(state);
    gs_bound bounds[2];
    if (!ops->gives_joint) return (struct gs_joint_bound){0};
    for (uint32_t side = 0; side < 2; side++)
        bounds[side] = state->op.inputs[side].bounds[ops->joint_inputs[side]];
    return gs_joint_bound(ops->joint_outputs[0], bounds[0], ops->joint_outputs[1], bounds[1]);
}

void gs_join_promise(struct join_state *state)
{
    const struct gs_join_ops *ops = gs_join_ops_of(state);
    struct gs_punctuation *next = &state->op.next;
    for (uint32_t c = 0; c < state->op.node->schema->column_count; c++)
        next->bounds[c] = GS_BOUND_NONE;
    for (uint32_t at = 0, count; at < ops->bound_count; at += count) {
        count = same_column(ops, at);
        next->bounds[ops->bounds[at].output] = bound_of_column(state, &ops->bounds[at], count);
    }
    next->joint = joint(state);
}

/* ---- where rows are missing ---- */

/* The own values of an extent are the times of each side, pair by pair. */
static gs_bound *times_of(gs_bound *own, uint32_t side)
{
    return own + side * GS_TEMPORAL_MAX;
}

/* The last value of the column by which the expression is this at most. */
static gs_bound last_inverse(struct join_state *state, const struct gs_join_bound *bound,
                             gs_bound value)
{
    return gs_bound_add(inverse(state, bound, gs_bound_add(value, 1)), -1);
}

static gs_bound last_of(struct join_state *state, const struct gs_join_bound *bound, uint32_t port,
                        const struct gs_punctuation *last, const gs_bound *times)
{
    if (bound->side == port) return last->bounds[bound->input];
    bool is_time = bound->value < state->rows[bound->side].pair_count;
    return is_time ? last_inverse(state, bound, times[bound->value]) : GS_BOUND_NONE;
}

/* What would have met a missing row is of the other side, up to its time and its reach. */
void gs_join_extend(struct gs_operator_state *op, uint32_t port, struct gs_punctuation *last,
                    struct gs_extent *extent)
{
    struct join_state *state = (struct join_state *)op;
    const struct gs_join_ops *ops = gs_join_ops_of(state);
    gs_bound *times = times_of(extent->own, 1 - port);
    ops->times[port](last, times);
    for (uint32_t pair = 0; pair < ops->pair_count; pair++)
        times[pair] = gs_bound_add(times[pair], reach(state, pair, port));
    for (uint32_t at = 0; at < ops->bound_count; at++) {
        gs_bound *column = &extent->columns[ops->bounds[at].output];
        *column = gs_bound_max(*column, last_of(state, &ops->bounds[at], port, last, times));
    }
}

/* A row that is held leaves without what it met: only one that goes out alone is still to come. */
static gs_bound reached(struct join_state *state, uint32_t side, uint32_t pair)
{
    const struct gs_join_entry *least = NULL;
    if (gs_join_ops_of(state)->keeps[side]) least = gs_join_rows_least(&state->rows[side], pair);
    gs_bound held = least == NULL ? GS_BOUND_END : gs_bound_of_held(least->value);
    return gs_bound_min(held, state->times[side][pair]);
}

void gs_join_reach(struct gs_operator_state *op, gs_bound *own)
{
    struct join_state *state = (struct join_state *)op;
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t pair = 0; pair < gs_join_ops_of(state)->pair_count; pair++)
            times_of(own, side)[pair] = reached(state, side, pair);
}

/* ---- what is asked for ---- */

/* That the other port's time of a pair be at least this. */
static void ask_time(struct join_state *state, uint32_t port, uint32_t pair, gs_bound value)
{
    struct gs_operator_state *op = &state->op;
    gs_carry_function carry = gs_join_ops_of(state)->times[port];
    for (uint32_t c = 0; c < op->port_columns[port]; c++)
        gs_operator_ask_input(op, port, c,
                              gs_carry_back(carry, &op->inputs[port], c, pair, value, op->carried));
}

/* The least time of the other side that a row of this one does not reach. */
static gs_bound above(const struct join_state *state, uint32_t side, uint32_t pair, gs_bound time)
{
    return gs_bound_saturate((__int128)time + reach(state, pair, side) + 1);
}

/* f_i^-1(f_other(b_other) - F_i) is v at least where f_other(b_other) is above f_i(v - 1) + F_i. A
 * column outside of the predicate waits for the row that holds it. */
static void ask_for(struct join_state *state, const struct gs_join_bound *bound, gs_bound value)
{
    uint32_t side = bound->side, pair = bound->value;
    gs_bound time = GS_BOUND_NONE;
    if (pair < state->rows[side].pair_count) {
        time = forward(state, bound, value - 1);
    } else if (least_of(state, bound) < value) {
        pair = 0;
        time = gs_join_values(gs_join_rows_least(&state->rows[side], bound->value)->row)[pair];
    }
    gs_operator_ask_input(&state->op, side, bound->input, value);
    if (gs_bound_is_special(time)) return;
    ask_time(state, 1 - side, pair, above(state, side, pair, time));
}

void gs_join_on_request(struct gs_operator_state *op, uint32_t column, gs_bound value)
{
    struct join_state *state = (struct join_state *)op;
    const struct gs_join_ops *ops = gs_join_ops_of(state);
    if (value == GS_BOUND_END) return; /* it comes by itself */
    for (uint32_t at = 0; at < ops->bound_count; at++)
        if (ops->bounds[at].output == column) ask_for(state, &ops->bounds[at], value);
}

/* A kept side's row that nothing has met waits for the other side to pass its reach. */
void gs_join_on_idle(struct gs_operator_state *op)
{
    struct join_state *state = (struct join_state *)op;
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t pair = 0; pair < state->rows[side].pair_count; pair++) {
            const struct gs_join_entry *least = gs_join_rows_least(&state->rows[side], pair);
            if (!gs_join_ops_of(state)->keeps[side] || least == NULL) continue;
            if (gs_bound_is_special(least->value)) continue;
            ask_time(state, 1 - side, pair, above(state, side, pair, least->value));
        }
}

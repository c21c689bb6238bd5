/* SPDX-License-Identifier: Apache-2.0 */
/* Running aggregation (GSQL section 6.4): groups stand from window to window, until CLOSING_WHEN
 * drops them.
 *
 * Windows are an aggregation's. When one leaves, every value of the window before it that is not
 * out is one move: what stands is put out, a silent window each, unless nothing can change any
 * more. How many there are a timestamp alone says, which may lie: beyond max_silence of them the
 * others are passed over, and counted. Then what the window has of its groups enters those that
 * stand, and they are put out once more. As long as a group stands, the value behind the last one
 * that is out is still to come, and holds the bound; what is behind the last window that a row was
 * in never comes.
 *
 * Of max_groups there are as many standing, and as many in windows: else those that stand could
 * leave no room for the window that would close them. */
#include <stdlib.h>

#include "group_windows.h"

struct running_state {
    struct gs_group_operator shared; /* first */
    struct gs_group_table standing;  /* of entries that begin with struct gs_standing */
    bool is_partial;                 /* rows of what stands were refused */
    bool has_last;
    gs_bound last; /* the last value that is completely out */
    /* of the window that leaves, and of the value that is on its way out */
    bool has_begun;
    bool lacks_rows;     /* its own, whatever those before it do */
    bool has_entered;    /* its groups are among those that stand */
    bool is_quiet;       /* neither a row nor a group has gone so far */
    uint32_t cursor;     /* of what stands: what is before it has been put out */
    uint32_t silent;     /* windows since the last one that had a row */
    uint32_t has_closed; /* groups that are dropped once the value is out */
};

static const struct gs_running_ops *ops_of(const struct running_state *state)
{
    return (const struct gs_running_ops *)state->shared.shared.op.base.ops;
}

static struct gs_standing *standing_at(const struct running_state *state, uint32_t number)
{
    return (struct gs_standing *)(state->standing.entries +
                                  number * (size_t)ops_of(state)->standing_size);
}

static uint64_t word_of(uint32_t control, uint32_t number)
{
    return (uint64_t)control << 32 | number;
}

/* ---- strings of what stands ---- */

void gs_running_drop(struct gs_operator *base, struct gs_string *kept)
{
    if (kept->bytes == NULL) return;
    gs_let_go(&((struct gs_operator_state *)base)->holder, (uint64_t)kept->length + 1);
    free((void *)(uintptr_t)kept->bytes);
    *kept = (struct gs_string){NULL, 0};
}

static bool refuse(struct running_state *state, bool by_count)
{
    gs_groups_count_refused(&state->shared, by_count);
    state->is_partial = true;
    return false;
}

bool gs_running_keep(struct gs_operator *base, struct gs_string *kept, struct gs_string s)
{
    struct gs_operator_state *op = (struct gs_operator_state *)base;
    uint64_t bytes = (uint64_t)s.length + 1;
    if (!gs_hold(&op->holder, bytes)) return refuse((struct running_state *)op, false);
    uint8_t *copy = malloc(bytes);
    if (copy == NULL) {
        gs_let_go(&op->holder, bytes);
        return refuse((struct running_state *)op, false);
    }
    if (s.length > 0) memcpy(copy, s.bytes, s.length);
    gs_running_drop(base, kept);
    *kept = (struct gs_string){copy, s.length};
    return true;
}

/* ---- what stands ---- */

static uint32_t place_of(const struct running_state *state, uint32_t control, const void *entry)
{
    const struct gs_group_table *table = &state->standing;
    uint32_t at = control & table->mask;
    for (; table->index[at] != 0; at = (at + 1) & table->mask)
        if ((uint32_t)(table->index[at] >> 32) == control &&
            ops_of(state)->is_same(standing_at(state, (uint32_t)table->index[at]), entry))
            break;
    return at;
}

static void enter(struct running_state *state, uint32_t control, const void *entry)
{
    const struct gs_running_ops *ops = ops_of(state);
    struct gs_group_table *table = &state->standing;
    if (!gs_group_table_admit(&state->shared, table, ops->standing_size)) {
        refuse(state, false);
        return;
    }
    uint32_t at = place_of(state, control, entry);
    if (table->index[at] != 0) {
        ops->take(standing_at(state, (uint32_t)table->index[at]), entry);
        return;
    }
    if (table->count >= state->shared.max_groups) {
        refuse(state, true);
        return;
    }
    struct gs_standing *standing = standing_at(state, table->count);
    memset(standing, 0, ops->standing_size);
    standing->control = control;
    if (!ops->begin(&state->shared.shared.op.base, standing, entry)) return;
    table->index[at] = word_of(control, table->count++);
}

/* The groups that go on move up; the index is made anew. */
static void drop_closed(struct running_state *state)
{
    struct gs_group_table *table = &state->standing;
    size_t size = ops_of(state)->standing_size;
    uint32_t kept = 0;
    if (state->has_closed == 0) return;
    memset(table->index, 0, ((size_t)table->mask + 1) * sizeof *table->index);
    for (uint32_t number = 0; number < table->count; number++) {
        const struct gs_standing *standing = standing_at(state, number);
        if (standing->is_closed) continue;
        uint32_t at = standing->control & table->mask;
        while (table->index[at] != 0)
            at = (at + 1) & table->mask;
        table->index[at] = word_of(standing->control, kept);
        if (kept != number) memcpy(standing_at(state, kept), standing, size);
        kept++;
    }
    state->has_closed = 0;
    table->count = kept;
    gs_group_table_fit(&state->shared, table, size, kept);
}

static void drop_all(struct running_state *state)
{
    for (uint32_t number = 0; number < state->standing.count; number++)
        if (!standing_at(state, number)->is_closed)
            ops_of(state)->drop(&state->shared.shared.op.base, standing_at(state, number));
    state->has_closed = 0;
    gs_group_table_free(&state->shared, &state->standing, ops_of(state)->standing_size);
}

/* ---- a value leaves ---- */

static bool is_spent(const struct running_state *state, uint32_t budget, uint64_t sequence)
{
    return budget == 0 || state->shared.shared.op.sequence != sequence;
}

/* The window's groups enter what stands, as far as the budget reaches. */
static bool enter_all(struct running_state *state, struct gs_group_window *window, uint32_t *budget)
{
    const struct gs_group_table *table = &window->groups.table;
    size_t size = ops_of(state)->groups.entry_size;
    for (; window->cursor <= table->mask; window->cursor++) {
        uint64_t word = table->index[window->cursor];
        if (word == 0) continue;
        if (*budget == 0) return false;
        enter(state, (uint32_t)(word >> 32), table->entries + (uint32_t)word * size);
        --*budget;
    }
    return true;
}

static void put_out(struct running_state *state, struct gs_standing *standing, gs_bound value)
{
    const struct gs_running_ops *ops = ops_of(state);
    struct gs_operator *base = &state->shared.shared.op.base;
    uint32_t rows = base->output->row_count;
    uint64_t sequence = state->shared.shared.op.sequence;
    ops->move(base, standing);
    standing->is_closed = ops->groups.emit(base, standing, &value);
    if (standing->is_closed || base->output->row_count != rows ||
        state->shared.shared.op.sequence != sequence)
        state->is_quiet = false;
    if (standing->is_closed) {
        state->has_closed++;
        ops->drop(base, standing);
    } else {
        ops->rest(standing);
        ops->tell(base, standing, 1);
    }
}

/* All that stands, at a value; false where the budget ends before. */
static bool put_all_out(struct running_state *state, gs_bound value, uint32_t *budget)
{
    uint64_t sequence = state->shared.shared.op.sequence;
    if (state->cursor == 0) state->is_quiet = true;
    for (; state->cursor < state->standing.count; state->cursor++, --*budget) {
        if (is_spent(state, *budget, sequence)) return false;
        put_out(state, standing_at(state, state->cursor), value);
    }
    state->cursor = 0;
    state->last = value;
    state->has_last = true;
    drop_closed(state);
    state->is_partial &= state->standing.count > 0;
    return true;
}

/* The value behind the last one that is out. */
static gs_bound next_value(const struct running_state *state)
{
    return gs_bound_add(state->last, ops_of(state)->step);
}

/* In a silent window nothing happened, and in those behind it nothing else will. */
static bool has_settled(const struct running_state *state)
{
    return state->is_quiet && !ops_of(state)->asks_for_window &&
           state->silent >= ops_of(state)->settles_after;
}

/* The silent windows that are left before this one are not put out. */
static void pass_over(struct running_state *state, gs_bound window)
{
    uint64_t step = (uint64_t)ops_of(state)->step;
    uint64_t span = (uint64_t)window - (uint64_t)next_value(state);
    uint64_t windows = (span - 1) / step + 1;
    struct gs_operator *base = &state->shared.shared.op.base;
    base->counters.passed_over += windows;
    for (uint32_t number = 0; number < state->standing.count; number++)
        ops_of(state)->tell(base, standing_at(state, number), windows);
}

/* The silent windows before this one; false where the budget ends before. */
static bool put_silence_out(struct running_state *state, gs_bound window, uint32_t *budget)
{
    while (state->has_last && state->standing.count > 0 && next_value(state) < window) {
        if (state->silent >= ops_of(state)->max_silence) {
            pass_over(state, window);
            break;
        }
        if (!put_all_out(state, next_value(state), budget)) return false;
        if (state->silent < UINT32_MAX) state->silent++;
        if (has_settled(state)) break;
    }
    return true;
}

/* Whether the rows to come lack some; false where the batch that has been begun says otherwise. */
static bool is_in_its_batch(const struct running_state *state, struct gs_window *due)
{
    bool was_partial = due->is_partial;
    due->is_partial = state->lacks_rows || state->is_partial;
    return due->is_partial == was_partial;
}

static void begin(struct running_state *state, const struct gs_window *due)
{
    if (state->has_begun) return;
    state->has_begun = true;
    state->lacks_rows = due->is_partial;
}

static bool window_leave(struct gs_window_operator *op, struct gs_window *due, uint32_t *budget)
{
    struct running_state *state = (struct running_state *)op;
    begin(state, due);
    if (!is_in_its_batch(state, due)) return false;
    if (!state->has_entered) {
        if (!put_silence_out(state, due->values[0], budget)) return false;
        state->last = due->values[0] - 1; /* what is before it is out, or never comes */
        state->has_last = true;
        if (!is_in_its_batch(state, due)) return false;
        if (!enter_all(state, (struct gs_group_window *)due, budget)) return false;
        state->has_entered = true;
        if (!is_in_its_batch(state, due)) return false;
    }
    return put_all_out(state, due->values[0], budget);
}

static void window_clear(struct gs_window_operator *op, struct gs_window *window)
{
    struct running_state *state = (struct running_state *)op;
    state->is_partial |= state->lacks_rows;
    state->is_partial &= state->standing.count > 0;
    state->has_begun = state->has_entered = false;
    state->silent = 0;
    gs_group_window_clear(op, window);
    if (gs_operator_ended(&op->op) && op->windows.count == 1) drop_all(state);
}

/* All input has come, and no window waits: nothing more comes of what stands. */
static void end(struct gs_window_operator *op)
{
    if (op->windows.count == 0) drop_all((struct running_state *)op);
}

/* ---- bounds ---- */

static void lower(const struct running_state *state, gs_bound *bound)
{
    if (state->standing.count == 0) return;
    *bound = gs_bound_min(*bound, gs_bound_of_held(next_value(state)));
}

static void promise_output(struct gs_window_operator *op, struct gs_punctuation *values)
{
    lower((struct running_state *)op, values->bounds);
    gs_group_operator_promise_output(op, values);
}

static void reach(struct gs_operator_state *op, gs_bound *own)
{
    gs_window_operator_reach(op, own);
    lower((struct running_state *)op, own);
}

static const struct gs_window_methods window_methods = {
    .window_size = sizeof(struct gs_group_window),
    .promise_windows = gs_group_operator_promise_windows,
    .extend = gs_group_operator_extend,
    .promise_output = promise_output,
    .admit = gs_group_window_admit,
    .ask = gs_group_operator_ask,
    .end = end,
    .leave = window_leave,
    .clear = window_clear,
};

static uint64_t held(const struct gs_operator_state *op)
{
    return gs_group_operator_held(op) + ((const struct running_state *)op)->standing.count;
}

static int open_running(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                        struct gs_error *error)
{
    struct gs_group_operator *state = (struct gs_group_operator *)op;
    state->find = gs_group_window_find;
    return gs_group_operator_open(state, &window_methods, settings, error);
}

static void close_running(struct gs_operator_state *op)
{
    gs_group_operator_close((struct gs_group_operator *)op);
    drop_all((struct running_state *)op);
}

const struct gs_operator_methods gs_running_methods = {
    .name = "running",
    .state_size = sizeof(struct running_state),
    .cut_kind = GS_CUT_BY_WINDOW,
    .open = open_running,
    .on_batch = gs_group_operator_on_batch,
    .on_punctuation = gs_window_operator_on_punctuation,
    .on_request = gs_group_operator_on_request,
    .extend = gs_window_operator_extend,
    .reach = reach,
    .on_idle = gs_window_operator_on_idle,
    .step = gs_window_operator_step,
    .held = held,
    .close = close_running,
};

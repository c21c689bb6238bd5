/* SPDX-License-Identifier: Apache-2.0 */
/* An LFTA's life: open, time moves on, rows are delivered with their punctuation, close. */
#include "lfta.h"

#include <stdlib.h>

#include "../base/clocks.h"
#include "../stream/punctuation.h"
#include "../stream/window.h"
#include "gs_bounds.h"

#define FIRST_TABLES_PART 8 /* tables begin with at most this part of the budget */
#define LEAST_SLOTS 64
#define MEMBERS_BYTES (128u << 20) /* a table that several fill begins with so much */

static void bounds_at(void (*carry)(int64_t, gs_bound *), uint32_t count, int64_t timestamp_ns,
                      gs_bound *bounds)
{
    for (uint32_t k = 0; k < count; k++)
        bounds[k] = timestamp_ns == INT64_MIN ? GS_BOUND_NONE : GS_BOUND_END;
    if (timestamp_ns != INT64_MIN && timestamp_ns != INT64_MAX) carry(timestamp_ns, bounds);
}

/* Component-wise maximum; true where something grew. */
static bool raise(gs_bound *bounds, const gs_bound *to, uint32_t count)
{
    bool grew = false;
    for (uint32_t k = 0; k < count; k++)
        if (to[k] > bounds[k]) {
            bounds[k] = to[k];
            grew = true;
        }
    return grew;
}

/* The same with what a timestamp is carried to. */
static bool raise_at(gs_bound *bounds, void (*carry)(int64_t, gs_bound *), uint32_t count,
                     int64_t timestamp_ns)
{
    gs_bound to[GS_TEMPORAL_MAX];
    bounds_at(carry, count, timestamp_ns, to);
    return raise(bounds, to, count);
}

static void none(gs_bound *bounds)
{
    for (uint32_t k = 0; k < GS_TEMPORAL_MAX; k++)
        bounds[k] = GS_BOUND_NONE;
}

/* What it promises of a source's promise: its packets may be held so long on their way. */
static int64_t less_delay(const struct gs_lfta_state *lfta, int64_t promise_ns)
{
    int64_t less_ns;
    if (promise_ns == INT64_MAX) return promise_ns;
    return __builtin_sub_overflow(promise_ns, lfta->delay_ns, &less_ns) ? INT64_MIN : less_ns;
}

int64_t gs_lfta_with_delay(const struct gs_lfta_state *lfta, int64_t promise_ns)
{
    int64_t more_ns;
    return __builtin_add_overflow(promise_ns, lfta->delay_ns, &more_ns) ? INT64_MAX : more_ns;
}

/* The least timestamp at which one of `needs` grows. */
static int64_t next_change(const struct gs_lfta_state *lfta, const gs_bound *needs)
{
    int64_t low = INT64_MIN, high = INT64_MAX;
    gs_bound bounds[GS_TEMPORAL_MAX];
    if (lfta->base.ops->need_count == 0) return INT64_MAX;
    while (low < high) {
        int64_t middle = (int64_t)(((__int128)low + high) >> 1);
        bounds_at(lfta->base.ops->needs, lfta->base.ops->need_count, middle, bounds);
        bool grown = false;
        for (uint32_t k = 0; k < lfta->base.ops->need_count; k++)
            grown |= bounds[k] > needs[k];
        if (grown)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The least timestamp at which bound k has this value; INT64_MAX where there is none. */
static int64_t time_of_bound(const struct gs_lfta_ops *ops, uint32_t k, gs_bound value)
{
    int64_t low = INT64_MIN, high = INT64_MAX;
    gs_bound bounds[GS_TEMPORAL_MAX];
    while (low < high && k < ops->temporal_count && ops->bounds != NULL) {
        int64_t middle = (int64_t)(((__int128)low + high) >> 1);
        bounds_at(ops->bounds, ops->temporal_count, middle, bounds);
        if (bounds[k] >= value)
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

int64_t gs_lfta_time_of(const struct gs_lfta_ops *ops, uint32_t column, gs_bound value)
{
    uint32_t k = 0;
    while (k < ops->temporal_count && ops->temporal_columns[k] != column)
        k++;
    return time_of_bound(ops, k, value);
}

/* The least value k of the windows that are not closed yet. */
static gs_bound oldest_open(const struct gs_lfta_state *lfta, uint32_t k)
{
    gs_bound oldest = GS_BOUND_END;
    for (uint32_t w = 0; w < GS_LFTA_WINDOWS; w++) {
        const struct gs_lfta_window *window = &lfta->owner->base.table.windows[w];
        bool is_open =
            gs_lfta_groups_in(lfta, w) != 0 &&
            !gs_window_passed(window->values, lfta->promise, lfta->base.ops->temporal_count);
        if (is_open && window->values[k] < oldest) oldest = window->values[k];
    }
    return oldest;
}

int64_t gs_lfta_starves_for(const struct gs_lfta_state *lfta)
{
    const struct gs_lfta_ops *ops = lfta->base.ops;
    int64_t least = INT64_MAX;
    if (ops->kind != GS_LFTA_AGGREGATION || lfta->flush_policy == GS_FLUSH_LAZY) return least;
    for (uint32_t k = 0; k < ops->temporal_count; k++) {
        gs_bound oldest = oldest_open(lfta, k);
        int64_t closes = oldest == GS_BOUND_END ? INT64_MAX : time_of_bound(ops, k, oldest + 1);
        if (closes < least) least = closes;
    }
    return least;
}

uint64_t gs_lfta_packets(const struct gs_lfta_state *lfta)
{
    const struct gs_lfta_counters *counters = &lfta->base.counters;
    return counters->not_of_protocol + counters->prefiltered + counters->rejected +
           counters->no_value + counters->accepted;
}

uint64_t gs_lfta_groups(const struct gs_lfta_state *lfta)
{
    uint64_t count = 0;
    for (uint32_t w = 0; w < GS_LFTA_WINDOWS; w++)
        count += gs_lfta_groups_in(lfta, w);
    return count;
}

int64_t gs_lfta_promised_ns(const struct gs_lfta_state *lfta)
{
    const struct gs_lfta_ops *ops = lfta->base.ops;
    int64_t promised_ns = GS_BOUND_NONE;
    for (uint32_t k = 0; k < ops->temporal_count; k++) {
        gs_bound bound = lfta->punctuation[k];
        if (bound != GS_BOUND_NONE && bound != GS_BOUND_END)
            bound = gs_lfta_time_of(ops, ops->temporal_columns[k], bound);
        if (bound > promised_ns) promised_ns = bound;
    }
    return promised_ns;
}

/* The first step of a heartbeat's trace. */
static void trace(const struct gs_lfta_state *lfta, struct gs_batch *batch)
{
    batch->trace.step_count = 1;
    batch->trace.steps[0] = (struct gs_trace_step){
        .origin = lfta->source,
        .queue_length = lfta->queue_length,
        .received_ns = lfta->advanced_at_ns,
        .rows_in = gs_lfta_packets(lfta),
        .rows_out = lfta->rows_out,
        .held = gs_lfta_groups(lfta),
        .cost_ns = batch->made_at_ns - lfta->advanced_at_ns - lfta->away_ns,
    };
}

/* The window in which the source was heard again lacks rows, and those before it do. */
static uint64_t missing_behind(const struct gs_lfta_state *lfta)
{
    bool is_closed = gs_bounds_have_passed(lfta->punctuation, lfta->missing_last,
                                           lfta->base.ops->temporal_count);
    return is_closed ? lfta->still_missing : lfta->still_missing | lfta->missing;
}

static void stamp(struct gs_lfta_state *lfta, bool is_heartbeat)
{
    struct gs_batch *batch = lfta->base.output;
    for (uint32_t k = 0; k < lfta->base.ops->temporal_count; k++)
        batch->punctuation.bounds[lfta->base.ops->temporal_columns[k]] = lfta->punctuation[k];
    batch->sequence = lfta->sequence++;
    batch->source = lfta->source;
    bool is_shown = batch->row_count > 0 || *lfta->shows_heartbeats;
    batch->made_at_ns = is_shown ? gs_monotonic_ns() : 0;
    batch->missing = lfta->missing;
    batch->still_missing = missing_behind(lfta);
    batch->is_heartbeat = is_heartbeat;
    batch->trace.trace_id = is_heartbeat ? ++lfta->trace_id : 0;
    batch->trace.step_count = 0;
    if (is_heartbeat && lfta->advanced_at_ns != 0) trace(lfta, batch);
}

/* A batch that has just been made. */
static void push(struct gs_lfta_state *lfta)
{
    int64_t began_ns = lfta->base.output->made_at_ns;
    gs_stream_push(lfta->stream, lfta->base.output);
    if (lfta->advanced_at_ns != 0) lfta->away_ns += gs_monotonic_ns() - began_ns;
}

static void deliver(struct gs_lfta_state *lfta, bool is_heartbeat, bool is_end)
{
    if (*lfta->failed) return; /* the batch may be another's already */
    lfta->rows_out += lfta->base.output->row_count;
    stamp(lfta, is_heartbeat);
    lfta->base.output->is_end = is_end;
    lfta->missing = lfta->base.output->still_missing;
    push(lfta);
    struct gs_batch *renewed = gs_batch_renew(lfta->base.output);
    if (renewed == NULL)
        *lfta->failed = true;
    else
        lfta->base.output = renewed;
}

void gs_lfta_flush_output(struct gs_lfta_state *lfta)
{
    if (lfta->base.output->row_count > 0) deliver(lfta, false, false);
}

bool gs_lfta_room(struct gs_lfta *base, const uint32_t *string_lengths)
{
    struct gs_lfta_state *lfta = (struct gs_lfta_state *)base;
    if (!gs_batch_takes(base->output, string_lengths)) deliver(lfta, false, false);
    if (*lfta->failed) return false;
    *lfta->failed = !gs_batch_reserve(base->output, string_lengths);
    return !*lfta->failed;
}

/* Punctuation = max(previous, min(f(W), oldest window in the table)), column by column. */
static bool punctuate(struct gs_lfta_state *lfta)
{
    uint32_t count = lfta->base.ops->temporal_count;
    gs_bound bounds[GS_TEMPORAL_MAX];
    memcpy(bounds, lfta->promise, sizeof bounds);
    for (uint32_t w = 0; w < GS_LFTA_WINDOWS; w++) {
        const struct gs_lfta_window *window = &lfta->owner->base.table.windows[w];
        bool is_present = gs_lfta_groups_in(lfta, w) != 0;
        for (uint32_t k = 0; is_present && k < count; k++)
            if (window->values[k] < bounds[k]) bounds[k] = window->values[k];
    }
    return raise(lfta->punctuation, bounds, count);
}

void gs_lfta_miss(struct gs_lfta_state *lfta, uint64_t missing)
{
    lfta->still_missing = missing;
    lfta->missing |= missing;
}

/* The source is silent up to H, and of a link W may be ahead of it. */
static void extend_missing(struct gs_lfta_state *lfta)
{
    if (lfta->still_missing == 0) return;
    raise(lfta->missing_last, lfta->high, lfta->base.ops->temporal_count);
    raise(lfta->missing_last, lfta->promise, lfta->base.ops->temporal_count);
    for (uint32_t k = 0; k < lfta->base.ops->temporal_count; k++)
        lfta->missing_last[k] = gs_bound_passable(lfta->missing_last[k]);
}

/* What lacks rows is told apart from all that the end closes. */
static void end_missing(struct gs_lfta_state *lfta)
{
    gs_bound behind[GS_TEMPORAL_MAX];
    uint32_t count = lfta->base.ops->temporal_count;
    if (lfta->missing == 0 || lfta->still_missing != 0) return;
    for (uint32_t k = 0; k < count; k++)
        behind[k] = gs_bound_add(lfta->missing_last[k], 1);
    if (raise(lfta->punctuation, behind, count)) deliver(lfta, false, false);
}

static void receive_heartbeat(struct gs_lfta_state *lfta)
{
    lfta->advanced_at_ns = gs_monotonic_ns();
    lfta->away_ns = 0;
    lfta->queue_length = lfta->base.output->row_count;
}

/* Who has a table is given the time before those that fill it too. */
static void age_table(struct gs_lfta_state *lfta, bool promise_grew, bool high_grew,
                      bool is_heartbeat, bool is_end)
{
    if (lfta->owner != lfta) return;
    uint64_t groups = gs_table_groups(lfta);
    if (groups > lfta->groups_most) lfta->groups_most = groups;
    if (promise_grew) lfta->base.table.has_last_window = false; /* it may have been passed */
    gs_flush_advance(lfta, promise_grew, is_heartbeat);
    if (!is_end) gs_table_fit(lfta, groups, high_grew);
}

/* A heartbeat that nobody sees, brings no row and says nothing new need not go through them all. */
static bool is_worth_sending(const struct gs_lfta_state *lfta, enum gs_heartbeat heartbeat)
{
    if (heartbeat != GS_HEARTBEAT_HERE) return heartbeat == GS_HEARTBEAT_SENT;
    return *lfta->shows_heartbeats || lfta->base.output->row_count > 0 || lfta->missing != 0 ||
           lfta->still_missing != 0;
}

/* Where H, and W less its delay, are seen to grow next; true where W has. */
static bool notice(struct gs_lfta_state *lfta, int64_t high_ns, int64_t promise_ns)
{
    const struct gs_lfta_ops *ops = lfta->base.ops;
    bool needed = raise_at(lfta->promise_needs, ops->needs, ops->need_count, promise_ns);
    if (needed)
        lfta->next_promise_ns = gs_lfta_with_delay(lfta, next_change(lfta, lfta->promise_needs));
    if (raise_at(lfta->high_needs, ops->needs, ops->need_count, high_ns))
        lfta->next_high_ns = next_change(lfta, lfta->high_needs);
    return needed;
}

void gs_lfta_observe(struct gs_lfta_state *lfta, int64_t high_ns, int64_t promise_ns)
{
    const struct gs_lfta_ops *ops = lfta->base.ops;
    gs_bound promise[GS_TEMPORAL_MAX];
    promise_ns = less_delay(lfta, promise_ns);
    bounds_at(ops->bounds, ops->temporal_count, promise_ns, promise);
    gs_deal_promise(lfta, promise);
    (void)notice(lfta, high_ns, promise_ns);
}

static void advance(struct gs_lfta_state *lfta, int64_t high_ns, int64_t promise_ns,
                    enum gs_heartbeat heartbeat, bool is_end)
{
    bool is_heartbeat = heartbeat != GS_HEARTBEAT_NONE;
    const struct gs_lfta_ops *ops = lfta->base.ops;
    uint32_t count = ops->temporal_count;
    promise_ns = less_delay(lfta, promise_ns);
    bool promise_grew = raise_at(lfta->promise, ops->bounds, count, promise_ns);
    bool high_grew = raise_at(lfta->high, ops->bounds, count, high_ns);
    extend_missing(lfta);
    bool needed = notice(lfta, high_ns, promise_ns);
    /* another LFTA's time has moved: what this one puts out must not depend on its neighbours */
    if (!promise_grew && !high_grew && !is_heartbeat && !is_end) return;
    if (ops->kind == GS_LFTA_AGGREGATION) {
        age_table(lfta, promise_grew, high_grew, is_heartbeat, is_end);
    } else if (!needed && !is_heartbeat && !is_end) {
        return; /* no consumer would see a change */
    }
    if (is_end) {
        if (lfta->owner == lfta) gs_flush_all(lfta);
        end_missing(lfta);
    }
    if (punctuate(lfta) || is_worth_sending(lfta, heartbeat) || is_end)
        deliver(lfta, is_heartbeat, is_end);
}

void gs_lfta_advance(struct gs_lfta_state *lfta, int64_t high_ns, int64_t promise_ns,
                     enum gs_heartbeat heartbeat, bool is_end)
{
    if (heartbeat != GS_HEARTBEAT_NONE && *lfta->shows_heartbeats) receive_heartbeat(lfta);
    advance(lfta, high_ns, promise_ns, heartbeat, is_end);
    lfta->advanced_at_ns = 0;
}

void gs_lfta_count_rows(struct gs_lfta_state *lfta)
{
    const struct gs_lfta_ops *ops = lfta->base.ops;
    if (ops->row_unit == 0) return;
    uint32_t k = ops->row_variable;
    gs_bound bound = (gs_bound)(lfta->base.tuple_count / ops->row_unit);
    if (bound <= lfta->promise[k]) return;
    lfta->promise[k] = lfta->high[k] = bound;
    if (ops->kind == GS_LFTA_AGGREGATION) gs_flush_advance(lfta, true, false);
    if (punctuate(lfta)) deliver(lfta, false, false);
}

void gs_lfta_idle(struct gs_lfta_state *lfta)
{
    if (lfta->flush_policy == GS_FLUSH_SLOW && lfta->base.ops->slow_flush == 0) {
        uint32_t oldest;
        while ((oldest = gs_table_oldest(lfta->owner, true)) != GS_LFTA_WINDOWS)
            gs_flush_window(lfta->owner, oldest);
        /* also where collisions and drips had emptied the oldest window: no rows carry it */
        if (punctuate(lfta)) deliver(lfta, false, false);
    }
    gs_lfta_flush_output(lfta);
}

void gs_lfta_answer(struct gs_lfta_state *lfta)
{
    if (lfta->base.ops->kind == GS_LFTA_AGGREGATION) gs_flush_closed(lfta);
    if (punctuate(lfta)) deliver(lfta, false, false);
    gs_lfta_flush_output(lfta);
}

static uint32_t power_of_two(uint64_t wanted)
{
    uint32_t count = 1;
    while (count < wanted && count < (1u << 30))
        count *= 2;
    return count;
}

/* As many as the settings say, but all tables together begin with a part of the budget. */
static uint32_t default_slots(const struct gs_lfta_state *lfta,
                              const struct gs_lfta_settings *settings)
{
    uint32_t slots = power_of_two(settings->default_slot_count);
    if (settings->memory == NULL) return slots;
    uint64_t share =
        gs_memory_limit(settings->memory) / FIRST_TABLES_PART / (settings->table_count + 1);
    if (lfta->base.ops->member != NULL && share > MEMBERS_BYTES) share = MEMBERS_BYTES;
    while (slots > LEAST_SLOTS && gs_table_bytes(lfta, slots) > share)
        slots /= 2;
    return slots;
}

int gs_lfta_open(struct gs_lfta_state *lfta, const struct gs_node *node,
                 const struct gs_lfta_settings *settings, const struct gs_host *host,
                 void *const *handles, struct gs_stream *stream, uint32_t source,
                 struct gs_error *error)
{
    const struct gs_lfta_ops *ops = node->ops;
    memset(lfta, 0, sizeof *lfta);
    lfta->owner = lfta;
    lfta->base.ops = ops;
    lfta->base.host = host;
    lfta->base.handles = handles;
    lfta->base.watchlists = settings->watchlists;
    lfta->stream = stream;
    lfta->source = source;
    lfta->failed = settings->failed;
    lfta->shows_heartbeats = settings->shows_heartbeats;
    lfta->holder.memory = settings->memory;
    lfta->flush_policy =
        settings->flush_policy >= 0 ? (uint32_t)settings->flush_policy : ops->flush_policy;
    none(lfta->high), none(lfta->promise), none(lfta->punctuation);
    none(lfta->high_needs), none(lfta->promise_needs);
    none(lfta->heartbeat_high), none(lfta->heartbeat_promise), none(lfta->missing_last);
    lfta->pace = lfta->flush_policy == GS_FLUSH_SLOW && ops->slow_flush > 0 ? ops->slow_flush : 1;
    lfta->countdown = UINT64_MAX;
    lfta->next_high_ns = next_change(lfta, lfta->high_needs);
    lfta->next_promise_ns = next_change(lfta, lfta->promise_needs);
    memcpy(lfta->base.table.hash_key, settings->hash_key, sizeof lfta->base.table.hash_key);
    lfta->base.table.leaves_in_order =
        lfta->flush_policy == GS_FLUSH_IMMEDIATE || lfta->flush_policy == GS_FLUSH_SLOW_INORDER;
    lfta->base.table.until_drip = UINT64_MAX;
    lfta->base.output =
        gs_batch_new(node->schema, gs_batch_rows(node->schema, settings->batch_rows));
    if (lfta->base.output == NULL) return gs_fail(error, GS_ERROR, "no memory for a batch");
    if (ops->filter != NULL)
        GS_RETURN_IF_ERROR(
            gs_join_filter_open(ops->filter, &lfta->holder, &lfta->base.filter, error));
    if (ops->kind != GS_LFTA_AGGREGATION) return GS_OK;
    if (ops->member != NULL && ops->member->owner != ops) return GS_OK; /* it is another's */
    uint64_t wanted = settings->slot_count > 0 ? (uint64_t)settings->slot_count : ops->slot_count;
    if (wanted > 0) return gs_table_open(lfta, power_of_two(wanted), error);
    lfta->growth.is_wanted = true;
    lfta->growth.may_shrink = ops->is_adaptive;
    return gs_table_open(lfta, default_slots(lfta, settings), error);
}

void gs_lfta_close(struct gs_lfta_state *lfta)
{
    gs_batch_release(lfta->base.output);
    gs_join_filter_close(lfta->base.filter, &lfta->holder);
    gs_deal_close(lfta);
    if (lfta->owner == lfta) free(lfta->base.members);
    gs_table_close(lfta);
}

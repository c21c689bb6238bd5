/* SPDX-License-Identifier: Apache-2.0 */
/* One LFTA on one interface: what generated code sees (struct gs_lfta) and what the engine adds:
 * the windows' policy, the punctuation, the stream that it feeds. */
#ifndef GS_LFTA_H
#define GS_LFTA_H

#include "../arrow/batch.h"
#include "../base/memory.h"
#include "../stream/parcels.h"
#include "../stream/stream.h"
#include "join_filter.h"
#include "gs_members.h"

enum gs_heartbeat {
    GS_HEARTBEAT_NONE = 0,
    GS_HEARTBEAT_HERE, /* the timer has fired; who takes rows is told where it brings something */
    GS_HEARTBEAT_SENT  /* and is told in any case: rows that wait above go on with it */
};

struct gs_lfta_settings {
    uint32_t default_slot_count;
    const struct gs_watchlist *const *watchlists;
    int32_t flush_policy; /* enum gs_flush_policy, -1: what the query says */
    int64_t slot_count;   /* overrides the query's, 0: no */
    uint32_t batch_rows;
    const uint64_t *hash_key;
    uint32_t table_count; /* tables that share the memory; before: sets that do */
    struct gs_memory *memory;
    bool *failed;
    const bool *shows_heartbeats; /* somebody sees what they cost on their way */
    struct gs_exchange *exchange; /* with others that have part of the groups; or NULL */
    uint32_t part;
};

/* Whether a table that is too small has its say (table_growth.c): what was counted when it was last
 * looked at, and what the last growth was for. */
struct gs_table_growth {
    bool is_wanted;    /* nobody has said how many slots there are to be */
    uint64_t occupied; /* empty slots that a group has taken */
    uint64_t accepted_before, evicted_before, occupied_before;
    double entered_part;  /* groups for each accepted packet, before it grew; 0: it has not */
    bool may_shrink;      /* the query says so */
    uint64_t groups_most; /* at once, in the windows since it was last looked at for that */
    uint32_t windows;
};

struct gs_lfta_state {
    struct gs_lfta base;         /* first: generated code is given a pointer to it */
    struct gs_lfta_state *owner; /* who has its table: itself, or another that fills it too */
    struct gs_stream *stream;
    uint32_t source; /* for batch->source: the number of nodes + its port */
    uint32_t flush_policy;
    uint64_t sequence;
    void *slots_memory;
    size_t slots_bytes;
    uint64_t *bitmap_memory;
    struct gs_holder holder; /* of the table */
    struct gs_table_growth growth;
    gs_bound high[GS_TEMPORAL_MAX];        /* f(H) */
    gs_bound promise[GS_TEMPORAL_MAX];     /* f(W) */
    gs_bound punctuation[GS_TEMPORAL_MAX]; /* given out */
    gs_bound high_needs[GS_TEMPORAL_MAX];  /* the consumers' view of H and W */
    gs_bound promise_needs[GS_TEMPORAL_MAX];
    int64_t next_high_ns; /* the least H, and W, at which they grow in a consumer's eyes */
    int64_t next_promise_ns;
    int64_t delay_ns; /* its packets may be held so long: it promises as much less than W */
    gs_bound step_limit[GS_LFTA_WINDOWS][GS_TEMPORAL_MAX]; /* current at which the m check acts */
    gs_bound heartbeat_high[GS_TEMPORAL_MAX]; /* f(H) and f(W) as the last heartbeat found them */
    gs_bound heartbeat_promise[GS_TEMPORAL_MAX];
    uint64_t accepted_at_heartbeat;
    uint64_t accepted_last_period;
    bool is_hurried; /* its packets wait for nobody: a file that is read as fast as can be */
    uint64_t old_groups;
    uint64_t pace;      /* accepted packets for each old group that leaves */
    uint64_t counted;   /* towards the next one, when the countdown was set */
    uint64_t countdown; /* what it was set to */
    uint64_t trace_id;
    const bool *shows_heartbeats;
    int64_t advanced_at_ns, away_ns; /* of a heartbeat on its way: as an operator has them */
    uint32_t queue_length;
    uint64_t missing, still_missing; /* for the next batch, and what is so of the source now */
    gs_bound missing_last[GS_TEMPORAL_MAX]; /* the greatest of f(H) and f(W) when it was so */
    uint64_t rows_out;                      /* delivered */
    uint64_t groups_most; /* at once in the table as large as it is, where time moved on */
    bool *failed;         /* no memory for a batch: of the graph, for which all is over then */
    struct gs_dealing *dealing; /* deal.c: where engines exchange rows; or NULL */
};

/* Its table is opened by gs_lfta_join where `node` says that it fills another's. */
int gs_lfta_open(struct gs_lfta_state *lfta, const struct gs_node *node,
                 const struct gs_lfta_settings *settings, const struct gs_host *host,
                 void *const *handles, struct gs_stream *stream, uint32_t source,
                 struct gs_error *error);
/* members.c: tables that several fill. It gets the one that `owner` has; its own, where it is that.
 */
int gs_lfta_join(struct gs_lfta_state *lfta, struct gs_lfta_state *owner, struct gs_error *error);
/* Groups of a window that are there for it. */
uint32_t gs_lfta_groups_in(const struct gs_lfta_state *lfta, uint32_t window);
/* Slots of its table in which a group may lie. */
uint32_t gs_lfta_ways(const struct gs_lfta_state *lfta);
/* Of all that fill its table. */
uint64_t gs_table_groups(const struct gs_lfta_state *lfta);
/* What its table has counted: packets that have met it, groups that left by collision. */
uint64_t gs_table_accepted(const struct gs_lfta_state *lfta);
uint64_t gs_table_evicted(const struct gs_lfta_state *lfta);

/* The least timestamp that carries this bound, or a greater one, to a temporal column of what an
 * LFTA puts out; INT64_MAX where none does, or nothing is known of the LFTA here. */
int64_t gs_lfta_time_of(const struct gs_lfta_ops *ops, uint32_t column, gs_bound value);
/* What its source has to promise for it to promise as much. */
int64_t gs_lfta_with_delay(const struct gs_lfta_state *lfta, int64_t promise_ns);
/* The least packet time that closes one of its windows, whose groups then leave; INT64_MAX: it has
 * none, or by its policy they do not leave then. */
int64_t gs_lfta_starves_for(const struct gs_lfta_state *lfta);
/* It was asked for what its source has promised already: what is closed leaves first, whatever the
 * policy, then it says so. */
void gs_lfta_answer(struct gs_lfta_state *lfta);
void gs_lfta_close(struct gs_lfta_state *lfta);

/* Time has moved to H and W, or the timer has fired (OPERATORS section 3: W advances; windows
 * become old; the flush policy acts; punctuation). At the end everything leaves. */
void gs_lfta_advance(struct gs_lfta_state *lfta, int64_t high_ns, int64_t promise_ns,
                     enum gs_heartbeat heartbeat, bool is_end);
/* Time has moved where its packets are read, whose rows others have: none of its own is over yet.
 */
void gs_lfta_observe(struct gs_lfta_state *lfta, int64_t high_ns, int64_t promise_ns);
/* Whose rows are missing from now on, as batch->missing has them. */
void gs_lfta_miss(struct gs_lfta_state *lfta, uint64_t missing);
/* A burst has been counted: windows of rows that are complete are over at once. */
void gs_lfta_count_rows(struct gs_lfta_state *lfta);
/* The source is idle: old groups need not wait for packets, rows not for a full batch. */
void gs_lfta_idle(struct gs_lfta_state *lfta);
/* Rows gathered so far go to the consumers. */
void gs_lfta_flush_output(struct gs_lfta_state *lfta);
/* Packets that it was given, and groups that are in its table. */
uint64_t gs_lfta_packets(const struct gs_lfta_state *lfta);
uint64_t gs_lfta_groups(const struct gs_lfta_state *lfta);
/* The packet time below which it puts out nothing more; GS_BOUND_NONE, GS_BOUND_END. */
int64_t gs_lfta_promised_ns(const struct gs_lfta_state *lfta);

/* flush.c: the four policies. */
/* The number of old groups has changed from or to none, or the pace has: set the countdown. */
void gs_flush_set_countdown(struct gs_lfta_state *lfta);
void gs_flush_advance(struct gs_lfta_state *lfta, bool promise_grew, bool is_heartbeat);
void gs_flush_drip(struct gs_lfta *lfta);
/* Every window leaves, oldest first. */
void gs_flush_all(struct gs_lfta_state *lfta);
/* Every window that the promise has passed leaves, of a table that may be another's. */
void gs_flush_closed(struct gs_lfta_state *lfta);
void gs_flush_window(struct gs_lfta_state *lfta, uint32_t window);

/* deal.c: rows for others, behind them how far time has come, where it deals at all. */
int gs_deal_open(struct gs_lfta_state *lfta, const struct gs_lfta_settings *settings,
                 uint32_t number, struct gs_error *error);
void gs_deal_close(struct gs_lfta_state *lfta);
/* What f(W) is where packets are read. */
void gs_deal_promise(struct gs_lfta_state *lfta, const gs_bound *promise);
/* Rows that the lanes have for others. */
uint64_t gs_deal_waiting(const struct gs_lfta_state *lfta);
/* What the lanes have is on its way; without memory the run has failed. */
void gs_deal_send(struct gs_lfta_state *lfta);
bool gs_deal_lanes(struct gs_lfta *lfta, void *rows);
bool gs_deal_has_window(struct gs_lfta *lfta, const gs_bound *values);

/* table.c: what generated code calls. */
uint32_t gs_table_window(struct gs_lfta *lfta, const gs_bound *values);
void gs_table_occupy(struct gs_lfta *lfta, uint32_t slot, uint32_t window);
void gs_table_evict(struct gs_lfta *lfta, uint32_t slot, uint32_t window);
bool gs_lfta_room(struct gs_lfta *lfta, const uint32_t *string_lengths);
int gs_table_open(struct gs_lfta_state *lfta, uint32_t slot_count, struct gs_error *error);
void gs_table_close(struct gs_lfta_state *lfta);
/* Bytes of a table with so many slots. */
uint64_t gs_table_bytes(const struct gs_lfta_state *lfta, uint32_t slot_count);
/* Another size, for which all groups leave; false, and as it was, where memory or budget do not
 * allow it. */
bool gs_table_resize(struct gs_lfta_state *lfta, uint32_t slot_count);
/* The system gives it its pages now, and not while packets wait. */
void gs_table_populate(const struct gs_lfta_state *lfta);
/* table_growth.c, between bursts; `groups` are in the table, and a window has ended or not. */
void gs_table_fit(struct gs_lfta_state *lfta, uint64_t groups, bool window_ended);
/* A group leaves: its row is put out, its slot is free. */
void gs_table_leave(struct gs_lfta_state *lfta, uint32_t window, uint32_t slot);
/* Lowest window present, by its values in order; GS_LFTA_WINDOWS where there is none.
 * `only_old` looks at old ones alone. */
uint32_t gs_table_oldest(const struct gs_lfta_state *lfta, bool only_old);
/* Window a of the list is below window b. */
bool gs_table_is_before(const struct gs_lfta_state *lfta, uint32_t a, uint32_t b);

#endif

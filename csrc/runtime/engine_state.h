/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's state, private to runtime/: a reader (sources, interfaces, filters, clocks) and the
 * query sets attached to it. engine.c runs it, engine_sets.c attaches, engine_time.c moves its
 * time, engine_statistics.c tells of it. */
#ifndef GS_RUNTIME_ENGINE_STATE_H
#define GS_RUNTIME_ENGINE_STATE_H

#include "../base/stages.h"
#include "attached_set.h"
#include "sampling.h"
#include "source.h"

struct gs_interface {
    char *name;
    int64_t high_ns, promise_ns;           /* H and W: the least of its sources' */
    int64_t next_high_ns, next_promise_ns; /* where a consumer sees them grow */
    /* the least of its sources that are still to come */
    int64_t coming_high_ns, coming_promise_ns;
    uint32_t coming_count;
    int64_t heartbeat_at_ns;    /* H at which the timer fires */
    bool spares_heartbeats;     /* nobody minds that one is late: */
    uint64_t heartbeat_records; /* so many have been read, too, when it fires */
    uint64_t records_to_heartbeat;
    int64_t wanted_ns;      /* by somebody outside; GS_BOUND_NONE: nothing */
    bool is_live;           /* one of its sources is: the timer runs by the clock */
    bool timer_has_fired;   /* and the LFTAs are to be told */
    int64_t timer_at_ns;    /* monotonic time of the next heartbeat */
    uint32_t missing_count; /* of its sources, that have failed and do not hold others back */
    bool is_ended;
};

struct gs_engine {
    struct gs_engine_settings settings;
    struct gs_attached_set **sets;
    uint32_t set_count;
    enum gs_depth depth; /* the deepest of theirs */
    bool holds;          /* one of them holds packets, each for its time */
    bool takes_frames;   /* one LFTA alone sees packets, and decodes them itself (gs_plain.h) */
    bool walks;          /* it walks over records, too (gs_walk.h) */
    bool is_by_time; /* one of them puts packets together: files come by time, packet by packet */
    struct gs_interface *interfaces;
    uint32_t interface_count;
    struct gs_source **sources;
    uint32_t source_count;
    /* Of thousands of files few are open: only these are looked at for each burst. */
    struct gs_source **running; /* open, or waiting to be; not ended */
    uint32_t running_count;
    struct gs_source *coming; /* the one that is to be opened next, or NULL */
    uint32_t bursts_unlooked; /* since sources that wait were looked at */
    struct gs_filter filters[GS_FILTER_MAX];
    uint32_t filter_count;
    struct gs_sampling sampling;
    struct gs_stages stages;
    uint64_t records;        /* read until now, of all sources */
    int64_t replay_until_ns; /* INT64_MAX: as fast as it goes */
    bool is_started, is_stopping, is_stopped;
    int waker;        /* run returns where it can be read; -1: there is none */
    int64_t now_ns;   /* monotonic, when the last burst began; where there is a waker */
    int64_t until_ns; /* run returns then, and it looks at the waker at the next */
    int64_t look_at_ns;
    uint32_t alarm_percent; /* run returns, too, where a ring is as full, or has dropped; 0: no */
    uint64_t alarm_dropped; /* as of the last look */
    bool watches;           /* some of the sources have a liveness */
    bool has_set_clock;     /* tests: the clock stands */
    struct gs_clock_reading set_clock;
};

/* engine_sources.c: which sources run and which are to come, after one was opened or has ended. */
void gs_engine_arrange(struct gs_engine *engine);
/* The source to read from next; NULL: all wait. */
struct gs_source *gs_engine_next_source(const struct gs_engine *engine);
/* Files that wanted room may have it now. */
void gs_engine_look_for_room(struct gs_engine *engine);
/* Up to which timestamp no other file is due to be opened. */
int64_t gs_engine_until_coming(const struct gs_engine *engine);
/* Where packets are put together: up to which timestamp this one stays the next of the files, so
 * that which packet comes behind which does not depend on where bursts end. */
int64_t gs_engine_until_another(const struct gs_engine *engine, const struct gs_source *source);
/* Opens and reads ahead. GS_AGAIN: it waits, or has ended. */
int gs_engine_make_ready(struct gs_engine *engine, struct gs_source *source,
                         struct gs_error *error);
/* Those that wait are looked at, without waiting. GS_OK where one has spoken or ended. */
int gs_engine_look_at_waiting(struct gs_engine *engine, struct gs_error *error);

/* engine_bursts.c: a burst of the source's packets, at most as many records as are `left` of a
 * budget; how many it was. */
uint64_t gs_engine_run_source(struct gs_engine *engine, struct gs_source *source, uint64_t left);
/* The same of records of which no packets are made, up to where something happens: how many they
 * were, and none where time had to advance. False: it is for the other way. */
bool gs_engine_run_frames(struct gs_engine *engine, struct gs_source *source, uint64_t left,
                          uint64_t *records);

/* engine_sets.c: a set is there no more. */
void gs_engine_remove(struct gs_engine *engine, struct gs_attached_set *set);
/* Sets that are answered while others are not have their end; where all are, the input has. */
void gs_engine_end_answered(struct gs_engine *engine);

/* engine_time.c: H and W of an interface are looked at again, its LFTAs are told of their growth
 * and of the timer, and the next H and W that matter are found. */
void gs_engine_advance(struct gs_engine *engine, uint32_t interface);
/* The same where H or W has come to where they matter to a set: the others are not told, since
 * what a set answers must not depend on its neighbours. */
void gs_engine_advance_due(struct gs_engine *engine, uint32_t interface);
/* Tables of live links get their pages before packets come (engine_sets.c). */
void gs_engine_populate(const struct gs_engine *engine, const struct gs_attached_set *set);
/* A set that comes later is told how far its interfaces are. */
void gs_engine_begin_set(const struct gs_engine *engine, struct gs_attached_set *set);
/* One that is to go is told of those that have not ended. */
void gs_engine_tell_set(const struct gs_engine *engine, struct gs_attached_set *set);
/* What H and W of an interface are at this moment; nothing where it is not heard. */
void gs_engine_time_of(const struct gs_engine *engine, uint32_t interface, int64_t *high_ns,
                       int64_t *promise_ns);
/* The next H and W at which an LFTA of the interface, of any set, must be told. */
void gs_engine_find_next_changes(struct gs_engine *engine, uint32_t interface);
/* How many records are still to be read before the timer fires, whatever H is; 0: it may. */
uint64_t gs_engine_heartbeat_spared_for(const struct gs_engine *engine,
                                        const struct gs_interface *interface);

/* engine_requests.c: the sources of an interface are asked to come so far. */
void gs_engine_ask(struct gs_engine *engine, uint32_t interface, int64_t timestamp_ns);
/* Nothing comes of some sources: who waits for their time asks for it, and they answer. True where
 * that was of use. */
bool gs_engine_serve_requests(struct gs_engine *engine);
/* Monotonic time at which one of them can answer what it was asked, as things are; INT64_MAX:
 * never. */
int64_t gs_engine_answers_at(const struct gs_engine *engine);

/* engine_liveness.c: those that have a liveness are watched from now on; those that have failed are
 * found; one of them is heard. */
void gs_engine_watch(struct gs_engine *engine);
void gs_engine_look_for_failures(struct gs_engine *engine);
void gs_engine_hear(struct gs_engine *engine, struct gs_source *source);

/* engine_live.c: what goes by the clock, which a test may have set. Timers that are due fire. */
struct gs_clock_reading gs_engine_now(const struct gs_engine *engine);
void gs_engine_tick(struct gs_engine *engine);
/* For who is asked things meanwhile: a call of run begins; whether it is to return, though sources
 * never wait. The waker is looked at some times a second: between two bursts it costs nothing. */
void gs_engine_begin_turn(struct gs_engine *engine, int timeout_ms);
bool gs_engine_is_awaited(struct gs_engine *engine);
/* The wait until a source that waits may have something, at most as long as the next timer lets.
 * False: nothing has come, or a signal, or there is something for the waker. */
bool gs_engine_wait(struct gs_engine *engine, int timeout_ms);

#endif

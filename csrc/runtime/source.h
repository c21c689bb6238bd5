/* SPDX-License-Identifier: Apache-2.0 */
/* A source on its way through the engine: the capture behind it, the records read ahead, its time
 * and its counters. */
#ifndef GS_RUNTIME_SOURCE_H
#define GS_RUNTIME_SOURCE_H

#include "../capture/capture.h"
#include "../capture/clock.h"
#include "../capture/source_time.h"
#include "../gigastream.h"
#include "../stream/request.h"
#include "gs_query_set.h"

#define GS_FILTER_MAX 32

struct gs_filter {
    uint32_t link_type;
    gs_filter_function function;
    const void *program;
};

/* What `program` is: libpcap's struct bpf_program, whose instructions are the kernel's. */
struct gs_filter_program {
    unsigned length;
    const struct sock_filter *instructions;
};

struct gs_source {
    char *label, *path;
    struct gs_capture_config config;
    int (*open)(void *context, struct gs_opened *opened, struct gs_error *error);
    void (*close)(void *context);
    void *context;
    enum gs_timestamps timestamps;
    int64_t greatest_ns;        /* timestamp of its tuples so far; INT64_MIN: none */
    int64_t first_ns;           /* before it is open, what its next timestamp is taken to be */
    struct gs_live_config live; /* of a live link */
    struct gs_clock clock;      /* of it, and the next ones */
    int64_t believed_ns;        /* at the last reading */
    int64_t read_at_ns;         /* monotonic time of that */
    int64_t empty_at_ns;        /* monotonic: when a heartbeat found nothing unread */
    int64_t carries_until_ns;   /* monotonic: what a step back has done is seen until then */
    int64_t rose_at_ns;         /* monotonic: when what raised H was read; INT64_MIN: nothing has */
    bool is_ahead;              /* packets of the last burst were */
    const struct gs_capture_ops *ops;
    struct gs_capture *capture;
    uint32_t interface; /* ordinal of the Gigastream interface */
    struct gs_string interface_name;
    struct gs_source_time time;
    bool is_open, is_ended, is_damaged, is_waiting, is_observed;
    int64_t liveness_ns; /* engine_liveness.c, with the next ones */
    uint32_t on_failure;
    int64_t heard_at_ns;  /* monotonic: when something was last heard of it, or it was begun with */
    uint64_t read_before; /* records read by then */
    bool is_failed;
    bool is_pipe;    /* others need not wait while it is silent; for a decompressor they do */
    bool wants_room; /* to be opened: too many files are */
    enum gs_timeliness timeliness; /* of the packet at the cursor, if is_observed */
    int64_t before_observed_ns;    /* then: the timestamp of the record before it */
    uint32_t cursor, filled;
    struct gs_packet *packets; /* GS_BURST_CAPACITY, while it is open */
    uint32_t fill_most;        /* that are read ahead by the next fill */
    struct gs_string *names;   /* by packet->interface */
    uint32_t name_count;
    bool is_ethernet;                       /* what was read ahead is of one link, of Ethernet */
    uint64_t section;                       /* of the capture, that they are of */
    struct gs_wanted wanted, wanted_before; /* packet time that is asked of it */
    struct gs_source_statistics statistics;
    struct gs_capture_stats last_stats; /* once it is closed */
    char *message;                      /* of the damage, or NULL */
};

static inline bool gs_source_is_live(const struct gs_source *source)
{
    return source->config.live != NULL;
}

/* The clock says something of its time. */
static inline bool gs_source_has_clock(const struct gs_source *source)
{
    return gs_source_is_live(source) || source->timestamps != GS_TIMESTAMPS_EXTERNAL;
}

int gs_source_init(struct gs_source *source, const struct gs_source_config *config,
                   const struct gs_engine_settings *settings, struct gs_error *error);

/* Not yet read, it has come as far as it promises: what comes below that is late. */
void gs_source_promise(struct gs_source *source, int64_t promise_ns);
/* GS_AGAIN: it cannot be yet (is_waiting, wants_room). GS_END: of what is divided others have read
 * all. */
int gs_source_open(struct gs_source *source, struct gs_error *error);
/* It wants_room, and others that divide the files have made some, or have opened it. */
bool gs_source_has_room(const struct gs_source *source);
/* The same, where nothing else of this reader's is open: after a moment. */
bool gs_source_await_room(const struct gs_source *source);
/* Reads ahead where nothing is left; GS_OK, GS_AGAIN, GS_END (or ended by damage) or GS_ERROR. */
int gs_source_fill(struct gs_source *source, int timeout_ms, struct gs_error *error);
/* Whether it would give a record without waiting, as far as that is known without a system call. */
bool gs_source_is_ready(const struct gs_source *source);
/* Holds what a live link has just given to the clock as it is now: a timestamp that is ahead of it
 * by more than max_skew is replaced. */
void gs_source_hold(struct gs_source *source, struct gs_clock_reading reading);
/* None of a run of its packets is ahead, by the reading that followed when they were handed over:
 * of those that have just been read without a clock, too. */
bool gs_source_holds(const struct gs_source *source, const struct gs_frame_run *run);
/* A packet below W is none that lost its way if the clock had just stepped: W carries it along. */
void gs_source_carry(struct gs_source *source, struct gs_packet *packet);
/* The timer of a live link, when it has been looked at again: time passes on it where all that has
 * come was read by the time of the reading. */
void gs_source_heartbeat(struct gs_source *source, struct gs_clock_reading reading);
/* What has just been read gets the time of this host's clock, in the order in which it came. */
void gs_source_stamp(struct gs_source *source, struct gs_clock_reading reading);
/* Time passes by the clock alone, of packets that have no time but the clock's: not beyond those
 * that have it and have not been taken yet. */
void gs_source_pass(struct gs_source *source, struct gs_clock_reading reading);
/* The least W that may be promised at this reading, which was taken before: nothing has come that
 * is not read, and what comes from now on is no further back than packets ever are. GS_BOUND_NONE:
 * nothing is known. */
int64_t gs_source_answer(struct gs_source *source, struct gs_clock_reading reading);
/* Monotonic time at which it can answer what is wanted of it, as things are; INT64_MAX: never. */
int64_t gs_source_answers_at(const struct gs_source *source);
/* Monotonic time at which the clock will have come to a timestamp, as it went at its last reading;
 * INT64_MAX: that is not known. */
int64_t gs_source_reaches(const struct gs_source *source, int64_t timestamp_ns);
/* A live link goes on with another ring, between two bursts (gs_engine_renew). */
int gs_source_renew(struct gs_source *source, int socket, struct gs_error *error);
/* No more input; a live link then ends when what the kernel has captured is read. */
void gs_source_finish(struct gs_source *source);
/* No more input, and what the kernel has captured of a live link stays unread: it is counted. */
void gs_source_halt(struct gs_source *source);
/* What says by poll(2) that a source that waits may have something; -1: nothing does. */
int gs_source_descriptor(const struct gs_source *source);
/* Timestamp of the next record, or what is promised of it. */
int64_t gs_source_next_timestamp(const struct gs_source *source);
/* How far behind the clock the last packet of a live link is, while more of them wait; else 0. */
int64_t gs_source_lag(const struct gs_source *source, struct gs_clock_reading reading);
void gs_source_statistics(const struct gs_source *source, struct gs_source_statistics *statistics);
void gs_source_close(struct gs_source *source);

/* What ends a burst before it is full. */
struct gs_burst_limits {
    int64_t high_ns;    /* H reaching it */
    int64_t promise_ns; /* W reaching it */
    int64_t until_ns;   /* a later record waits: for the wall clock in a replay, or for others */
    uint64_t packets;   /* records until a heartbeat is due */
    uint32_t burst;     /* packets */
    const struct gs_filter *filters;
    uint32_t filter_count;
};

/* Takes records until a limit, dropping and counting what is no tuple; the packets taken lie from
 * *first on. True where H or W has reached its limit: time must advance before the next record. */
bool gs_source_take(struct gs_source *source, const struct gs_burst_limits *limits, uint32_t *first,
                    uint32_t *count, uint64_t *records);
/* Takes records of which nothing is read ahead, and makes no packets of them: a struct gs_frame
 * each lies in source->packets. How many; 0: gs_source_fill has to be asked. For sources whose
 * capture can be looked into (gs_capture_ops.peek), and which have no clock but a link's. */
uint32_t gs_source_take_frames(struct gs_source *source, const struct gs_burst_limits *limits);
/* Sets out on a walk over such records, of a source whose W moves by blocks alone and that no other
 * time ends; false: their frames have to be taken. Behind it they are taken as by
 * gs_source_take_frames. */
bool gs_source_begin_walk(const struct gs_source *source, const struct gs_burst_limits *limits,
                          struct gs_walk *walk);
uint32_t gs_source_end_walk(struct gs_source *source, const struct gs_burst_limits *limits,
                            struct gs_walk *walk);
/* Those without a clock: true where H or W reaches its limit by the next record, which is taken
 * notice of and not taken: time must advance before it. */
bool gs_source_next_reaches(struct gs_source *source, const struct gs_burst_limits *limits);

#endif

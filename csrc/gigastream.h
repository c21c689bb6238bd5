/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's boundary: what a host program (here: Python through cffi) sees of it. Every function
 * that can fail returns enum gs_status and fills `error`. One engine, with the sets that are
 * attached to it, is used by one thread at a time. */
#ifndef GIGASTREAM_H
#define GIGASTREAM_H

#include "arrow/exchange.h"
#include "arrow/host_map.h"
#include "base/account.h"
#include "capture/extents.h"
#include "capture/link_types.h"
#include "capture/live.h"
#include "capture/mock_ring.h"
#include "capture/scan.h"
#include "output/rows.h"
#include "output/text.h"
#include "process/confinement.h"
#include "process/privileges.h"
#include "stream/exchange.h"
#include "stream/request.h"

struct gs_engine;
struct gs_attached_set;
struct gs_part_order;
struct sock_filter;

/* How an engine reads its sources. */
struct gs_engine_settings {
    uint32_t burst;          /* packets, 1 to 256 */
    uint64_t disorder_bytes; /* of a capture file, 0: all of it */
    int64_t slack_ns;        /* of a pipe; of a file too if file_by_slack */
    bool file_by_slack;
    int64_t heartbeat_ns;            /* of capture time, 0: none */
    uint64_t heartbeat_packets;      /* 0: none */
    bool is_on_demand;               /* operators that wait ask live links for time */
    bool is_resident;                /* goes on reading when all its query sets are answered */
    uint64_t hash_key[2];            /* of flows (gs_engine_sample) */
    struct gs_link_types link_types; /* of its files */
    bool fast_path; /* generated code may decode packets itself, where it alone sees them */
};

/* How a query set is answered. */
struct gs_attached_settings {
    uint32_t batch_rows;         /* rows of a batch, at least 1 */
    uint32_t default_slot_count; /* LFTA table, where the query says nothing */
    uint32_t set_count;          /* sets like it, whose tables have the budget together; 0: one */
    int32_t flush_policy;        /* enum gs_flush_policy for every query, -1: what the query says */
    int64_t slot_count;          /* for every query, 0: what the query says */
    uint64_t max_groups;         /* that one aggregation may hold at once */
    uint64_t max_rows;           /* that one operator may hold */
    uint64_t hash_key[2];
    struct gs_memory *memory; /* the budget, perhaps of several sets, which it outlives; or NULL */
    bool low_level_only;      /* the high level is not built: LFTA rows are counted and dropped */
    bool high_level_only;     /* nor is the low one: no packets, batches are pushed */
    bool low_taps;            /* each LFTA's batches are put out as well, interface by interface */
    bool output_punctuation;  /* outputs give batches without rows too */
    bool deliver_every_burst; /* rows do not wait for a full batch (tests) */
    bool only_whole;          /* rows of windows that the set has not seen whole are left out */
    struct gs_exchange *exchange;   /* with the sets that divide a file with it; or NULL */
    uint32_t part;                  /* of its groups */
    uint64_t number;                /* that stands in `turn` while the set has its turn */
    volatile uint64_t *turn;        /* 0 while no set has; read by another process; or NULL */
    gs_host_map_function *host_map; /* of operators that the host maps rows for; or NULL */
    void *host_context;
};

/* Who runs a node, where several sets run a plan together. */
enum gs_place {
    GS_PLACE_HERE = 0,
    GS_PLACE_ELSEWHERE, /* it is not built */
    GS_PLACE_PUSHED     /* elsewhere, and its batches are pushed: a set that stands alone */
};

/* What becomes of a run when a source has failed. */
enum gs_on_failure {
    GS_ON_FAILURE_WAIT = 0, /* it is told */
    GS_ON_FAILURE_GO_ON,    /* the others are not held back; what is answered says who is missing */
    GS_ON_FAILURE_END       /* the input ends */
};

/* What the host has opened for a source. */
struct gs_opened {
    int descriptor; /* to be read: the host's until `close`, of files that are divided the
                     * engine's; while waiting, to be polled */
    uint8_t first_bytes[8];
    uint32_t first_byte_count; /* of a pipe, that were read to see what it is */
    bool wants_room; /* GS_AGAIN: too many files are open; it is asked again when one has ended */
};

/* Whose time its packets have (OPERATORS section 2): what they say; this host's clock when they are
 * read, so that they are in order; or the same, and nobody waits for it. */
enum gs_timestamps { GS_TIMESTAMPS_EXTERNAL = 0, GS_TIMESTAMPS_INTERNAL, GS_TIMESTAMPS_LATENT };

struct gs_source_config {
    const char *interface; /* the Gigastream interface that it is a source of */
    const char *label;     /* for messages: the file's name */
    const char *path;      /* a plain file, or NULL: */
    /* Opens it when it is its turn. GS_AGAIN: a pipe that has not said what it is. GS_REFUSED with
     * a message. */
    int (*open)(void *context, struct gs_opened *opened, struct gs_error *error);
    void (*close)(void *context); /* at its end, once, unless the engine is freed before */
    void *context;
    bool use_mmap;
    struct gs_extents *extents;    /* of files that several engines divide; or NULL */
    uint32_t divided_file, reader; /* which of them it is, and who reads it, from 0 */
    bool is_pipe;                  /* the pipe's rule of time, else the file's */
    bool is_records; /* of a STREAM: its frames are records, and the pipe's rule is theirs */
    const struct gs_live_config *live; /* a live link, which has neither path nor descriptor */
    int64_t live_slack_ns;             /* of it (OPERATORS section 2, Ring) */
    int64_t max_skew_ns;               /* of what goes by the clock */
    int32_t timestamps;                /* enum gs_timestamps */
    int64_t liveness_ns; /* a pipe or link that is not heard of for so long has failed, 0: never */
    uint32_t on_failure; /* enum gs_on_failure */
    int64_t promise_ns;  /* known before it is opened, INT64_MIN: nothing */
    int64_t first_ns;    /* its first timestamp, as far as known: when it is opened among others */
};

/* A batch that comes into the high level from elsewhere. */
struct gs_push {
    uint32_t port;
    struct ArrowArray *array; /* the rows, which are taken over; NULL: none */
    struct ArrowSchema *schema;
    const gs_bound *bounds;      /* one a column */
    struct gs_joint_bound joint; /* of two temporal columns, the lesser first */
    bool is_heartbeat, is_end;
    bool is_missing; /* who makes it has failed: this is said in its place */
};

/* The counters of OPERATORS section 7, and what a person wants to know besides. */
struct gs_source_statistics {
    const char *interface;
    const char *label;
    uint64_t read, undecodable, filtered, late, skew, sampled_out, decoded;
    uint64_t truncated, carried; /* of those read, and of those in time: properties */
    uint64_t bytes, total_bytes;
    int64_t worst_lateness_ns; /* how far the latest packet was below W */
    /* of a live link, as the kernel counts (struct gs_capture_stats) */
    uint64_t kernel_received, kernel_dropped, freezes, nic_dropped;
    uint64_t oversized; /* longer than the device sends and takes: joined from several */
    uint64_t unread;    /* captured by the kernel: not yet, or not before the run was broken off */
    uint64_t taken_before;           /* of a ring that was adopted; among none of the others */
    uint64_t dropped_before;         /* the same, of those that the kernel dropped */
    uint32_t ring_blocks, ring_used; /* used: handed over by the kernel and not given back */
    uint64_t filtered_tagged;        /* of filtered: with a VLAN tag */
    int64_t lag_ns;        /* of its last packet behind the clock, while more of them wait */
    uint64_t clock_steps;  /* that were seen of the wall clock, or by its packets */
    int64_t clock_step_ns; /* how far it stepped at last; negative: back */
    int64_t high_timestamp_ns, promise_ns; /* H and W */
    struct gs_wanted wanted;               /* what W is asked to be */
    uint64_t answered;                     /* of what was wanted */
    int32_t link_state;                    /* enum gs_link_state */
    uint64_t failures; /* how often it was not heard of for longer than its liveness */
    int32_t is_failed; /* it is so now */
    int32_t is_ended, is_damaged;
    const char *message; /* of the damage, or "" */
};

struct gs_lfta_statistics {
    const char *name;
    const char *interface;
    uint64_t not_of_protocol, prefiltered, rejected, no_value, accepted, evicted;
    uint64_t opened, unopened, too_deep; /* tunnels, where it opens them: decode/decapsulate.h */
    /* where it puts datagrams together: abi/gs_reassembly.h */
    uint64_t fragments, datagrams, fragments_incomplete, fragments_no_room, fragments_overlapping;
    uint64_t fragments_malformed, fragments_repeated;
    uint64_t segments, segments_held, segments_repeated; /* the same, in order */
    uint64_t gaps_waited, gaps_no_room, gaps_ended, directions_forgotten;
    uint64_t slots, held_bytes; /* of its table now; it may have grown */
    uint64_t peak_bytes;
    /* its own in the table now; the most at once, of all that fill it, since it has that size */
    uint64_t groups, groups_most;
    uint64_t ways; /* slots of the table in which a group may lie */
    uint64_t rows_out;
    int64_t promised_ns; /* packet time below which it puts out nothing more */
    uint64_t forgotten;  /* keys of a FILTER_JOIN that gave way though a packet might match them */
};

struct gs_operator_statistics {
    const char *name;
    const char *kind;
    uint64_t rows_in, rows_out, rejected, no_value, held, groups_refused, beyond_limit;
    uint64_t rows_refused;       /* that had to wait, and for which there was no room */
    uint64_t out_of_order;       /* below what their own input had reached */
    uint64_t passed_over;        /* silent windows of groups that go on, beyond max_silence */
    uint64_t refused_for_memory; /* of groups_refused and rows_refused; the others are beyond
                                  * max_groups, max_rows */
    uint64_t held_bytes, peak_bytes;
    const gs_bound *bounds; /* that it has given, one a column: its own, as long as it runs */
    uint32_t column_count;
};

/* A BPF program for one link type: pcap_offline_filter's arguments; `program` is libpcap's struct
 * bpf_program. Before the live links that it is for are added. */
typedef int (*gs_filter_function)(const void *program, const void *header, const uint8_t *bytes);

/* ---- an engine: sources that are read, and the query sets that get their packets ---- */

int gs_engine_new(const struct gs_engine_settings *settings, struct gs_engine **engine,
                  struct gs_error *error);
/* A live link is opened at once: GS_REFUSED where it cannot be. */
int gs_engine_add_source(struct gs_engine *engine, const struct gs_source_config *config,
                         struct gs_error *error);

/* Of the sources of an interface that are there, before the engine is started: what is known of
 * their packets' time only when links are open, as promise_ns of a configuration. */
int gs_engine_promise(struct gs_engine *engine, const char *interface, int64_t promise_ns,
                      struct gs_error *error);
/* The sources of an interface, of NULL all links, may have had packets up to this time that nobody
 * has read, or whose reader has crashed: for sets that are attached after the start, windows that
 * reach so far are cut. */
void gs_engine_unseen(struct gs_engine *engine, const char *interface, int64_t until_ns);
int gs_engine_add_filter(struct gs_engine *engine, uint32_t link_type, gs_filter_function function,
                         const void *program, struct gs_error *error);
/* From now on the set gets the engine's packets. It is attached when all sources have been added:
 * before gs_engine_start, or afterwards by who calls gs_engine_run, between two calls. Then it sees
 * what is read from here on, and time on its interfaces is what it is now: a window that is running
 * has the rows of its rest, and is cut (GS_MISSING_CUT). An engine may have any number of sets;
 * none of them changes what another answers. GS_REFUSED: its tables do not fit into the memory that
 * is given. */
int gs_engine_attach(struct gs_engine *engine, struct gs_attached_set *set, struct gs_error *error);
/* Ends its input here, between two calls of gs_engine_run: its open windows are answered, which
 * gs_attached_drain and gs_attached_take give, and are cut. Its counters stay. */
void gs_engine_detach(struct gs_engine *engine, struct gs_attached_set *set);
int gs_engine_start(struct gs_engine *engine, struct gs_error *error);
/* Runs for `packet_budget` packets or until there is output of a set, which is to be taken before
 * more is read. GS_OK: call again; GS_AGAIN: the sources had nothing for timeout_ms, and all that
 * can be out is; GS_END: all is out, since the input has ended or all sets are answered. GS_ERROR:
 * no set can go on; one of several that cannot is passed over, and gs_attached_check says why. */
int gs_engine_run(struct gs_engine *engine, uint64_t packet_budget, int timeout_ms,
                  struct gs_error *error);
/* For who is asked things meanwhile: run returns where this descriptor can be read, at once while
 * sources are waited for, else within 50 ms, and when timeout_ms are over in any case. */
void gs_engine_wake_by(struct gs_engine *engine, int descriptor);
/* The same, where a link's ring is so full, or has dropped packets, since it was looked at last: 20
 * times a second. 0: that is nobody's matter. */
void gs_engine_alarm(struct gs_engine *engine, uint32_t ring_percent);
/* Replay by a clock: records after this timestamp wait, and run gives GS_AGAIN. */
void gs_engine_replay_until(struct gs_engine *engine, int64_t timestamp_ns);
/* Of the record that is read next, as far as it is known; INT64_MAX where there is none. */
int64_t gs_engine_next_timestamp(const struct gs_engine *engine);
/* Somebody who gets what the engine's sets put out waits for the packet time of an interface to
 * come so far, and has not been answered. The last to ask is heard. */
void gs_engine_want(struct gs_engine *engine, const char *interface, int64_t timestamp_ns);
/* Input ends here, whatever files and pipes still have; what the kernel has captured of a live link
 * is read. */
void gs_engine_stop(struct gs_engine *engine);
/* The same, but what the kernel has captured stays unread, and is counted. */
void gs_engine_halt(struct gs_engine *engine);
/* From now on the kernel rejects, of the live links whose configuration says so, what this program
 * of classic BPF does (linux/filter.h), which is made for frames of Ethernet. Of no instructions:
 * nothing. What is rejected is seen and counted by nobody. Between two calls of run. GS_ERROR:
 * links may pass more than before, none less. */
int gs_engine_set_prefilter(struct gs_engine *engine, const struct sock_filter *instructions,
                            uint32_t length, struct gs_error *error);
/* A ring of several whose device was removed, and whose configuration says so (is_renewed), goes on
 * with that of a socket of gs_packet_sockets_open, with its time and its counters; -1: asks whether
 * it could. The socket stays the caller's. Between two calls of run. GS_AGAIN: what was captured
 * before is not read out yet; GS_ERROR leaves it as it was. */
int gs_engine_renew(struct gs_engine *engine, uint32_t source, int socket, struct gs_error *error);
/* From now on, between two calls of gs_engine_run, the sets get the packets of 1 in 2^shift flows;
 * 0: all, as at the beginning. The others tell the time still, and are counted (sampled_out).
 * GS_ERROR: the shift is greater than 32. */
int gs_engine_sample(struct gs_engine *engine, uint32_t shift, struct gs_error *error);
/* What the stages of a packet's way have cost of all packets, in nanoseconds. */
struct gs_stage_costs {
    uint64_t packets, open_ns, read_ns, decode_ns, unpack_ns, lfta_ns, flush_ns, high_ns;
};

/* From now on they are measured, for the sets that are attached. */
void gs_engine_measure_stages(struct gs_engine *engine);
/* What they have cost since. */
void gs_engine_stages(const struct gs_engine *engine, struct gs_stage_costs *costs);
/* Tests: from now on the clocks stand at this reading. */
void gs_engine_set_clock(struct gs_engine *engine, int64_t monotonic_ns, int64_t wall_ns);
/* What a source's packets are known not to be below; INT64_MIN: nothing, INT64_MAX: none come. */
int64_t gs_engine_source_promise(const struct gs_engine *engine, uint32_t source);
uint32_t gs_engine_source_count(const struct gs_engine *engine);
void gs_engine_source_statistics(const struct gs_engine *engine, uint32_t source,
                                 struct gs_source_statistics *statistics);
/* Sets that are still attached are detached without an end; they stay the caller's. */
void gs_engine_free(struct gs_engine *engine);

/* ---- a query set ---- */

/* Loads a generated query set. What comes of it, even where that fails, is the caller's to free:
 * its object is unloaded when it and the last of its batches are gone. */
int gs_attached_load(const char *object_path, const struct gs_attached_settings *settings,
                     struct gs_attached_set **set, struct gs_error *error);
/* Batches of this node are also put out (tests, `explain --follow`). Before it is attached. */
int gs_attached_tap(struct gs_attached_set *set, uint32_t node, struct gs_error *error);
/* Who runs this node, as long as nobody has said: this set. Before it is attached. */
int gs_attached_place(struct gs_attached_set *set, uint32_t node, enum gs_place place,
                      struct gs_error *error);
/* Of a set that is to stand alone: an interface whose batches are pushed. It may have the name of
 * another: they are parts of one. */
int gs_attached_add_interface(struct gs_attached_set *set, const char *name,
                              struct gs_error *error);
/* A high level without an engine, whose interfaces have been named. */
int gs_attached_stand_alone(struct gs_attached_set *set, struct gs_error *error);
/* Pushes a batch into a port of a high level that stands alone; what it makes due comes by
 * gs_attached_drain. The array is released. */
int gs_attached_push(struct gs_attached_set *set, const struct gs_push *push,
                     struct gs_error *error);
/* The same with a batch that another set of the same object has put out, and nobody else has a
 * reference to: its engine may be at work in another thread. */
int gs_attached_hand_over(struct gs_attached_set *set, uint32_t port, struct gs_batch *batch,
                          struct gs_error *error);
/* What is due of a set that stands alone or is detached. GS_OK: some is to be taken; GS_END: all is
 * out. */
int gs_attached_drain(struct gs_attached_set *set, struct gs_error *error);
/* Outputs give batches without rows, too, from now on: as settings.output_punctuation, of a set
 * that is at work. */
void gs_attached_pass_punctuation(struct gs_attached_set *set);
/* All that is due goes out, without waiting for input: what only fills a batch, too. */
void gs_attached_settle(struct gs_attached_set *set);
/* GS_ERROR where it cannot go on, for want of memory or with what the host gave it; it gets no more
 * packets then. */
int gs_attached_check(const struct gs_attached_set *set, struct gs_error *error);
/* Every query has had its last row (LIMIT), or its input's end. An engine gives packets to the
 * other sets then, and stops where there is none; whoever pushes batches may stop. */
bool gs_attached_is_answered(const struct gs_attached_set *set);
/* The next batch put out and the node it comes from, for a low tap the number of nodes + its port;
 * NULL: none now. The caller releases it, before or after the set is freed. */
struct gs_batch *gs_attached_take(struct gs_attached_set *set, uint32_t *node);
/* What sets that have part of the groups each put out of one query, as one. Rows of each part are
 * in the order of these temporal columns, all of which grow with the window and have no value that
 * is beyond bounds; of none: they are all of one window. Batches have at most so many rows; what
 * waits is counted in the account, or NULL. NULL: no memory. */
struct gs_part_order *gs_part_order_new(uint32_t parts, const uint32_t *columns,
                                        uint32_t column_count, uint32_t batch_rows,
                                        struct gs_memory *memory);
void gs_part_order_free(struct gs_part_order *order);
/* A batch of a part, which may have no rows, with what its bounds promise; one that has none and is
 * partial says that the window which these have come to lacks groups. */
int gs_part_order_add(struct gs_part_order *order, uint32_t part, struct gs_batch *batch,
                      struct gs_error *error);
/* The next rows that may go on, in batches without bounds; NULL: none may yet. */
int gs_part_order_take(struct gs_part_order *order, struct gs_batch **batch,
                       struct gs_error *error);
/* For each of its columns: no row that has not been taken is below. True: there is none any more.
 */
bool gs_part_order_bounds(const struct gs_part_order *order, int64_t *bounds);
/* Where it is attached still, it is detached without an end. */
void gs_attached_free(struct gs_attached_set *set);

/* Asks a node for time: for a bound of this column of at least so much (OPERATORS section 6). The
 * request goes up to the sources, or the ports into which batches are pushed. */
void gs_attached_ask(struct gs_attached_set *set, uint32_t node, uint32_t column, int64_t value);
/* Of a set that stands alone: whoever waits in it asks anew, which is then wanted of its ports. */
void gs_attached_ask_for_time(struct gs_attached_set *set);

/* ---- watchlists ---- */

/* A list that is being made, or that a query set has. */
struct gs_watchlist;

/* Its columns, and how many bytes it may take. */
struct gs_watchlist_shape {
    uint32_t column_count;
    const uint8_t *types;  /* by column: enum gs_type */
    const uint8_t *is_key; /* by column */
    uint64_t most_bytes;
    uint64_t hash_key[2];
};

/* Whole lines of a file, which are taken apart in place. */
struct gs_watchlist_text {
    uint8_t *bytes;
    uint64_t length;
    const int32_t *columns; /* of each cell of a line, -1: of no column */
    uint32_t cell_count;
};

struct gs_watchlist_counts {
    uint64_t rows, refused, replaced; /* lines left out; lines whose keys came again */
    uint64_t first_refused;           /* line */
    const char *why_refused;
    uint64_t bytes;
};

/* What comes of it, even where it fails, is the caller's to free. */
int gs_watchlist_new(const struct gs_watchlist_shape *shape, struct gs_watchlist **list,
                     struct gs_error *error);
/* GS_REFUSED: it would take more bytes than it may. */
int gs_watchlist_add(struct gs_watchlist *list, const struct gs_watchlist_text *text,
                     struct gs_error *error);
void gs_watchlist_counts(const struct gs_watchlist *list, struct gs_watchlist_counts *counts);
void gs_watchlist_free(struct gs_watchlist *list);
/* From now on packets meet this list, which is the set's; the one before is freed. Between two
 * calls of gs_engine_run. */
int gs_attached_give_watchlist(struct gs_attached_set *set, uint32_t number,
                               struct gs_watchlist *list, struct gs_error *error);

/* Whether getlpmid will read the file of that path; GS_REFUSED with what is wrong, and where. */
int gs_check_prefix_file(const uint8_t *path, uint32_t length, struct gs_error *error);

uint32_t gs_attached_node_count(const struct gs_attached_set *set);
const char *gs_attached_node_name(const struct gs_attached_set *set, uint32_t node);
/* Ports: a low node on an interface. Known once it is attached, or stands alone. */
uint32_t gs_attached_port_count(const struct gs_attached_set *set);
uint32_t gs_attached_port_node(const struct gs_attached_set *set, uint32_t port);
const char *gs_attached_port_interface(const struct gs_attached_set *set, uint32_t port);
/* What the bits of a batch's `missing` are, from the least: bit 62 stands for all behind it.
 * GS_MISSING_CUT is none of them. */
uint32_t gs_attached_interface_count(const struct gs_attached_set *set);
const char *gs_attached_interface_name(const struct gs_attached_set *set, uint32_t interface);
/* Rows of windows that were not seen whole, which an output has left out (only_whole). */
uint64_t gs_attached_cut_rows(const struct gs_attached_set *set, uint32_t node);
/* Whether the set was attached amid the windows of this output; then the least value of its first
 * temporal column (of a decreasing one the greatest) of which all rows are whole. */
bool gs_attached_whole_from(const struct gs_attached_set *set, uint32_t node, int64_t *value);
/* The packet time that was asked of it. */
struct gs_wanted gs_attached_port_wanted(const struct gs_attached_set *set, uint32_t port);
uint32_t gs_attached_lfta_count(const struct gs_attached_set *set);
void gs_attached_lfta_statistics(const struct gs_attached_set *set, uint32_t lfta,
                                 struct gs_lfta_statistics *statistics);
uint32_t gs_attached_operator_count(const struct gs_attached_set *set);
void gs_attached_operator_statistics(const struct gs_attached_set *set, uint32_t op,
                                     struct gs_operator_statistics *statistics);

#endif

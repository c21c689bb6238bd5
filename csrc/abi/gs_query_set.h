/* SPDX-License-Identifier: Apache-2.0 */
/* The boundary between the engine and a generated query set.
 *
 * A query set is one shared object that exports one symbol, `gs_query_set`: constant tables of
 * what its nodes are and functions that work on bursts, batches and groups with the types known.
 * What is the same for every query (tables of slots, flush policies, windows, punctuation,
 * scheduling) is ordinary C in the engine, reached through struct gs_host. */
#ifndef GS_QUERY_SET_H
#define GS_QUERY_SET_H

#include "gs_batch.h"
#include "gs_bounds.h"
#include "gs_burst.h"
#include "gs_exchange_rows.h"
#include "gs_join_filter.h"
#include "gs_lfta_table.h"
#include "gs_reassembly.h"
#include "gs_running.h"
#include "gs_sliding.h"
#include "gs_supergroups.h"
#include "gs_tunnels.h"
#include "gs_value_lists.h"

#define GS_ABI_VERSION 20

/* ---- the low level ---- */

struct gs_lfta_counters {
    uint64_t not_of_protocol;
    uint64_t prefiltered;
    uint64_t rejected;
    uint64_t no_value;
    uint64_t accepted;
    uint64_t evicted; /* partial groups that left by collision */
    /* of its interface's packets, where it opens tunnels (decode/decapsulate.h) */
    uint64_t opened, unopened, too_deep;
    /* the same, where it puts something together, in order */
    struct gs_reassembled reassembled;
    struct gs_sequenced sequenced;
};

struct gs_host;

/* The part of an LFTA that generated code sees; the engine's struct begins with it. */
struct gs_lfta {
    const struct gs_lfta_ops *ops;
    const struct gs_host *host;
    struct gs_lfta_counters counters;
    struct gs_lfta_table table;
    struct gs_batch *output;                      /* rows not yet delivered */
    void *const *handles;                         /* of the query set */
    const struct gs_watchlist *const *watchlists; /* likewise */
    struct gs_join_filter *filter;                /* of a FILTER_JOIN, or NULL */
    struct gs_members *members;                   /* who fills one table with it; NULL: nobody */
    struct gs_lanes *lanes; /* to those that have other groups; NULL: it has all of them */
    uint64_t tuple_count; /* of the protocol, before WHERE; counted where ops->row_unit is not 0 */
};

enum gs_lfta_kind { GS_LFTA_SELECTION = 1, GS_LFTA_AGGREGATION = 2 };
enum gs_flush_policy {
    GS_FLUSH_SLOW = 0,
    GS_FLUSH_IMMEDIATE,
    GS_FLUSH_SLOW_INORDER,
    GS_FLUSH_LAZY
};

struct gs_lfta_ops {
    uint32_t kind;
    uint32_t view;                  /* of the set's, whose packets it sees */
    const struct gs_member *member; /* of several that fill one table (gs_members.h), or NULL */
    uint32_t slot_size;
    uint32_t slot_count;     /* asked by the query, 0: the engine's default */
    bool is_adaptive;        /* its table becomes smaller, too, where it is larger than need be */
    uint32_t flush_policy;   /* enum gs_flush_policy */
    uint32_t slow_flush;     /* one old group every so many accepted packets; 0: adaptive */
    uint32_t max_disorder;   /* max_lfta_disorder, in steps of each temporal variable */
    uint32_t temporal_count; /* length of the vectors of `bounds` */
    const uint32_t *temporal_columns; /* output column of each */
    /* The temporal variable that numbers tuples, row_unit of them for each value: its bound is how
     * many there have been. 0: there is none. */
    uint64_t row_unit;
    uint32_t row_variable;
    const struct gs_join_filter_ops *filter; /* NULL: it is no FILTER_JOIN */
    uint32_t need_count;                     /* length of the vector of `needs` */
    const char *const *interfaces; /* names it is bound to, NULL-terminated; NULL: every one */
    /* It needs of packets no more than their frames, and is the only LFTA. */
    bool takes_frames;
    bool walks; /* then: or walks over records itself (gs_walk.h) */
    /* Runs the LFTA over a burst whose columns are filled; NULL: who has its table does. */
    void (*burst)(struct gs_lfta *lfta, const struct gs_burst *burst, const void *columns);
    /* Appends the partial row of a slot to lfta->output, which has room. */
    void (*emit)(struct gs_lfta *lfta, const void *slot, const gs_bound *window);
    /* Bytes of a row of its own that can be dealt, 0: none can; rows of others to its groups. */
    uint32_t row_size;
    void (*take)(struct gs_lfta *lfta, const void *rows, uint32_t count);
    /* Carries "no later timestamp is below t" to each temporal column of the output. */
    void (*bounds)(int64_t timestamp_ns, gs_bound *bounds);
    /* Carries it to what the consumers look at: a change is worth a punctuation. */
    void (*needs)(int64_t timestamp_ns, gs_bound *needs);
};

/* ---- the high level ---- */

struct gs_group_window; /* the engine's */

/* The groups of one window: entries in the order of their arrival, and an index over them by open
 * addressing. An index word is 0 where empty, else the group's control word (the low 31 bits of its
 * hash and the top bit) above the entry's number. */
struct gs_group_table {
    uint64_t *index;
    uint8_t *entries;
    uint32_t mask;     /* words of the index - 1 */
    uint32_t count;    /* entries */
    uint32_t capacity; /* entries that there is room for */
};

/* A value that a group has met. */
struct gs_group_value {
    struct gs_group_value *next; /* whoever keeps a list of them */
    uint64_t times, hash;
    uint32_t group, set, length;
    _Alignas(8) uint8_t bytes[];
};

struct gs_operator_counters {
    uint64_t rows_in;
    uint64_t rows_out;
    uint64_t rejected; /* by WHERE or HAVING */
    uint64_t no_value;
    uint64_t groups_refused; /* rows of groups beyond max_groups, or the budget */
    uint64_t rows_refused;   /* rows that had to wait, and for which there was no room */
    uint64_t beyond_limit;   /* rows cut by LIMIT */
    uint64_t out_of_order;   /* rows below what their own input had reached */
    uint64_t passed_over;    /* silent windows that are not put out */
};

struct gs_operator_ops;

/* The part of an operator that generated code sees; the engine's struct begins with it. */
struct gs_operator {
    const struct gs_operator_ops *ops;
    const struct gs_host *host;
    struct gs_operator_counters counters;
    struct gs_batch *output;
    struct gs_scratch *scratch;
    void *const *handles;
    const uint64_t *hash_key;
};

/* Carries bounds through monotone expressions, which read those of `inputs[port]`. */
typedef void (*gs_carry_function)(const struct gs_punctuation *inputs, gs_bound *output);

/* What all operators have: the first member of each one's own. */
struct gs_operator_ops {
    const char *kind; /* the operator's name in the engine */
};

/* select */
struct gs_select_ops {
    struct gs_operator_ops common;
    /* Appends what comes of the input's rows. */
    void (*rows)(struct gs_operator *op, const struct gs_batch *input);
    /* What the inputs promise, one a port, to a bound for each output column. */
    gs_carry_function bounds;
};

/* what operators that keep groups have */
struct gs_group_ops {
    struct gs_operator_ops common;
    /* Adds the input's rows to their groups. */
    void (*rows)(struct gs_operator *op, const struct gs_batch *input);
    /* What the input promises to the bounds of the temporal group variables. */
    gs_carry_function bounds;
    /* One group to the output, which has room: HAVING, then the SELECT list. True: CLOSING_WHEN
     * holds of it. */
    bool (*emit)(struct gs_operator *op, const void *entry, const gs_bound *window);
    /* The bounds of output columns from those of the temporal group variables. */
    gs_carry_function group_bounds;
    uint32_t entry_size;
    uint32_t temporal_count; /* group variables that are temporal */
};

/* aggregate */
struct gs_aggregate_ops {
    struct gs_group_ops groups; /* first */
    /* No group variables; its one group is there without a row too, its entry zero. */
    bool is_of_all;
};

/* slide: an aggregation whose first temporal group variable is the pane, of which a window of
 * struct gs_sliding has several; the functions from windows' values on have the window in its place
 */
struct gs_slide_ops {
    struct gs_group_ops groups; /* first */
    struct gs_sliding panes;    /* range and slide, in panes */
    size_t link;                /* in an entry: a pointer that is the engine's */
    /* Whether two entries are of one group. */
    bool (*is_same)(const void *a, const void *b);
    /* Adds the aggregates of an entry of the same group. */
    void (*combine)(void *const *handles, void *into, const void *from);
};

/* slide_rows: the same of rows that generated code puts into each of their windows */
struct gs_slide_rows_ops {
    struct gs_group_ops groups; /* first */
    struct gs_sliding panes;    /* range and slide, in panes */
};

/* running: an aggregation whose groups stand from window to window; the entries of what stands are
 * generated code's own, and `emit` is of one of them */
struct gs_running_ops {
    struct gs_group_ops groups; /* first */
    uint32_t standing_size;     /* of an entry, which begins with struct gs_standing */
    uint32_t settles_after;     /* silent windows after which nothing of a group changes */
    uint32_t max_silence;       /* silent windows that are put out, one after the other */
    bool asks_for_window;       /* HAVING or CLOSING_WHEN reads the window */
    int64_t step;               /* from a value of the window to the next */
    /* Whether what stands is of the group of a window's entry. */
    bool (*is_same)(const void *standing, const void *entry);
    /* Of a new group, whose memory is zero. False: there is no room for its strings, counted. */
    bool (*begin)(struct gs_operator *op, void *standing, const void *entry);
    /* What the window that ends has of the group. */
    void (*take)(void *standing, const void *entry);
    /* That window ends: aggregates that go on move. */
    void (*move)(struct gs_operator *op, void *standing);
    /* The others begin anew. */
    void (*rest)(void *standing);
    /* Those that are RUNNING are told by how many windows it has moved. */
    void (*tell)(struct gs_operator *op, void *standing, uint64_t windows);
    /* The group is dropped. */
    void (*drop)(struct gs_operator *op, void *standing);
};

/* sample: an aggregation whose groups are within supergroups; those keep states, and say which rows
 * come in and which groups stay */
struct gs_sample_ops {
    struct gs_group_ops groups; /* first */
    uint32_t supergroup_size;   /* of what begins with struct gs_supergroup */
    size_t link;                /* in an entry: struct gs_sample_link */
    bool has_states;
    /* Whether a row belongs to a supergroup. */
    bool (*is_of)(const void *supergroup, const void *row);
    /* A row's supergroup, all of it zero but the head; `before` is what it was in the last window
     * that there was, NULL if it was not there, and `number` how many there were before it. */
    void (*begin)(struct gs_operator *op, void *supergroup, const void *row, const void *before,
                  uint64_t number);
    void (*leave)(void *supergroup, const void *entry); /* a group leaves it: superaggregates */
    void (*end)(void *supergroup);                      /* its window ends */
    /* Whether a group stays: CLEANING_BY, and at the window's end HAVING; NULL: all do. */
    bool (*keeps)(struct gs_operator *op, const void *entry, const gs_bound *window);
    bool (*passes)(struct gs_operator *op, const void *entry, const gs_bound *window);
};

/* order: ORDER BY and LIMIT of each window */
struct gs_order_ops {
    struct gs_operator_ops common;
    /* <0, 0, >0 as row a stands before row b. */
    int (*compare)(const struct gs_batch *a, uint32_t row_a, const struct gs_batch *b,
                   uint32_t row_b);
    /* One row to the output, which has room. */
    void (*copy)(struct gs_operator *op, const struct gs_batch *input, uint32_t row);
    uint32_t temporal_count;
    const uint32_t *temporal_columns; /* of the input, that make the window */
    uint64_t limit;                   /* rows of a window, UINT64_MAX: all */
    /* PER: 0 where the rows are of one group, each of which has the limit; NULL: the window has. */
    int (*compare_groups)(const struct gs_batch *a, uint32_t row_a, const struct gs_batch *b,
                          uint32_t row_b);
};

/* limit: LIMIT of the whole stream */
struct gs_limit_ops {
    struct gs_operator_ops common;
    uint64_t limit; /* rows */
};

/* join */

/* A row that a join holds, the first member of generated code's own; its values of `values_of`
 * follow. Rows of a side whose hashes fall together are a chain. */
struct gs_join_row {
    struct gs_join_row *next, **at; /* in its chain, and where the pointer to it is */
    uint64_t hash;                  /* of keys, equated times and, of a band, the granule of time */
    uint32_t in_page;               /* bytes from where its page begins */
    uint8_t orders;                 /* that still name it */
    bool is_matched, is_partial, has_left;
};

/* The row's time in each pair, then its values in the other columns whose least is asked for. */
static inline const gs_bound *gs_join_values(const struct gs_join_row *row)
{
    return (const gs_bound *)(row + 1);
}

/* What generated code sees of the rows that are held of an input. */
struct gs_join_side {
    struct gs_join_row **heads; /* of chains, by the hash's low bits */
    uint64_t mask;
    const gs_bound *limits; /* by pair: nothing that a row below it can match is still to come */
    bool is_over;           /* nothing at all is */
};

/* How a side bounds a column of the output. */
struct gs_join_bound {
    uint32_t output;      /* column */
    uint32_t side, input; /* and which column of it */
    uint32_t value;       /* of gs_join_values: a pair's, or the column's own */
};

struct gs_join_ops {
    struct gs_operator_ops common;
    /* By port: rows meet those of the other side, and are held for those that are to come. */
    void (*rows[2])(struct gs_operator *op, const struct gs_batch *input);
    /* A row of a kept side goes out alone. NULL: neither side is kept. */
    void (*alone)(struct gs_operator *op, uint32_t side, const struct gs_join_row *row);
    /* What a port promises, as inputs[0], to the bounds of its times, one a pair. */
    gs_carry_function times[2];
    uint32_t pair_count;
    const int64_t (*reaches)[2]; /* of each pair: F_0, F_1 */
    uint32_t value_counts[2];    /* by side, at least pair_count */
    bool keeps[2];               /* sides whose rows come without a match, too */
    uint64_t max_rows;           /* held of both, UINT64_MAX: as many as the memory has room for */
    uint32_t bound_count;
    const struct gs_join_bound *bounds; /* those of one column together */
    bool gives_joint;
    uint32_t joint_outputs[2], joint_inputs[2]; /* by side: its column in the output, and there */
};

/* A time so much later, or earlier. */
static inline gs_bound gs_join_shift(gs_bound time, int64_t by)
{
    gs_bound sum;
    if (!__builtin_add_overflow(time, by, &sum)) return sum;
    return by < 0 ? INT64_MIN : INT64_MAX;
}

/* sort: rows in the order of a column */
struct gs_sort_ops {
    struct gs_operator_ops common;
    /* One row to the output, which has room. */
    void (*copy)(struct gs_operator *op, const struct gs_batch *input, uint32_t row);
    /* Where a row stands among those of its time; NULL: behind those that came before it. */
    uint64_t (*place)(const struct gs_batch *input, uint32_t row);
    uint32_t column; /* temporal */
};

/* merge: several inputs that are in the order of a column as one that is */
struct gs_merge_ops {
    struct gs_operator_ops common;
    /* One row of any input to the output, which has room. */
    void (*copy)(struct gs_operator *op, const struct gs_batch *input, uint32_t row);
    uint32_t column; /* temporal */
    uint64_t slack;  /* how far an input steps back, in the column's unit */
};

/* ---- the query set ---- */

enum gs_node_kind { GS_NODE_LFTA = 1, GS_NODE_OPERATOR = 2 };

struct gs_node {
    const char *name;
    const struct gs_schema *schema; /* of what it puts out */
    uint32_t kind;                  /* enum gs_node_kind */
    const void *ops;                /* struct gs_lfta_ops or struct gs_operator_ops */
    uint32_t input_count;
    const uint32_t *inputs; /* nodes before this one */
};

struct gs_handle_ops {
    void *(*make)(char *message, size_t message_size);
    void (*free)(void *handle);
};

/* How some of the LFTAs see packets: with the same tunnels opened, the same put together. */
struct gs_view {
    struct gs_tunnels tunnels;
    struct gs_reassembly reassembly;
    /* Unpacks the fields that these use and evaluates their prefilter over the burst. */
    void (*unpack)(const struct gs_burst *burst, void *columns);
};

struct gs_query_set {
    uint32_t abi_version;
    uint32_t depth;      /* enum gs_depth: how deep the decoder goes */
    size_t columns_size; /* bytes of the columns of a burst */
    uint32_t node_count;
    const struct gs_node *nodes; /* in topological order */
    uint32_t handle_count;
    const struct gs_handle_ops *handles;
    uint32_t watchlist_count;
    uint32_t view_count;
    const struct gs_view *views;
};

/* What generated code calls in the engine. */
struct gs_host {
    /* Decodes a packet of which nothing is decoded, as deep as that. */
    void (*decode)(struct gs_packet *packet, enum gs_depth depth);
    /* Index of the window with these values, made if it is new (the oldest leaves for it);
     * GS_LFTA_WINDOWS: W has passed it, since its clock has wrapped. */
    uint32_t (*lfta_window)(struct gs_lfta *lfta, const gs_bound *values);
    /* The slot is empty and will hold a group of `window`. */
    void (*lfta_occupy)(struct gs_lfta *lfta, uint32_t slot, uint32_t window);
    /* The resident of the slot leaves (is emitted) for a group of `window`. */
    void (*lfta_evict)(struct gs_lfta *lfta, uint32_t slot, uint32_t window);
    /* One old group leaves, and the count to the next is set. */
    void (*lfta_drip)(struct gs_lfta *lfta);
    /* Makes room for one more row whose string columns, in their order, have these lengths; the
     * rows before it may be delivered for that. false: there is no memory, the run has failed. */
    bool (*lfta_room)(struct gs_lfta *lfta, const uint32_t *string_lengths);
    /* Each lane gets room for a burst's rows; the own one is these. false: there is no memory. */
    bool (*lfta_lanes)(struct gs_lfta *lfta, void *rows);
    /* Whether rows of the window may be dealt; false: W has passed it. */
    bool (*lfta_deals)(struct gs_lfta *lfta, const gs_bound *values);
    /* The same for operators. */
    bool (*operator_room)(struct gs_operator *op, const uint32_t *string_lengths);
    /* The table of the window with these values, made if it is new. NULL, and counted why, where it
     * is closed already (a clock has wrapped), or where max_groups or the budget leaves it none. */
    struct gs_group_table *(*group_window)(struct gs_operator *op, const gs_bound *values);
    /* One more entry, the last, and room for so many bytes of strings, which group_string then
     * has; false: refused, counted. May move index and entries. */
    bool (*group_admit)(struct gs_operator *op, struct gs_group_table *table,
                        uint64_t string_bytes);
    /* A copy of the bytes that lives as long as the window, in `room` bytes (at least theirs).
     * NULL bytes: refused, counted. */
    struct gs_string (*group_string)(struct gs_operator *op, struct gs_group_table *table,
                                     struct gs_string s, uint32_t room);
    /* The value of these bytes that the group has met so often in its set, this time counted: it
     * lives as long as the window. NULL: refused, counted. */
    struct gs_group_value *(*group_value)(struct gs_operator *op, struct gs_group_table *table,
                                          uint32_t group, uint32_t set, struct gs_string bytes);
    /* A list gets the value of a row, whose text has a separator of so many bytes; or its runs
     * get it. Refused, and counted, where there is no memory. */
    void (*list_add)(struct gs_operator *op, struct gs_group_table *table,
                     struct gs_value_list *list, struct gs_position position,
                     struct gs_string bytes, uint32_t separator);
    void (*runs_add)(struct gs_operator *op, struct gs_group_table *table,
                     struct gs_value_list *list, struct gs_position position,
                     struct gs_string bytes);
    /* A list, or how often there was each value, as text in the scratch; false: it is full. */
    bool (*list_text)(struct gs_operator *op, const struct gs_value_list *list,
                      const struct gs_list_form *form, struct gs_string *text);
    bool (*counts_text)(struct gs_operator *op, const struct gs_value_counts *counts,
                        const struct gs_list_form *form, struct gs_string *text);
    uint64_t (*runs_count)(const struct gs_value_list *list);
    /* A copy of the bytes in the place of what is kept, until it is dropped. False: refused, and
     * counted; what is kept stays. */
    bool (*running_keep)(struct gs_operator *op, struct gs_string *kept, struct gs_string s);
    void (*running_drop)(struct gs_operator *op, struct gs_string *kept);
    /* A row's supergroup in the window of this table, made if it is new, with room for so many
     * bytes of strings; NULL: refused, counted. That of a number in the window at hand. */
    void *(*sample_meet)(struct gs_operator *op, struct gs_group_table *table, uint32_t control,
                         const void *row, uint64_t string_bytes);
    void *(*sample_at)(struct gs_operator *op, uint32_t number);
    /* As group_admit, of a group that keeps strings or values: where they are to lie, as in the
     * table of a window; it is given back with the group. NULL: refused, counted. */
    struct gs_group_table *(*sample_admit)(struct gs_operator *op, struct gs_group_table *table,
                                           uint64_t string_bytes);
    /* The table's last entry is a group of the supergroup, and keeps what lies there. */
    void (*sample_join)(struct gs_operator *op, struct gs_group_table *table, void *supergroup,
                        struct gs_group_table *kept);
    /* CLEANING_WHEN holds of it: entries may move. */
    void (*sample_clean)(struct gs_operator *op, struct gs_group_table *table, void *supergroup);
    /* The rows to come are, or are not, of windows in which groups were refused. */
    void (*operator_mark)(struct gs_operator *op, bool is_partial);
    const struct gs_join_side *(*join_side)(struct gs_operator *op, uint32_t side);
    /* Room for a row like this one in so many bytes, its strings behind it. NULL: refused, and
     * counted. */
    struct gs_join_row *(*join_admit)(struct gs_operator *op, uint32_t side,
                                      const struct gs_join_row *row, uint64_t bytes);
    /* The row that was let in last is complete. */
    void (*join_keep)(struct gs_operator *op, uint32_t side, struct gs_join_row *row);
};

#endif

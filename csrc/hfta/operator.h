/* SPDX-License-Identifier: Apache-2.0 */
/* The high level's operators all look alike: a struct of state that begins with this one, and a
 * table of methods. Rows come in by on_batch, progress by on_punctuation; rows that are due leave
 * by step, a batch at a time, without waiting for input (OPERATORS section 4). An operator is its
 * own file and a line in operator.c. */
#ifndef GS_HFTA_OPERATOR_H
#define GS_HFTA_OPERATOR_H

#include "../arrow/batch.h"
#include "../arrow/host_map.h"
#include "../base/memory.h"
#include "../base/stages.h"
#include "../stream/punctuation.h"
#include "../stream/stream.h"
#include "cut.h"
#include "gs_query_set.h"
#include "missing.h"

struct gs_operator_state;
struct gs_shared_object;

struct gs_operator_settings {
    uint32_t batch_rows;
    uint64_t max_groups; /* groups that one aggregation may hold */
    uint64_t max_rows;   /* rows that one operator may hold */
    const uint64_t *hash_key;
    bool output_punctuation; /* outputs pass on batches without rows too */
    bool only_whole;         /* outputs leave out rows of windows that are cut */
    bool is_part;            /* others have the rest of the groups (runtime/part_order.c) */
    struct gs_output_queue *outputs;
    struct gs_memory *memory;
    bool *failed;
    struct gs_error *failure;       /* why, where it was not memory that was wanting */
    gs_host_map_function *host_map; /* NULL: the host has no functions */
    void *host_context;
    struct gs_shared_object *object; /* of the query set */
};

struct gs_operator_methods {
    const char *name; /* as struct gs_operator_ops has it */
    size_t state_size;
    enum gs_cut_kind cut_kind;
    int (*open)(struct gs_operator_state *op, const struct gs_operator_settings *settings,
                struct gs_error *error);
    void (*on_batch)(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch);
    /* inputs[port] has grown, or the batch is a heartbeat, or has no rows. */
    void (*on_punctuation)(struct gs_operator_state *op, uint32_t port,
                           const struct gs_batch *batch);
    /* A consumer wants this bound of an output column, which is not given yet: what is needed for
     * that is asked of the inputs. */
    void (*on_request)(struct gs_operator_state *op, uint32_t column, gs_bound value);
    /* Nothing comes now. Where it holds rows that only a bound of an input keeps back, it asks for
     * the least that would let one go (gs_operator_ask_input, gs_operator_ask_through); what it
     * puts out by itself is not asked for. NULL: it holds nothing. */
    void (*on_idle)(struct gs_operator_state *op);
    /* Rows of a port up to these values are missing: up to which of the output's columns, and of
     * the operator's own values, what it puts out lacks them. NULL: its columns are the port's. */
    void (*extend)(struct gs_operator_state *op, uint32_t port, struct gs_punctuation *last,
                   struct gs_extent *extent);
    /* Of its own values, below which no row is held or to come. NULL: it extends none of them. */
    void (*reach)(struct gs_operator_state *op, gs_bound *own);
    /* Puts out at most a batch of what is due; true while there is more. */
    bool (*step)(struct gs_operator_state *op);
    uint64_t (*held)(const struct gs_operator_state *op);
    void (*close)(struct gs_operator_state *op);
};

struct gs_operator_state {
    struct gs_operator base; /* first: generated code is given a pointer to it */
    const struct gs_operator_methods *methods;
    const struct gs_node *node;
    struct gs_stages *stages; /* where somebody asks what it costs; or NULL */
    uint32_t index;           /* of the node */
    struct gs_stream stream;
    uint32_t port_count;
    uint32_t *port_columns;           /* columns of each input */
    struct gs_punctuation *inputs;    /* by port: what each has promised */
    const struct gs_stream **sources; /* by port: where they come from */
    struct gs_punctuation given;      /* out, by column of the output */
    struct gs_punctuation next;       /* what is to be given */
    gs_bound *carried;                /* for gs_carry: of the columns, or the group variables */
    /* For the strings of a row that waits for its consumers: they have scratches of their own. */
    struct gs_scratch scratch;
    uint64_t sequence;
    struct gs_holder holder;     /* of what it keeps from batch to batch */
    uint64_t refused_for_memory; /* of groups_refused, and rows_refused */
    uint32_t ended_ports;
    struct gs_missing missing;
    struct gs_cut cut;
    bool is_part;                 /* as the settings have it */
    const bool *shows_heartbeats; /* the queue's */
    /* Of a heartbeat that is on its way through, and shown (received_ns is not 0). */
    int64_t received_ns, away_ns; /* when it came, and what consumers have taken since */
    uint32_t queue_length;        /* rows that waited in the output batch */
    bool *failed; /* there was no memory: of the graph, for which all is over then */
};

/* Makes the operator of a node with `port_count` inputs of these schemas. */
int gs_operator_open(struct gs_operator_state **op, const struct gs_node *node, uint32_t index,
                     uint32_t port_count, const struct gs_schema *const *inputs,
                     const struct gs_operator_settings *settings, const struct gs_host *host,
                     void *const *handles, struct gs_error *error);
void gs_operator_close(struct gs_operator_state *op);

/* What a stream gives the operator (struct gs_consumer): rows first, then the punctuation that
 * closes the batch. */
void gs_operator_take(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch);
/* What a stream asks of the operator that makes it. */
void gs_operator_ask(void *op, uint32_t column, gs_bound value);
/* Asks an input for a bound, unless it has promised as much. */
void gs_operator_ask_input(const struct gs_operator_state *op, uint32_t port, uint32_t column,
                           gs_bound value);
/* Asks the only input for what bounds expression `at` by this value. */
void gs_operator_ask_through(struct gs_operator_state *op, gs_carry_function carry, uint32_t at,
                             gs_bound value);
/* Asks every input for the same bound of the same column. */
void gs_operator_ask_same(struct gs_operator_state *op, uint32_t column, gs_bound value);
/* Raises op->given to op->next; true where something grew. */
bool gs_operator_raise(struct gs_operator_state *op);
/* Every input has ended. */
bool gs_operator_ended(const struct gs_operator_state *op);
/* Takes what a punctuation says to the output bounds by way of op->next, and sends it where
 * it is news, a heartbeat or the end (`is_end`: nothing will follow). */
void gs_operator_progress(struct gs_operator_state *op, const struct gs_batch *cause, bool is_end);
/* Sends the output batch with op->given; `cause` is the heartbeat that it passes on, or NULL. */
void gs_operator_send(struct gs_operator_state *op, const struct gs_batch *cause);
/* The first rows of a batch go on in it, uncopied, under op->given. */
void gs_operator_pass(struct gs_operator_state *op, struct gs_batch *batch, uint32_t row_count);
/* Rows gathered so far go on, whether the batch is full or not. */
void gs_operator_flush_output(struct gs_operator_state *op);
/* Of a part of the groups: some of the window that op->given has come to were refused. A batch
 * without rows says so, since of that window there may be rows in the other parts alone. */
void gs_operator_tell_partial(struct gs_operator_state *op);
/* What generated code calls. */
bool gs_operator_room(struct gs_operator *op, const uint32_t *string_lengths);
void gs_operator_mark(struct gs_operator *op, bool is_partial);

/* Aggregate's part of the host. */
struct gs_group_table *gs_group_window(struct gs_operator *op, const gs_bound *values);
bool gs_group_admit(struct gs_operator *op, struct gs_group_table *table, uint64_t string_bytes);
struct gs_group_value *gs_group_value(struct gs_operator *op, struct gs_group_table *table,
                                      uint32_t group, uint32_t set, struct gs_string bytes);
struct gs_string gs_group_string(struct gs_operator *op, struct gs_group_table *table,
                                 struct gs_string s, uint32_t room);
void gs_list_add(struct gs_operator *op, struct gs_group_table *table, struct gs_value_list *list,
                 struct gs_position position, struct gs_string bytes, uint32_t separator);
void gs_runs_add(struct gs_operator *op, struct gs_group_table *table, struct gs_value_list *list,
                 struct gs_position position, struct gs_string bytes);
uint64_t gs_runs_count(const struct gs_value_list *list);
bool gs_value_list_text(struct gs_operator *op, const struct gs_value_list *list,
                        const struct gs_list_form *form, struct gs_string *text);
bool gs_counts_text(struct gs_operator *op, const struct gs_value_counts *counts,
                    const struct gs_list_form *form, struct gs_string *text);

/* Running's part of the host. */
bool gs_running_keep(struct gs_operator *op, struct gs_string *kept, struct gs_string s);
void gs_running_drop(struct gs_operator *op, struct gs_string *kept);

/* Sample's part of the host. */
void *gs_sample_meet(struct gs_operator *op, struct gs_group_table *table, uint32_t control,
                     const void *row, uint64_t string_bytes);
void *gs_sample_at(struct gs_operator *op, uint32_t number);
struct gs_group_table *gs_sample_admit(struct gs_operator *op, struct gs_group_table *table,
                                       uint64_t string_bytes);
void gs_sample_join(struct gs_operator *op, struct gs_group_table *table, void *supergroup,
                    struct gs_group_table *kept);
void gs_sample_clean(struct gs_operator *op, struct gs_group_table *table, void *supergroup);

/* Join's part of the host. */
const struct gs_join_side *gs_join_side(struct gs_operator *op, uint32_t side);
struct gs_join_row *gs_join_admit(struct gs_operator *op, uint32_t side,
                                  const struct gs_join_row *row, uint64_t bytes);
void gs_join_keep(struct gs_operator *op, uint32_t side, struct gs_join_row *row);

/* The end of a query, and its queue: what Python takes. */
extern const struct gs_operator_methods gs_output_methods;

struct gs_output_item {
    struct gs_batch *batch;
    uint64_t bytes;
    uint32_t node;
};

struct gs_output_queue {
    struct gs_holder holder;
    struct gs_output_item *items;
    uint32_t head, count, capacity;
    bool passes_punctuation; /* from now on, whatever the outputs' settings say */
    /* Somebody sees batches without rows: clocks are asked what a heartbeat costs on its way. */
    bool shows_heartbeats;
};

bool gs_output_push(struct gs_output_queue *queue, uint32_t node, struct gs_batch *batch);
/* NULL where it is empty; the caller releases the batch. */
struct gs_batch *gs_output_take(struct gs_output_queue *queue, uint32_t *node);
void gs_output_clear(struct gs_output_queue *queue);

#endif

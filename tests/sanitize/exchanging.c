/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that divide a file by threads and exchange rows, allocations of which fail (failing.c):
 * whoever has no memory ends it for all, and none waits for rows that will not come. The query set
 * says by two more symbols which of its nodes each part has, which of these cross the cut, and
 * what is above it (gigastream/plan/parts.py). */
#include <pthread.h>
#include <stdlib.h>

#include "faults.h"

#define PARTS_MAX 3
#define NODES_MAX 32
#define COLUMNS_MAX 3 /* of a node that are in order, */
#define WIDTH_MAX 16  /* and of all */
#define EXTENT_BYTES 2000
#define BATCH_ROWS 16
#define INTERFACE "left"

struct part {
    struct run *run;
    uint32_t number;
    struct gs_engine *engine;
    struct gs_attached_set *set;
    pthread_t thread;
};

/* Where each node is: 'b'elow the cut, 'c'rossing it, 'a'bove. */
struct cut {
    const char *places;
    const uint32_t (
        *columns)[COLUMNS_MAX + 1]; /* in whose order its rows are, behind their count */
};

/* What the threads share; the answer is made of what each puts out, under the lock. */
struct run {
    const char *object;
    char *file;
    struct cut cut;
    struct gs_attached_set *above; /* NULL where nothing is */
    uint32_t count;
    struct gs_memory *memory;
    struct gs_exchange *exchange;
    struct gs_extents *extents;
    struct gs_part_order *orders[NODES_MAX];
    struct part parts[PARTS_MAX];
    pthread_mutex_t lock;
    struct outcome *outcome;
    struct gs_text text;
};

static const struct gs_node *node_of(const struct run *run, uint32_t n)
{
    return &run->parts[0].set->query_set->nodes[n];
}

static int open_orders(struct run *run, struct gs_error *error)
{
    uint32_t nodes = gs_attached_node_count(run->parts[0].set);
    for (uint32_t n = 0; n < nodes; n++) {
        const uint32_t *columns = run->cut.columns[n];
        run->orders[n] =
            gs_part_order_new(run->count, columns + 1, columns[0], BATCH_ROWS, run->memory);
        if (run->orders[n] == NULL) return gs_fail(error, GS_ERROR, "no memory for an order");
    }
    return GS_OK;
}

static int find_cut(struct run *run, const struct gs_attached_set *set, struct gs_error *error)
{
    run->cut.places = gs_shared_object_symbol(set->object, "cut_places");
    run->cut.columns = gs_shared_object_symbol(set->object, "cut_columns");
    if (run->cut.places != NULL && run->cut.columns != NULL &&
        gs_attached_node_count(set) <= NODES_MAX)
        return GS_OK;
    return gs_fail(error, GS_REFUSED, "a query set that says no cut, or has too many nodes");
}

static int cut_below(const struct cut *cut, struct gs_attached_set *set, struct gs_error *error)
{
    for (uint32_t n = 0; n < gs_attached_node_count(set); n++) {
        if (cut->places[n] == 'a')
            GS_RETURN_IF_ERROR(gs_attached_place(set, n, GS_PLACE_ELSEWHERE, error));
        if (cut->places[n] == 'c') GS_RETURN_IF_ERROR(gs_attached_tap(set, n, error));
    }
    return GS_OK;
}

static int cut_above(const struct cut *cut, struct gs_attached_set *set, struct gs_error *error)
{
    for (uint32_t n = 0; n < gs_attached_node_count(set); n++) {
        bool is_low = set->query_set->nodes[n].kind == GS_NODE_LFTA;
        if (cut->places[n] == 'b')
            GS_RETURN_IF_ERROR(gs_attached_place(set, n, GS_PLACE_ELSEWHERE, error));
        if (cut->places[n] == 'c' && !is_low)
            GS_RETURN_IF_ERROR(gs_attached_place(set, n, GS_PLACE_PUSHED, error));
    }
    return GS_OK;
}

static struct gs_attached_settings settings_of(const struct run *run)
{
    return (struct gs_attached_settings){.batch_rows = BATCH_ROWS,
                                         .default_slot_count = 64,
                                         .set_count = run->count,
                                         .flush_policy = -1,
                                         .max_groups = 100000,
                                         .max_rows = 100000,
                                         .hash_key = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f},
                                         .memory = run->memory};
}

/* A low node has a port for each part. */
static int open_above(struct run *run, struct gs_error *error)
{
    struct gs_attached_settings settings = settings_of(run);
    if (strchr(run->cut.places, 'a') == NULL) return GS_OK;
    settings.high_level_only = true;
    GS_RETURN_IF_ERROR(gs_attached_load(run->object, &settings, &run->above, error));
    GS_RETURN_IF_ERROR(cut_above(&run->cut, run->above, error));
    for (uint32_t p = 0; p < run->count; p++)
        GS_RETURN_IF_ERROR(gs_attached_add_interface(run->above, INTERFACE, error));
    return gs_attached_stand_alone(run->above, error);
}

static int open_part(struct run *run, uint32_t number, struct gs_error *error)
{
    struct part *part = &run->parts[number];
    struct gs_attached_settings settings = settings_of(run);
    struct gs_engine_settings reading = {.burst = 64, .disorder_bytes = 3000, .fast_path = true};
    struct gs_source_config source = {.label = run->file,
                                      .path = run->file,
                                      .interface = INTERFACE,
                                      .extents = run->extents,
                                      .reader = number,
                                      .promise_ns = INT64_MIN};
    settings.output_punctuation = true;
    settings.exchange = run->exchange;
    settings.part = number;
    *part = (struct part){.run = run, .number = number};
    GS_RETURN_IF_ERROR(gs_attached_load(run->object, &settings, &part->set, error));
    GS_RETURN_IF_ERROR(find_cut(run, part->set, error));
    GS_RETURN_IF_ERROR(cut_below(&run->cut, part->set, error));
    GS_RETURN_IF_ERROR(gs_engine_new(&reading, &part->engine, error));
    GS_RETURN_IF_ERROR(gs_engine_add_source(part->engine, &source, error));
    GS_RETURN_IF_ERROR(gs_engine_attach(part->engine, part->set, error));
    return gs_engine_start(part->engine, error);
}

static int open_all(struct run *run, struct gs_error *error)
{
    run->memory = gs_memory_new(UINT64_C(1) << 30);
    run->exchange = gs_exchange_new(run->count, run->memory);
    run->extents = gs_extents_new(1, run->count, EXTENT_BYTES);
    if (!run->memory || !run->exchange || !run->extents)
        return gs_fail(error, GS_ERROR, "no memory for what threads share");
    for (uint32_t number = 0; number < run->count; number++)
        GS_RETURN_IF_ERROR(open_part(run, number, error));
    GS_RETURN_IF_ERROR(open_above(run, error));
    return open_orders(run, error);
}

/* ---- the threads ---- */

/* What is due above. */
static int answer_above(struct run *run)
{
    uint32_t node;
    struct gs_batch *batch;
    int status;
    while ((status = gs_attached_drain(run->above, &run->outcome->error)) == GS_OK) {
        while (status == GS_OK && (batch = gs_attached_take(run->above, &node)) != NULL) {
            status = show(batch, &run->text, run->outcome);
            gs_batch_release(batch);
        }
        GS_RETURN_IF_ERROR(status);
    }
    return status == GS_END ? GS_OK : status;
}

/* Of a node that crosses the cut, from this part. */
static uint32_t port_of(const struct run *run, uint32_t node, uint32_t part)
{
    uint32_t port = 0;
    while (gs_attached_port_node(run->above, port) != node)
        port++;
    return node_of(run, node)->kind == GS_NODE_LFTA ? port + part : port;
}

/* Its windows go on, in their order. */
static int give(struct run *run, uint32_t node, struct gs_batch *batch)
{
    struct outcome *outcome = run->outcome;
    if (run->cut.places[node] == 'b') return show(batch, &run->text, outcome);
    return gs_attached_hand_over(run->above, port_of(run, node, 0), batch, &outcome->error);
}

static int give_next(struct run *run, uint32_t node)
{
    struct gs_batch *batch;
    for (;;) {
        GS_RETURN_IF_ERROR(gs_part_order_take(run->orders[node], &batch, &run->outcome->error));
        if (batch == NULL) return GS_OK;
        int status = give(run, node, batch);
        gs_batch_release(batch);
        GS_RETURN_IF_ERROR(status);
    }
}

/* Behind the rows, what the order says is behind them; once, that it is the end. */
static int promise(struct run *run, uint32_t node)
{
    gs_bound values[COLUMNS_MAX], bounds[WIDTH_MAX];
    const uint32_t *columns = run->cut.columns[node];
    uint32_t port = port_of(run, node, 0);
    struct gs_push push = {.port = port, .bounds = bounds};
    if (run->above->graph.ports[port].is_ended) return GS_OK;
    for (uint32_t c = 0; c < node_of(run, node)->schema->column_count; c++)
        bounds[c] = GS_BOUND_NONE;
    push.is_end = gs_part_order_bounds(run->orders[node], values);
    for (uint32_t k = 0; k < columns[0]; k++)
        bounds[columns[1 + k]] = values[k];
    return gs_attached_push(run->above, &push, &run->outcome->error);
}

static int take(struct part *part, uint32_t node, struct gs_batch *batch)
{
    struct run *run = part->run;
    struct gs_error *error = &run->outcome->error;
    bool crosses = run->cut.places[node] == 'c';
    if (crosses && node_of(run, node)->kind == GS_NODE_LFTA)
        return gs_attached_hand_over(run->above, port_of(run, node, part->number), batch, error);
    GS_RETURN_IF_ERROR(gs_part_order_add(run->orders[node], part->number, batch, error));
    GS_RETURN_IF_ERROR(give_next(run, node));
    return crosses ? promise(run, node) : GS_OK;
}

static int answer(struct part *part)
{
    uint32_t node;
    struct gs_batch *batch;
    while ((batch = gs_attached_take(part->set, &node)) != NULL) {
        int status = take(part, node, batch);
        gs_batch_release(batch);
        GS_RETURN_IF_ERROR(status);
    }
    return part->run->above != NULL ? answer_above(part->run) : GS_OK;
}

/* False: it is over, for one that has failed or for all. */
static bool take_turn(struct part *part)
{
    struct run *run = part->run;
    struct gs_error error;
    int status = gs_engine_run(part->engine, 20, 100, &error);
    bool goes_on = status < GS_ERROR;
    pthread_mutex_lock(&run->lock);
    if (run->outcome->status == GS_OK && !goes_on)
        run->outcome->status = gs_fail(&run->outcome->error, error.code, "%s", error.message);
    if (run->outcome->status == GS_OK) run->outcome->status = answer(part);
    goes_on = run->outcome->status == GS_OK && status != GS_END;
    pthread_mutex_unlock(&run->lock);
    return goes_on;
}

static void *work(void *context)
{
    struct part *part = context;
    struct run *run = part->run;
    while (take_turn(part))
        continue;
    pthread_mutex_lock(&run->lock);
    bool has_failed = run->outcome->status != GS_OK;
    pthread_mutex_unlock(&run->lock);
    if (has_failed) gs_exchange_end(run->exchange);
    if (has_failed) gs_extents_end(run->extents);
    return NULL;
}

static void run_parts(struct run *run)
{
    for (uint32_t p = 0; p < run->count; p++)
        if (pthread_create(&run->parts[p].thread, NULL, work, &run->parts[p]) != 0) abort();
    for (uint32_t p = 0; p < run->count; p++)
        pthread_join(run->parts[p].thread, NULL);
    for (uint32_t p = 0; p < run->count; p++)
        count_refused(run->parts[p].set, run->outcome);
    if (run->above != NULL) count_refused(run->above, run->outcome);
}

static void close_all(struct run *run)
{
    for (uint32_t p = 0; p < run->count; p++) {
        gs_attached_free(run->parts[p].set);
        gs_engine_free(run->parts[p].engine);
    }
    gs_attached_free(run->above);
    for (uint32_t n = 0; n < NODES_MAX; n++)
        gs_part_order_free(run->orders[n]);
    gs_exchange_free(run->exchange);
    gs_extents_free(run->extents);
    gs_text_free(&run->text);
}

/* Of all that was held nothing is, once all is closed. */
static void run_threads(const char *object, char *file, uint32_t count, struct outcome *outcome)
{
    struct run run = {.object = object,
                      .file = file,
                      .count = count,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .outcome = outcome};
    outcome->status = open_all(&run, &outcome->error);
    if (outcome->status == GS_OK) run_parts(&run);
    close_all(&run);
    uint64_t held = run.memory != NULL ? gs_memory_held(run.memory) : 0;
    if (held != 0)
        outcome->status = gs_fail(&outcome->error, GS_DAMAGED, "%llu bytes of the account are held",
                                  (unsigned long long)held);
    free(run.memory);
}

struct outcome run_all(const char *object, int count, char **files)
{
    struct outcome outcome = {.digest = FIRST_DIGEST};
    for (uint32_t parts = 2; parts <= PARTS_MAX && outcome.status == GS_OK && count > 0; parts++)
        run_threads(object, files[0], parts, &outcome);
    return outcome;
}

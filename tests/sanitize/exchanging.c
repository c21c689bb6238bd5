/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that divide a file by threads and exchange rows, allocations of which fail (failing.c):
 * whoever has no memory ends it for all, and none waits for rows that will not come. */
#include <pthread.h>
#include <stdlib.h>

#include "faults.h"

#define PARTS_MAX 3
#define NODES_MAX 16
#define EXTENT_BYTES 2000

struct part {
    struct run *run;
    uint32_t number;
    struct gs_engine *engine;
    struct gs_attached_set *set;
    pthread_t thread;
};

/* What the threads share; the answer is made of what each puts out, under the lock. */
struct run {
    const char *object;
    char *file;
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

static int open_orders(struct run *run, struct gs_error *error)
{
    static const uint32_t first_column[] = {0};
    uint32_t nodes = gs_attached_node_count(run->parts[0].set);
    if (nodes > NODES_MAX) return gs_fail(error, GS_REFUSED, "too many nodes");
    for (uint32_t n = 0; n < nodes; n++) {
        run->orders[n] = gs_part_order_new(run->count, first_column, 1, 16, run->memory);
        if (run->orders[n] == NULL) return gs_fail(error, GS_ERROR, "no memory for an order");
    }
    return GS_OK;
}

static int open_part(struct run *run, uint32_t number, struct gs_error *error)
{
    struct part *part = &run->parts[number];
    struct gs_attached_settings settings = {.batch_rows = 16,
                                            .default_slot_count = 64,
                                            .set_count = run->count,
                                            .flush_policy = -1,
                                            .max_groups = 100000,
                                            .max_rows = 100000,
                                            .hash_key = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f},
                                            .memory = run->memory,
                                            .output_punctuation = true,
                                            .exchange = run->exchange,
                                            .part = number};
    struct gs_engine_settings reading = {.burst = 64, .disorder_bytes = 3000, .fast_path = true};
    struct gs_source_config source = {.label = run->file,
                                      .path = run->file,
                                      .interface = "left",
                                      .extents = run->extents,
                                      .promise_ns = INT64_MIN};
    *part = (struct part){.run = run, .number = number};
    GS_RETURN_IF_ERROR(gs_attached_load(run->object, &settings, &part->set, error));
    GS_RETURN_IF_ERROR(gs_engine_new(&reading, &part->engine, error));
    GS_RETURN_IF_ERROR(gs_engine_add_source(part->engine, &source, error));
    GS_RETURN_IF_ERROR(gs_engine_attach(part->engine, part->set, error));
    return gs_engine_start(part->engine, error);
}

static int open_all(struct run *run, struct gs_error *error)
{
    run->memory = gs_memory_new(UINT64_C(1) << 30);
    run->exchange = gs_exchange_new(run->count, run->memory);
    run->extents = gs_extents_new(EXTENT_BYTES);
    if (!run->memory || !run->exchange || !run->extents)
        return gs_fail(error, GS_ERROR, "no memory for what threads share");
    for (uint32_t number = 0; number < run->count; number++)
        GS_RETURN_IF_ERROR(open_part(run, number, error));
    return open_orders(run, error);
}

/* ---- the threads ---- */

static int show_next(struct run *run, struct gs_part_order *order)
{
    struct gs_batch *batch;
    struct outcome *outcome = run->outcome;
    for (;;) {
        GS_RETURN_IF_ERROR(gs_part_order_take(order, &batch, &outcome->error));
        if (batch == NULL) return GS_OK;
        int status = show(batch, &run->text, outcome);
        gs_batch_release(batch);
        GS_RETURN_IF_ERROR(status);
    }
}

static int answer(struct part *part)
{
    struct run *run = part->run;
    uint32_t node;
    struct gs_batch *batch;
    while ((batch = gs_attached_take(part->set, &node)) != NULL) {
        int status =
            gs_part_order_add(run->orders[node], part->number, batch, &run->outcome->error);
        gs_batch_release(batch);
        GS_RETURN_IF_ERROR(status);
        GS_RETURN_IF_ERROR(show_next(run, run->orders[node]));
    }
    return GS_OK;
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
}

static void close_all(struct run *run)
{
    for (uint32_t p = 0; p < run->count; p++) {
        gs_attached_free(run->parts[p].set);
        gs_engine_free(run->parts[p].engine);
    }
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

/* SPDX-License-Identifier: Apache-2.0 */
/* The whole engine, allocations of which fail (failing.c): both levels together, beside another
 * set, apart, and of a link. */
#include <stdarg.h>
#include <stdlib.h>

#include "faults.h"

static int show_all(struct gs_attached_set *set, struct gs_text *text, struct outcome *outcome)
{
    uint32_t node;
    struct gs_batch *batch;
    int status = GS_OK;
    while (status == GS_OK && (batch = gs_attached_take(set, &node)) != NULL) {
        status = show(batch, text, outcome);
        gs_batch_release(batch);
    }
    return status;
}

static int run(struct gs_engine *engine, struct gs_attached_set *set, struct gs_text *text,
               struct outcome *outcome)
{
    int status = GS_OK;
    while (status == GS_OK || status == GS_AGAIN) {
        status = gs_engine_run(engine, 1000, 100, &outcome->error);
        if (status >= GS_ERROR) return status;
        int shown = show_all(set, text, outcome);
        if (shown != GS_OK) return shown;
    }
    count_refused(set, outcome);
    return status == GS_END ? GS_OK : status;
}

static const char *const names[] = {"left", "right"};

static int add_sources(struct gs_engine *engine, int count, char **files, struct gs_error *error)
{
    struct gs_source_config source = {.promise_ns = INT64_MIN};
    for (int i = 0; i < count; i++) {
        source.label = source.path = files[i];
        source.interface = names[i % 2];
        GS_RETURN_IF_ERROR(gs_engine_add_source(engine, &source, error));
    }
    return GS_OK;
}

/* The list of networks, which packets of the set meet if it has one. */
static int give_list(struct gs_attached_set *set, struct gs_error *error)
{
    static const uint8_t types[] = {GS_INET, GS_STRING, GS_UINT, GS_STRING};
    static const uint8_t is_key[] = {1, 0, 0, 0};
    static const int32_t columns[] = {0, 1, 2, 3};
    struct gs_watchlist_shape shape = {4, types, is_key, 1 << 20, {1, 2}};
    uint8_t lines[] = "10.0.0.0/8,hall,1,\n::/0,,2,six\n10.20.0.0/16,\"lib\"\"rary\",3,x\nwrong\n";
    struct gs_watchlist_text text = {lines, sizeof lines - 1, columns, 4};
    struct gs_watchlist *list;
    if (set->query_set->watchlist_count == 0) return GS_OK;
    int status = gs_watchlist_new(&shape, &list, error);
    if (status == GS_OK) status = gs_watchlist_add(list, &text, error);
    if (status == GS_OK) status = gs_attached_give_watchlist(set, 0, list, error);
    if (status != GS_OK) gs_watchlist_free(list);
    return status;
}

static int start(struct gs_engine *engine, struct gs_attached_set *set, int count, char **files,
                 struct gs_error *error)
{
    GS_RETURN_IF_ERROR(add_sources(engine, count, files, error));
    GS_RETURN_IF_ERROR(gs_engine_attach(engine, set, error));
    GS_RETURN_IF_ERROR(give_list(set, error));
    return gs_engine_start(engine, error);
}

static const struct gs_engine_settings reading = {
    .burst = 64, .disorder_bytes = 16 << 20, .heartbeat_ns = 1000000000, .heartbeat_packets = 100};

static struct gs_attached_settings settings_of(void)
{
    return (struct gs_attached_settings){.batch_rows = 16,
                                         .default_slot_count = 64,
                                         .flush_policy = -1,
                                         .max_groups = 100000,
                                         .max_rows = 100000,
                                         .hash_key = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f}};
}

/* Both levels in one engine. */
static int together(const char *object, int count, char **files, struct gs_text *text,
                    struct outcome *outcome)
{
    struct gs_engine *engine = NULL;
    struct gs_attached_set *set = NULL;
    struct gs_attached_settings settings = settings_of();
    int status = gs_attached_load(object, &settings, &set, &outcome->error);
    if (status == GS_OK) status = gs_engine_new(&reading, &engine, &outcome->error);
    if (status == GS_OK) status = start(engine, set, count, files, &outcome->error);
    if (status == GS_OK) status = run(engine, set, text, outcome);
    gs_engine_free(engine);
    gs_attached_free(set);
    return status;
}

static int show_both(struct gs_attached_set **sets, struct gs_text *text, struct outcome *each,
                     struct gs_error *error)
{
    for (int i = 0; i < 2; i++) {
        int status = show_all(sets[i], text, &each[i]);
        if (status != GS_OK) return gs_fail(error, status, "%s", each[i].error.message);
    }
    return GS_OK;
}

static int run_both(struct gs_engine *engine, struct gs_attached_set **sets, struct gs_text *text,
                    struct outcome *each, struct gs_error *error)
{
    int status = GS_OK;
    while (status == GS_OK || status == GS_AGAIN) {
        status = gs_engine_run(engine, 1000, 100, error);
        if (status >= GS_ERROR) return status;
        int shown = show_both(sets, text, each, error);
        if (shown != GS_OK) return shown;
    }
    return status == GS_END ? GS_OK : status;
}

/* The set that can go on has answered as if alone. */
static int judge(struct gs_attached_set **sets, struct outcome *each, uint64_t right,
                 struct gs_error *error)
{
    int failed = 0;
    for (int i = 0; i < 2; i++) {
        count_refused(sets[i], &each[i]);
        if (gs_attached_check(sets[i], NULL) != GS_OK)
            failed++;
        else if (each[i].refused == 0 && each[i].digest != right)
            return gs_fail(error, GS_DAMAGED, "a set that had memory has another answer");
    }
    return failed == 0 ? GS_OK : gs_fail(error, GS_ERROR, "%d of 2 sets had no memory", failed);
}

/* Two sets of one engine; `right` is the digest of either. */
static int beside(const char *object, int count, char **files, uint64_t right, struct gs_text *text,
                  struct outcome *outcome)
{
    struct gs_engine *engine = NULL;
    struct gs_attached_set *sets[2] = {NULL, NULL};
    struct outcome each[2] = {{.digest = FIRST_DIGEST}, {.digest = FIRST_DIGEST}};
    struct gs_attached_settings settings = settings_of();
    struct gs_error *error = &outcome->error;
    int status = gs_engine_new(&reading, &engine, error);
    for (int i = 0; i < 2 && status == GS_OK; i++)
        status = gs_attached_load(object, &settings, &sets[i], error);
    if (status == GS_OK) status = add_sources(engine, count, files, error);
    for (int i = 0; i < 2 && status == GS_OK; i++)
        status = gs_engine_attach(engine, sets[i], error);
    for (int i = 0; i < 2 && status == GS_OK; i++)
        status = give_list(sets[i], error);
    if (status == GS_OK) status = gs_engine_start(engine, error);
    if (status == GS_OK) status = run_both(engine, sets, text, each, error);
    if (status == GS_OK) status = judge(sets, each, right, error);
    outcome->refused += each[0].refused + each[1].refused;
    for (int i = 0; i < 2; i++)
        gs_attached_free(sets[i]);
    gs_engine_free(engine);
    return status;
}

/* By Arrow, as from a spool, or as it is, as from another thread's engine. */
static int carry(struct gs_attached_set *high, uint32_t port, struct gs_batch *batch, bool by_arrow,
                 struct gs_error *error)
{
    struct ArrowArray array;
    struct ArrowSchema schema;
    if (!by_arrow) return gs_attached_hand_over(high, port, batch, error);
    GS_RETURN_IF_ERROR(gs_batch_export(batch, &array, &schema, error));
    struct gs_push push = {.port = port,
                           .array = &array,
                           .schema = &schema,
                           .bounds = batch->punctuation.bounds,
                           .is_heartbeat = batch->is_heartbeat,
                           .is_end = batch->is_end};
    return gs_attached_push(high, &push, error);
}

static int carry_all(struct gs_attached_set *low, struct gs_attached_set *high,
                     struct gs_text *text, struct outcome *outcome)
{
    uint32_t origin, nodes = gs_attached_node_count(low);
    struct gs_batch *batch;
    int status = GS_OK;
    while (status == GS_OK && (batch = gs_attached_take(low, &origin)) != NULL) {
        uint32_t port = origin - nodes;
        status = carry(high, port, batch, port % 2 == 0, &outcome->error);
        gs_batch_release(batch);
        while (status == GS_OK) {
            status = gs_attached_drain(high, &outcome->error);
            if (status == GS_OK || status == GS_END) {
                int shown = show_all(high, text, outcome);
                if (shown != GS_OK) status = shown;
            }
        }
        if (status == GS_END) status = GS_OK;
    }
    return status;
}

static int pass(struct gs_engine *engine, struct gs_attached_set *low, struct gs_attached_set *high,
                struct gs_text *text, struct outcome *outcome)
{
    int status = GS_OK;
    while (status == GS_OK || status == GS_AGAIN) {
        status = gs_engine_run(engine, 1000, 100, &outcome->error);
        if (status >= GS_ERROR) return status;
        int carried = carry_all(low, high, text, outcome);
        if (carried != GS_OK) return carried;
    }
    count_refused(high, outcome);
    return GS_OK;
}

/* Each level in a set of its own. */
static int apart(const char *object, int count, char **files, struct gs_text *text,
                 struct outcome *outcome)
{
    struct gs_engine *engine = NULL;
    struct gs_attached_set *low = NULL, *high = NULL;
    struct gs_attached_settings settings = settings_of();
    struct gs_error *error = &outcome->error;
    settings.low_level_only = settings.low_taps = true;
    int status = gs_attached_load(object, &settings, &low, error);
    settings.low_level_only = settings.low_taps = false;
    settings.high_level_only = true;
    if (status == GS_OK) status = gs_attached_load(object, &settings, &high, error);
    for (int i = 0; i < 2 && status == GS_OK; i++)
        status = gs_attached_add_interface(high, names[i], error);
    if (status == GS_OK) status = gs_attached_stand_alone(high, error);
    if (status == GS_OK) status = gs_engine_new(&reading, &engine, error);
    if (status == GS_OK) status = start(engine, low, count, files, error);
    if (status == GS_OK) status = pass(engine, low, high, text, outcome);
    gs_attached_free(low);
    gs_attached_free(high);
    gs_engine_free(engine);
    return status;
}

/* A link whose ring is made of memory. */
static int live(const char *object, struct gs_text *text, struct outcome *outcome)
{
    static const uint8_t frame[64] = {0};
    struct gs_error *error = &outcome->error;
    struct gs_engine *engine = NULL;
    struct gs_attached_set *set = NULL;
    struct gs_attached_settings settings = settings_of();
    struct gs_mock_ring *ring = gs_mock_ring_new(1 << 16, 2, 1);
    if (ring == NULL) return gs_fail(error, GS_ERROR, "no memory for a ring");
    struct gs_live_config link = {.device = "mock",
                                  .block_bytes = 1 << 16,
                                  .block_count = 2,
                                  .retire_timeout_ms = 100,
                                  .snap_length = 1 << 16,
                                  .ring_device = gs_mock_ring_device(ring)};
    struct gs_source_config source = {.label = "mock",
                                      .interface = "left",
                                      .live = &link,
                                      .max_skew_ns = 2000000000,
                                      .promise_ns = INT64_MIN};
    struct gs_mock_packet packet = {
        .timestamp_ns = 1700000000000000000, .bytes = frame, .caplen = 64, .len = 64};
    gs_mock_ring_receive(ring, &packet);
    gs_mock_ring_retire(ring);
    int status = gs_attached_load(object, &settings, &set, error);
    if (status == GS_OK) status = gs_engine_new(&reading, &engine, error);
    if (status == GS_OK) gs_engine_set_clock(engine, 0, 1700000000000000000);
    if (status == GS_OK) status = gs_engine_add_source(engine, &source, error);
    if (status == GS_OK) status = gs_engine_attach(engine, set, error);
    if (status == GS_OK) status = gs_engine_start(engine, error);
    if (status == GS_OK) gs_engine_stop(engine);
    if (status == GS_OK) status = run(engine, set, text, outcome);
    gs_engine_free(engine);
    gs_attached_free(set);
    gs_mock_ring_free(ring);
    return status;
}

struct outcome run_all(const char *object, int count, char **files)
{
    struct outcome outcome = {.digest = FIRST_DIGEST};
    struct gs_text text = {0};
    outcome.status = together(object, count, files, &text, &outcome);
    uint64_t alone = outcome.digest;
    if (outcome.status == GS_OK && outcome.refused == 0)
        outcome.status = beside(object, count, files, alone, &text, &outcome);
    if (outcome.status == GS_OK) outcome.status = apart(object, count, files, &text, &outcome);
    if (outcome.status == GS_OK) outcome.status = live(object, &text, &outcome);
    gs_text_free(&text);
    return outcome;
}

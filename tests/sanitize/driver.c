/* SPDX-License-Identifier: Apache-2.0 */
/* The engine without Python: driver QUERY_SET.so BURST BATCH_ROWS SLOTS POLICY INTERFACES FILE…
 * runs the query set over each file alone and writes its rows, as csv and as json, to the standard
 * output. Two INTERFACES read the same file. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arrow/batch.h"
#include "gigastream.h"
#include "output/rows.h"

static void write_all(const struct gs_text *text)
{
    for (size_t at = 0; at < text->length;) {
        ssize_t wrote = write(STDOUT_FILENO, text->bytes + at, text->length - at);
        if (wrote < 0) exit(EXIT_FAILURE);
        at += (size_t)wrote;
    }
}

static void show(struct gs_batch *batch, struct gs_text *text)
{
    struct ArrowArray array;
    struct ArrowSchema schema;
    struct gs_error error;
    text->length = 0;
    if (gs_csv_rows(batch, text) != GS_OK || gs_json_rows(batch, "q", text) != GS_OK ||
        gs_batch_export(batch, &array, &schema, &error) != GS_OK)
        exit(EXIT_FAILURE);
    write_all(text);
    array.release(&array);
    schema.release(&schema);
    gs_batch_release(batch);
}

static int run(struct gs_engine *engine, struct gs_attached_set *set, struct gs_text *text,
               struct gs_error *error)
{
    int status = GS_OK;
    while (status == GS_OK || status == GS_AGAIN) {
        uint32_t node;
        struct gs_batch *batch;
        status = gs_engine_run(engine, 1000, 100, error);
        while ((batch = gs_attached_take(set, &node)) != NULL)
            show(batch, text);
    }
    return status;
}

static int start(struct gs_engine *engine, struct gs_attached_set *set, const char *file,
                 int interfaces, struct gs_error *error)
{
    static const char *const names[] = {"left", "right"};
    struct gs_source_config source = {.label = file, .path = file, .promise_ns = INT64_MIN};
    for (int i = 0; i < interfaces; i++) {
        source.interface = interfaces == 1 ? "default" : names[i];
        source.use_mmap = i == 1;
        GS_RETURN_IF_ERROR(gs_engine_add_source(engine, &source, error));
    }
    GS_RETURN_IF_ERROR(gs_engine_attach(engine, set, error));
    return gs_engine_start(engine, error);
}

static void answer(const char *object, const struct gs_attached_settings *settings, uint32_t burst,
                   int interfaces, const char *file, struct gs_text *text)
{
    struct gs_error error = {0};
    struct gs_engine *engine = NULL;
    struct gs_attached_set *set = NULL;
    struct gs_engine_settings reading = {.burst = burst,
                                         .disorder_bytes = 16 << 20,
                                         .heartbeat_ns = 1000000000,
                                         .heartbeat_packets = 1000};
    int status = gs_attached_load(object, settings, &set, &error);
    if (status == GS_OK) status = gs_engine_new(&reading, &engine, &error);
    if (status == GS_OK) status = start(engine, set, file, interfaces, &error);
    if (status == GS_OK) status = run(engine, set, text, &error);
    fprintf(stderr, "%s: %d %s\n", file, status, error.message);
    gs_engine_free(engine);
    gs_attached_free(set);
}

int main(int argc, char **argv)
{
    if (argc < 7) return EXIT_FAILURE;
    struct gs_attached_settings settings = {.batch_rows = (uint32_t)atoi(argv[3]),
                                            .default_slot_count = 64,
                                            .slot_count = atoi(argv[4]),
                                            .flush_policy = atoi(argv[5]),
                                            .max_groups = 100000,
                                            .max_rows = 100000,
                                            .hash_key = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f}};
    struct gs_text text = {0};
    for (int i = 7; i < argc; i++)
        answer(argv[1], &settings, (uint32_t)atoi(argv[2]), atoi(argv[6]), argv[i], &text);
    gs_text_free(&text);
    return EXIT_SUCCESS;
}

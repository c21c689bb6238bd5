/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the whole engine, a query set over a capture. The first byte chooses the query set
 * (of the objects that GIGASTREAM_FUZZ_OBJECTS names, split at colons), the second the settings. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/batch.h"
#include "gigastream.h"
#include "memory_file.h"
#include "output/rows.h"

enum { MOST_OBJECTS = 64 };

static char *objects[MOST_OBJECTS];
static unsigned object_count;

int LLVMFuzzerInitialize(int *count, char ***words)
{
    (void)count, (void)words;
    const char *named = getenv("GIGASTREAM_FUZZ_OBJECTS");
    char *names = named == NULL ? NULL : strdup(named);
    for (char *name = names ? strtok(names, ":") : NULL; name; name = strtok(NULL, ":"))
        if (object_count < MOST_OBJECTS && dlopen(name, RTLD_NOW | RTLD_LOCAL) != NULL)
            objects[object_count++] = name; /* held: loading costs more than an input */
    if (object_count > 0) return 0;
    fprintf(stderr, "GIGASTREAM_FUZZ_OBJECTS names no query sets\n");
    exit(2);
}

static void show_all(struct gs_attached_set *set, struct gs_text *text)
{
    uint32_t node;
    for (struct gs_batch *batch; (batch = gs_attached_take(set, &node)) != NULL;) {
        text->length = 0;
        if (gs_csv_rows(batch, text) != GS_OK || gs_json_rows(batch, "q", text) != GS_OK) abort();
        gs_batch_release(batch);
    }
}

static void run(struct gs_engine *engine, struct gs_attached_set *set, struct gs_error *error)
{
    struct gs_text text = {0};
    int status;
    do {
        status = gs_engine_run(engine, 100, 0, error);
        show_all(set, &text);
    } while (status == GS_OK || status == GS_AGAIN);
    gs_text_free(&text);
}

static struct gs_engine_settings reading_of(uint8_t bits)
{
    return (struct gs_engine_settings){.burst = bits & 1 ? 3 : 16,
                                       .fast_path = bits & 32,
                                       .disorder_bytes = 1 << 10,
                                       .slack_ns = 1000000000,
                                       .heartbeat_ns = 1000000000,
                                       .heartbeat_packets = 10};
}

static struct gs_attached_settings settings_of(uint8_t bits)
{
    return (struct gs_attached_settings){.batch_rows = bits & 2 ? 2 : 16,
                                         .default_slot_count = bits & 4 ? 2 : 16,
                                         .flush_policy = (bits >> 3) % 5 - 1,
                                         .max_groups = bits & 64 ? 3 : 1000,
                                         .max_rows = 100000,
                                         .hash_key = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f}};
}

/* As the host opens a pipe: its first bytes have been read. */
static int open_pipe(void *context, struct gs_opened *opened, struct gs_error *error)
{
    (void)error;
    opened->descriptor = *(int *)context;
    ssize_t got = read(opened->descriptor, opened->first_bytes, 4);
    opened->first_byte_count = got > 0 ? (uint32_t)got : 0;
    return GS_OK;
}

static void answer(const char *object, uint8_t bits, int input)
{
    struct gs_engine_settings reading = reading_of(bits);
    struct gs_attached_settings settings = settings_of(bits);
    struct gs_source_config source = {.interface = "default",
                                      .label = "input",
                                      .open = open_pipe,
                                      .context = &input,
                                      .is_pipe = bits & 128,
                                      .promise_ns = INT64_MIN};
    struct gs_engine *engine = NULL;
    struct gs_attached_set *set = NULL;
    struct gs_error error;
    char name[32];
    if (!source.is_pipe) {
        source.path = name_of(input, name, sizeof name);
        source.open = NULL;
    }
    if (gs_attached_load(object, &settings, &set, &error) == GS_OK &&
        gs_engine_new(&reading, &engine, &error) == GS_OK &&
        gs_engine_add_source(engine, &source, &error) == GS_OK &&
        gs_engine_attach(engine, set, &error) == GS_OK && gs_engine_start(engine, &error) == GS_OK)
        run(engine, set, &error);
    gs_engine_free(engine);
    gs_attached_free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > GS_PIPE_BYTES) return 0;
    int input = open_input(data + 2, size - 2, data[1] & 128);
    if (input < 0) return 0;
    answer(objects[data[0] % object_count], data[1], input);
    close(input);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ORDER BY … LIMIT as its neighbours meet it: `order_driver LIMIT MAX_ROWS GROUPS` reads lines;
 * with GROUPS above 0 the limit is one of each group, values of the same remainder row WINDOW VALUE
 * a row, of which the greatest values of a window come first bound WINDOW       no later row is
 * below it fill, free         others take all memory that is left; they give it back idle nothing
 * comes end and prints `row WINDOW VALUE PARTIAL` for each that leaves, `PARTIAL` being 1 where
 * rows of its window are missing, and at the end `work COMPARISONS CUT REFUSED LATE PEAK HELD`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "hfta/operator.h"

#define MEMORY_BYTES (1 << 20)

static const uint64_t key[GS_HASH_KEY_WORDS] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};
static const struct gs_field fields[] = {{"window", "", GS_LLONG, 0, 1, 0},
                                         {"value", "", GS_LLONG, 0, 0, 0}};
static const struct gs_schema schema = {"rows", 2, fields};
static uint64_t comparisons;

static int64_t cell(const struct gs_batch *batch, uint32_t column, uint32_t row)
{
    return ((const int64_t *)batch->columns[column].values)[row];
}

static void put(struct gs_batch *batch, int64_t window, int64_t value)
{
    ((int64_t *)batch->columns[0].values)[batch->row_count] = window;
    ((int64_t *)batch->columns[1].values)[batch->row_count++] = value;
}

static int compare(const struct gs_batch *a, uint32_t i, const struct gs_batch *b, uint32_t j)
{
    comparisons++;
    return (cell(a, 1, i) < cell(b, 1, j)) - (cell(a, 1, i) > cell(b, 1, j));
}

static int64_t groups;

static int compare_groups(const struct gs_batch *a, uint32_t i, const struct gs_batch *b,
                          uint32_t j)
{
    int64_t x = cell(a, 1, i) % groups, y = cell(b, 1, j) % groups;
    return (x > y) - (x < y);
}

static void copy(struct gs_operator *op, const struct gs_batch *input, uint32_t row)
{
    if (gs_operator_room(op, NULL)) put(op->output, cell(input, 0, row), cell(input, 1, row));
}

static void take(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch)
{
    (void)op;
    (void)port;
    for (uint32_t row = 0; row < batch->row_count; row++)
        printf("row %" PRId64 " %" PRId64 " %d\n", cell(batch, 0, row), cell(batch, 1, row),
               batch->is_partial);
}

/* A batch of one row, or of none, and what it promises. */
static void give(struct gs_operator_state *op, const int64_t *row, gs_bound bound)
{
    struct gs_batch *batch = gs_batch_new(&schema, 1);
    if (batch == NULL) abort();
    if (row != NULL) put(batch, row[0], row[1]);
    batch->punctuation.bounds[0] = bound;
    batch->punctuation.bounds[1] = GS_BOUND_NONE;
    batch->is_end = bound == GS_BOUND_END;
    gs_operator_take(op, 0, batch);
    gs_batch_release(batch);
    while (op->methods->step(op))
        ;
}

static bool obey(struct gs_operator_state *op, struct gs_holder *others, const char *word)
{
    int64_t cells[2];
    if (strcmp(word, "row") == 0 && scanf("%" SCNd64 " %" SCNd64, &cells[0], &cells[1]) == 2)
        give(op, cells, GS_BOUND_NONE);
    else if (strcmp(word, "bound") == 0 && scanf("%" SCNd64, &cells[0]) == 1)
        give(op, NULL, cells[0]);
    else if (strcmp(word, "fill") == 0)
        gs_hold_anyway(others, MEMORY_BYTES - gs_memory_held(others->memory));
    else if (strcmp(word, "free") == 0)
        gs_let_go(others, others->held_bytes);
    else if (strcmp(word, "idle") == 0)
        op->methods->on_idle(op);
    else if (strcmp(word, "end") == 0)
        give(op, NULL, GS_BOUND_END);
    else
        return false;
    return true;
}

static void told(const struct gs_operator_state *op)
{
    const struct gs_operator_counters *counters = &op->base.counters;
    printf("work %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
           comparisons, counters->beyond_limit, counters->rows_refused + op->refused_for_memory,
           counters->no_value, op->holder.peak_bytes, op->holder.held_bytes);
}

int main(int argc, char **argv)
{
    if (argc < 4) return EXIT_FAILURE;
    static const uint32_t windows[] = {0};
    groups = strtoll(argv[3], 0, 0);
    const struct gs_order_ops ops = {
        .common = {"order"},
        .compare = compare,
        .copy = copy,
        .temporal_count = 1,
        .temporal_columns = windows,
        .limit = strtoull(argv[1], 0, 0),
        .compare_groups = groups > 0 ? compare_groups : NULL,
    };
    const struct gs_node node = {"top", &schema, GS_NODE_OPERATOR, &ops, 0, NULL};
    const struct gs_schema *inputs[] = {&schema};
    const struct gs_stream nobody = {0};
    bool failed = false;
    struct gs_output_queue outputs = {0};
    struct gs_holder others = {.memory = gs_memory_new(MEMORY_BYTES)};
    const struct gs_operator_settings settings = {.batch_rows = 64,
                                                  .max_rows = strtoull(argv[2], 0, 0),
                                                  .hash_key = key,
                                                  .memory = others.memory,
                                                  .outputs = &outputs,
                                                  .failed = &failed};
    struct gs_operator_state *op;
    struct gs_error error;
    if (gs_operator_open(&op, &node, 0, 1, inputs, &settings, NULL, NULL, &error) != GS_OK)
        return EXIT_FAILURE;
    op->sources[0] = &nobody;
    op->stream.consumers = calloc(1, sizeof *op->stream.consumers);
    if (op->stream.consumers == NULL) return EXIT_FAILURE;
    op->stream.consumers[op->stream.consumer_count++] = (struct gs_consumer){NULL, 0, take};
    char word[8];
    while (scanf("%7s", word) == 1)
        if (!obey(op, &others, word)) return EXIT_FAILURE;
    told(op);
    gs_operator_close(op);
    free(others.memory);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop that the engine is judged against: the direct-mapped table, in bursts of 32 packets
 * whose slots are all prefetched before the first is touched. 64 are as good, 8 too few. */
#include "loop.h"
#include "table.h"

enum { BURST_PACKETS = 32 };
#include "burst.h"

/* A burst may hold two minutes: the flush comes before the first packet of the new one. */
static inline void burst_drain(struct burst *burst, struct table *table, struct output *output)
{
    for (uint32_t i = 0; i < burst->used; i++) {
        table_advance(table, burst->fresh[i].minute, output);
        table_add(table, burst->index[i], &burst->fresh[i], output);
    }
    burst->used = 0;
}

static int run_loop(const struct loop_options *options, struct loop_result *result)
{
    struct capture capture;
    struct table table;
    struct record record;
    struct network_layer ip;
    struct burst burst = {0};
    struct output *output = output_open(options);
    if (!output || table_open(&table, options->slots_log2) != 0) return -1;
    if (capture_open(&capture, options->path, options->reads) != 0) return -1;
    for (; capture_next(&capture, &record); result->packets++) {
        if (!parse_ipv4(&record, &ip)) continue;
        burst_add(&burst, &table, &record, &ip);
        if (burst.used == BURST_PACKETS) burst_drain(&burst, &table, output);
    }
    burst_drain(&burst, &table, output);
    table_flush(&table, output);
    result_from_output(result, output);
    capture_close(&capture);
    table_close(&table);
    free(output);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Count and bytes by (minute, source, destination) in a direct-mapped table, a packet at a time. */
#include "loop.h"
#include "table.h"

static inline void add_packet(struct table *table, const struct record *record,
                              const struct network_layer *ip, struct output *output)
{
    struct tuple fresh = {.source = load_be32(ip->bytes + 12),
                          .dest = load_be32(ip->bytes + 16),
                          .minute = record->seconds / 60,
                          .packets = 1,
                          .length_bytes = record->length_bytes};
    table_advance(table, fresh.minute, output);
    table_add(table, table_index(table, fresh.source, fresh.dest), &fresh, output);
}

static int run_loop(const struct loop_options *options, struct loop_result *result)
{
    struct capture capture;
    struct table table;
    struct record record;
    struct network_layer ip;
    struct output *output = output_open(options);
    if (!output || table_open(&table, options->slots_log2) != 0) return -1;
    if (capture_open(&capture, options->path, options->reads) != 0) return -1;
    for (; capture_next(&capture, &record); result->packets++)
        if (parse_ipv4(&record, &ip)) add_packet(&table, &record, &ip, output);
    table_flush(&table, output);
    result_from_output(result, output);
    capture_close(&capture);
    table_close(&table);
    free(output);
    return 0;
}

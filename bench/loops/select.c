/* SPDX-License-Identifier: Apache-2.0
 *
 * SELECT timestamp, srcIP, destIP, len FROM TCP WHERE ipversion = 4 AND destPort = 443, its rows
 * written to a batch that is used again. */
#include "loop.h"

enum { WANTED_PORT = 443 };

struct row {
    uint64_t timestamp_ns;
    uint32_t source;
    uint32_t dest;
    uint32_t length_bytes;
};

struct rows {
    size_t used;
    bool check;
    struct row batch[BATCH_TUPLES];
};

static inline uint64_t row_checksum(const struct row *row)
{
    uint64_t key = mix(row->timestamp_ns) ^ ((uint64_t)row->source << 32 | row->dest);
    return mix(mix(key) ^ row->length_bytes);
}

static __attribute__((noinline)) void rows_drain(struct rows *rows, struct loop_result *result)
{
    for (size_t i = 0; rows->check && i < rows->used; i++) {
        result->checksum += row_checksum(&rows->batch[i]);
        result->tuple_bytes += rows->batch[i].length_bytes;
    }
    result->tuples += rows->used;
    result->tuple_packets += rows->used;
    rows->used = 0;
}

static inline bool is_wanted(const struct network_layer *ip)
{
    struct transport_layer tcp;
    return ipv4_transport(ip, PROTOCOL_TCP, &tcp) && is_tcp(&tcp) &&
           load_be16(tcp.bytes + 2) == WANTED_PORT;
}

static inline struct row row_of(const struct record *record, const struct network_layer *ip)
{
    uint64_t microseconds = record->seconds * 1000000ull + record->microseconds;
    return (struct row){.timestamp_ns = microseconds * 1000,
                        .source = load_be32(ip->bytes + 12),
                        .dest = load_be32(ip->bytes + 16),
                        .length_bytes = record->length_bytes};
}

static int run_loop(const struct loop_options *options, struct loop_result *result)
{
    struct capture capture;
    struct record record;
    struct network_layer ip;
    struct rows *rows = calloc(1, sizeof *rows);
    if (!rows || capture_open(&capture, options->path, options->reads) != 0) return -1;
    rows->check = options->check;
    for (; capture_next(&capture, &record); result->packets++) {
        if (!parse_ipv4(&record, &ip) || !is_wanted(&ip)) continue;
        if (rows->used == BATCH_TUPLES) rows_drain(rows, result);
        rows->batch[rows->used++] = row_of(&record, &ip);
    }
    rows_drain(rows, result);
    capture_close(&capture);
    free(rows);
    return 0;
}

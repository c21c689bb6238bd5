/* SPDX-License-Identifier: Apache-2.0
 *
 * The main function around every loop: options, the clock, one line of JSON. The time runs from
 * before the file is mapped until the last tuple is out. */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "output.h"
#include "packet.h"
#include "records.h"

struct loop_options {
    const char *path;
    uint32_t slots_log2;
    bool check;
    bool reads;       /* read(2) instead of a mapping */
    uint32_t queries; /* at once, of a loop that can be asked several (kinds.c) */
};

struct loop_result {
    uint64_t packets;
    uint64_t tuples;
    uint64_t tuple_packets;
    uint64_t tuple_bytes;
    uint64_t checksum;
};

/* A packet's tuple, member by member: whole, as a value, it took a burst's loop 1.2 of its time. */
static inline void tuple_fill(struct tuple *tuple, const struct record *record,
                              const struct network_layer *ip)
{
    tuple->source = load_be32(ip->bytes + 12);
    tuple->dest = load_be32(ip->bytes + 16);
    tuple->minute = record->seconds / 60;
    tuple->packets = 1;
    tuple->length_bytes = record->length_bytes;
}

/* Each loop file defines this one function. */
static int run_loop(const struct loop_options *options, struct loop_result *result);

static inline void result_from_output(struct loop_result *result, struct output *output)
{
    output_drain(output);
    result->tuples = output->tuples;
    result->tuple_packets = output->packets;
    result->tuple_bytes = output->length_bytes;
    result->checksum = output->checksum;
}

static inline struct output *output_open(const struct loop_options *options)
{
    struct output *output = calloc(1, sizeof *output);
    if (output) output->check = options->check;
    return output;
}

static inline double seconds_by(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void print_result(const struct loop_result *result, double seconds,
                                double processor_seconds)
{
    double per_packet = result->packets ? 1e9 / (double)result->packets : 0;
    printf("{\"packets\": %" PRIu64 ", \"tuples\": %" PRIu64 ", \"tuple_packets\": %" PRIu64
           ", \"tuple_bytes\": %" PRIu64 ", \"checksum\": %" PRIu64
           ", \"seconds\": %.9f, \"ns_per_packet\": %.3f, \"processor_ns_per_packet\": %.3f}\n",
           result->packets, result->tuples, result->tuple_packets, result->tuple_bytes,
           result->checksum, seconds, seconds * per_packet, processor_seconds * per_packet);
}

int main(int count, char **arguments)
{
    struct loop_options options = {.slots_log2 = 18, .queries = 1};
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--check") == 0)
            options.check = true;
        else if (strcmp(arguments[i], "--read") == 0)
            options.reads = true;
        else if (strncmp(arguments[i], "--queries=", 10) == 0)
            options.queries = (uint32_t)atoi(arguments[i] + 10);
        else if (!options.path)
            options.path = arguments[i];
        else
            options.slots_log2 = (uint32_t)atoi(arguments[i]);
    }
    if (!options.path || options.slots_log2 < 6 || options.slots_log2 > 28) {
        fprintf(stderr, "usage: %s FILE [SLOTS LOG2, 6 to 28] [--read] [--check]\n", arguments[0]);
        return 2;
    }
    struct loop_result result = {0};
    double start = seconds_by(CLOCK_MONOTONIC);
    double processor_start = seconds_by(CLOCK_PROCESS_CPUTIME_ID);
    int failed = run_loop(&options, &result);
    double seconds = seconds_by(CLOCK_MONOTONIC) - start;
    double processor_seconds = seconds_by(CLOCK_PROCESS_CPUTIME_ID) - processor_start;
    if (failed) fprintf(stderr, "%s: not a pcap file of this kind\n", options.path);
    if (!failed) print_result(&result, seconds, processor_seconds);
    return failed ? 1 : 0;
}

#endif

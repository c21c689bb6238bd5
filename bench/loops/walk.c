/* SPDX-License-Identifier: Apache-2.0
 *
 * Walk the records of a mapped file and look at nothing but their headers: the floor under all. */
#include "loop.h"

static int run_loop(const struct loop_options *options, struct loop_result *result)
{
    struct capture capture;
    struct record record;
    if (capture_open(&capture, options->path, options->reads) != 0) return -1;
    while (capture_next(&capture, &record)) {
        result->packets++;
        result->tuple_bytes += record.length_bytes;
    }
    result->tuple_packets = result->packets;
    capture_close(&capture);
    return 0;
}

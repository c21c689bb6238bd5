/* SPDX-License-Identifier: Apache-2.0
 *
 * Walk, and parse Ethernet, IPv4 and the ports. With --check each packet is a tuple of its own,
 * which makes this the plain truth for the checksums of the others. */
#include "loop.h"

static struct tuple tuple_of(const struct record *record, const struct network_layer *ip)
{
    return (struct tuple){.source = load_be32(ip->bytes + 12),
                          .dest = load_be32(ip->bytes + 16),
                          .minute = record->seconds / 60,
                          .packets = 1,
                          .length_bytes = record->length_bytes};
}

static inline uint32_t ports_of(const struct network_layer *ip)
{
    struct transport_layer transport;
    bool found = ipv4_transport(ip, PROTOCOL_TCP, &transport) && is_tcp(&transport);
    return found ? load_be32(transport.bytes) : 0;
}

static int run_loop(const struct loop_options *options, struct loop_result *result)
{
    struct capture capture;
    struct record record;
    struct network_layer ip;
    uint32_t seen = 0;
    struct output *output = output_open(options);
    if (!output || capture_open(&capture, options->path, options->reads) != 0) return -1;
    for (; capture_next(&capture, &record); result->packets++) {
        if (!parse_ipv4(&record, &ip)) continue;
        struct tuple tuple = tuple_of(&record, &ip);
        seen += tuple.source ^ tuple.dest ^ tuple.minute ^ ports_of(&ip);
        if (options->check) output_add(output, &tuple);
    }
    __asm__ volatile("" : : "r"(seen));
    result_from_output(result, output);
    capture_close(&capture);
    free(output);
    return 0;
}

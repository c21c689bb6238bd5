/* SPDX-License-Identifier: Apache-2.0
 *
 * libpcap's own loop over the file, with the same direct-mapped aggregation in the callback. */
#include "libpcap_calls.h"
#include "loop.h"
#include "table.h"

struct state {
    struct table table;
    struct output *output;
    uint64_t packets;
};

static void on_packet(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
    struct state *state = (struct state *)(void *)user;
    struct record record = {.captured_bytes = header->caplen, .bytes = bytes};
    struct network_layer ip;
    state->packets++;
    if (!parse_ipv4(&record, &ip)) return;
    struct tuple fresh = {.source = load_be32(ip.bytes + 12),
                          .dest = load_be32(ip.bytes + 16),
                          .minute = (uint32_t)header->ts.tv_sec / 60,
                          .packets = 1,
                          .length_bytes = header->len};
    struct table *table = &state->table;
    table_advance(table, fresh.minute, state->output);
    table_add(table, table_index(table, fresh.source, fresh.dest), &fresh, state->output);
}

static int run_loop(const struct loop_options *options, struct loop_result *result)
{
    char message[PCAP_ERRBUF_SIZE];
    struct state state = {.output = output_open(options)};
    if (!state.output || table_open(&state.table, options->slots_log2) != 0) return -1;
    pcap_t *pcap = pcap_open_offline(options->path, message);
    if (!pcap || pcap_loop(pcap, -1, on_packet, (u_char *)&state) != 0) return -1;
    table_flush(&state.table, state.output);
    result_from_output(result, state.output);
    result->packets = state.packets;
    pcap_close(pcap);
    table_close(&state.table);
    free(state.output);
    return 0;
}

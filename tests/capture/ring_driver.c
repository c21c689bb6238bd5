/* SPDX-License-Identifier: Apache-2.0 */
/* A mock ring under the sanitizers. `ring_driver BLOCK_BYTES BLOCK_COUNT BURST` reads commands:
 *   receive TIMESTAMP CAPLEN LEN TAG   bytes of a pattern come in (TAG -1: none); says 1 or 0
 *   retire                             the retire timeout passes
 *   poke OFFSET VALUE                  a byte of the open block is overwritten
 *   read                               all that is there: a line a packet, then how it ended
 *   finish                             nothing more comes in
 *   counts                             received, dropped, freezes */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "capture/mock_ring.h"

#define ETHERNET 1
#define CAPLEN_MAX 65536

struct bench {
    struct gs_mock_ring *ring;
    struct gs_capture *capture;
    uint32_t block_bytes, burst;
};

/* Reads every byte, so that the sanitizers see them. */
static uint32_t sum(const uint8_t *bytes, uint32_t length)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < length; i++)
        total = total * 31 + bytes[i];
    return total;
}

static void receive(struct bench *bench)
{
    static uint8_t bytes[CAPLEN_MAX];
    struct gs_mock_packet packet = {.bytes = bytes};
    int tag;
    if (scanf("%" SCNd64 " %u %u %d", &packet.timestamp_ns, &packet.caplen, &packet.len, &tag) != 4)
        exit(2);
    for (uint32_t i = 0; i < packet.caplen; i++)
        bytes[i] = (uint8_t)(i * 7 + packet.len);
    packet.has_tag = tag >= 0;
    packet.tag_type = 0x8100;
    packet.tag_control = (uint16_t)tag;
    printf("%d\n", gs_mock_ring_receive(bench->ring, &packet));
}

static void poke(struct bench *bench)
{
    uint32_t offset;
    unsigned value;
    if (scanf("%u %u", &offset, &value) != 2 || offset >= bench->block_bytes) exit(2);
    gs_mock_ring_open_block(bench->ring)[offset] = (uint8_t)value;
}

static void read_all(struct bench *bench)
{
    struct gs_packet packets[GS_BURST_CAPACITY];
    struct gs_error error = {0};
    uint32_t count;
    int status;
    while ((status = gs_ring_capture.next_burst(bench->capture, packets, bench->burst, 0, &count,
                                                &error)) == GS_OK) {
        for (uint32_t i = 0; i < count; i++)
            printf("%" PRIu64 " %" PRId64 " %u %u %08x\n", packets[i].packet_id,
                   packets[i].timestamp_ns, packets[i].caplen, packets[i].len,
                   sum(packets[i].bytes, packets[i].caplen));
        gs_ring_capture.release(bench->capture);
    }
    printf("%s\n", status == GS_AGAIN ? "again" : status == GS_END ? "end" : "error");
}

static void show_counts(struct bench *bench)
{
    struct gs_capture_stats stats;
    gs_ring_capture.refresh(bench->capture);
    gs_ring_capture.stats(bench->capture, &stats);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", stats.kernel_received, stats.kernel_dropped,
           stats.freezes);
}

static void run(struct bench *bench, const char *command)
{
    if (strcmp(command, "receive") == 0) receive(bench);
    if (strcmp(command, "retire") == 0) gs_mock_ring_retire(bench->ring);
    if (strcmp(command, "poke") == 0) poke(bench);
    if (strcmp(command, "read") == 0) read_all(bench);
    if (strcmp(command, "finish") == 0) gs_ring_capture.finish(bench->capture);
    if (strcmp(command, "counts") == 0) show_counts(bench);
}

int main(int count, char **words)
{
    if (count != 4) return 2;
    struct bench bench = {.block_bytes = (uint32_t)strtoul(words[1], NULL, 10),
                          .burst = (uint32_t)strtoul(words[3], NULL, 10)};
    bench.ring =
        gs_mock_ring_new(bench.block_bytes, (uint32_t)strtoul(words[2], NULL, 10), ETHERNET);
    struct gs_live_config live = {.ring_device = gs_mock_ring_device(bench.ring)};
    struct gs_capture_config config = {.live = &live};
    struct gs_error error = {0};
    char command[16];
    if (gs_ring_capture.open(&bench.capture, &config, &error) != GS_OK) return 1;
    while (scanf("%15s", command) == 1)
        run(&bench, command);
    gs_ring_capture.close(bench.capture);
    gs_mock_ring_free(bench.ring);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the capture stage to the tests as text:
 *   driver records mmap|read BURST TIMEOUT_MS SOURCE...  records, interfaces, how it ended
 *   driver promise BLOCK_BYTES SOURCE...                 gs_capture_scan_promise
 *   driver time blocks|slack|any ARGUMENT RAISE          "offset timestamp flags" lines: H, W, late
 *   driver clock MAX_SKEW_NS -                           "monotonic wall" lines: the time believed
 *   driver tick RESOLUTION OFFSET_SECONDS                tick counts: nanoseconds
 * SOURCE "-" is standard input; time, clock and tick read it too. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "capture/clock.h"
#include "capture/source_time.h"
#include "capture/tick.h"

static struct gs_capture_config config_of(const char *source, const char *how)
{
    bool is_stdin = strcmp(source, "-") == 0;
    return (struct gs_capture_config){
        .path = is_stdin ? NULL : source, .descriptor = 0, .use_mmap = strcmp(how, "mmap") == 0};
}

/* CRC-32: reads every byte, so that the sanitizers see them. */
static uint32_t checksum(const uint8_t *bytes, uint32_t length)
{
    uint32_t crc = ~0u;
    for (uint32_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void print_packet(const struct gs_packet *p)
{
    printf("%" PRIu64 " %" PRIu64 " %" PRId64 " %u %u %u %u %u %08x\n", p->packet_id, p->offset,
           p->timestamp_ns, p->caplen, p->len, p->interface, p->link, p->flags,
           checksum(p->bytes, p->caplen));
}

/* Interfaces of a section are forgotten when the next one begins; so a copy is kept. */
struct section {
    uint64_t number;
    uint32_t count;
    struct gs_capture_interface *interfaces;
};

/* Names in hexadecimal, for they may hold anything. */
static void print_interface(const struct gs_capture_interface *shown)
{
    printf("interface %u %u %u ", shown->link_type, shown->snap_length, shown->link);
    for (const char *c = shown->name; *c != '\0'; c++)
        printf("%02x", (unsigned char)*c);
    printf("\n");
}

static void print_interfaces(const struct section *section)
{
    for (uint32_t i = 0; i < section->count; i++)
        print_interface(&section->interfaces[i]);
}

static void look_at_section(struct section *section, const struct gs_capture_ops *ops,
                            const struct gs_capture *capture)
{
    if (section->number != ops->section(capture) && section->count > 0) {
        print_interfaces(section);
        printf("section\n");
        section->count = 0;
    }
    section->number = ops->section(capture);
    uint32_t count = ops->interface_count(capture);
    if (count <= section->count) return;
    section->interfaces = realloc(section->interfaces, count * sizeof *section->interfaces);
    for (; section->count < count; section->count++)
        section->interfaces[section->count] = *ops->interface(capture, section->count);
}

static void print_stats(const struct gs_capture_ops *ops, const struct gs_capture *capture)
{
    struct gs_capture_stats stats;
    ops->stats(capture, &stats);
    printf("stats %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", stats.records, stats.bytes,
           stats.total_bytes);
}

/* The burst has an allocation of its own, so that a packet too many is seen. */
static int read_all(const struct gs_capture_ops *ops, struct gs_capture *capture, uint32_t capacity,
                    int timeout_ms, struct section *section, struct gs_error *error)
{
    struct gs_packet *packets = malloc(capacity * sizeof *packets);
    int status;
    do {
        uint32_t count;
        status = ops->next_burst(capture, packets, capacity, timeout_ms, &count, error);
        look_at_section(section, ops, capture);
        for (uint32_t i = 0; i < count; i++)
            print_packet(&packets[i]);
        if (status == GS_AGAIN) printf("again\n");
        ops->release(capture);
        fflush(stdout);
    } while (status == GS_OK || status == GS_AGAIN);
    free(packets);
    return status;
}

static void show_records(const struct gs_capture_config *config, uint32_t capacity, int timeout_ms)
{
    struct gs_error error = {0};
    const struct gs_capture_ops *ops;
    struct gs_capture *capture;
    int status = gs_capture_open_file(config, &ops, &capture, &error);
    if (status != GS_OK) {
        printf("refused %d %s\n", status, error.message);
        return;
    }
    struct section section = {0};
    status = read_all(ops, capture, capacity, timeout_ms, &section, &error);
    print_interfaces(&section);
    free(section.interfaces);
    print_stats(ops, capture);
    printf("end %d %s\n", status, error.message);
    ops->close(capture);
}

static void show_promise(const struct gs_capture_config *config, uint64_t block_bytes)
{
    struct gs_error error = {0};
    struct gs_scanned_promise promise = {0};
    int status = gs_capture_scan_promise(config, block_bytes, &promise, &error);
    printf("%d %" PRId64 " %" PRId64 " %s\n", status, promise.least_ns, promise.high_ns,
           error.message);
}

static struct gs_source_time time_of(const char *rule, const char *argument)
{
    if (strcmp(rule, "blocks") == 0) return gs_source_time_by_blocks(strtoull(argument, NULL, 10));
    if (strcmp(rule, "slack") == 0) return gs_source_time_by_slack(strtoll(argument, NULL, 10));
    return gs_source_time_without_bound();
}

static int show_time(struct gs_source_time time)
{
    struct gs_packet packet = {0};
    unsigned flags;
    while (scanf("%" SCNu64 " %" SCNd64 " %u", &packet.offset, &packet.timestamp_ns, &flags) == 3) {
        packet.flags = (uint8_t)flags;
        int timeliness = (int)gs_source_time_observe(&time, &packet);
        printf("%" PRId64 " %" PRId64 " %d\n", time.high_timestamp_ns, time.promise_ns, timeliness);
    }
    return 0;
}

static int show_clock(int64_t max_skew_ns)
{
    struct gs_clock clock = {.max_skew_ns = max_skew_ns};
    struct gs_clock_reading reading;
    while (scanf("%" SCNd64 " %" SCNd64, &reading.monotonic_ns, &reading.wall_ns) == 2)
        printf("%" PRId64 "\n", gs_clock_believe(&clock, reading));
    return 0;
}

static int show_ticks(unsigned long resolution, int64_t offset_seconds)
{
    struct gs_tick tick = gs_tick_of_resolution((uint8_t)resolution);
    tick.offset_seconds = offset_seconds;
    uint64_t ticks;
    while (scanf("%" SCNu64, &ticks) == 1) {
        int64_t nanoseconds;
        bool valid = gs_tick_nanoseconds(&tick, ticks, &nanoseconds);
        printf("%d %" PRId64 "\n", valid, valid ? nanoseconds : 0);
    }
    return 0;
}

static void on_signal(int number)
{
    (void)number;
}

static void interrupt_waits_on_sigusr1(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
}

static int show_all_records(int count, char **words)
{
    interrupt_waits_on_sigusr1();
    for (int i = 5; i < count; i++) {
        struct gs_capture_config config = config_of(words[i], words[2]);
        show_records(&config, (uint32_t)atoi(words[3]), atoi(words[4]));
    }
    return 0;
}

static int show_all_promises(int count, char **words)
{
    for (int i = 3; i < count; i++) {
        struct gs_capture_config config = config_of(words[i], "mmap");
        show_promise(&config, strtoull(words[2], NULL, 10));
    }
    return 0;
}

int main(int count, char **words)
{
    if (count < 4) return 2;
    if (strcmp(words[1], "promise") == 0) return show_all_promises(count, words);
    if (strcmp(words[1], "tick") == 0)
        return show_ticks(strtoul(words[2], NULL, 10), strtoll(words[3], NULL, 10));
    if (strcmp(words[1], "clock") == 0) return show_clock(strtoll(words[2], NULL, 10));
    if (count < 5) return 2;
    if (strcmp(words[1], "records") == 0) return show_all_records(count, words);
    struct gs_source_time time = time_of(words[2], words[3]);
    gs_source_time_raise(&time, strtoll(words[4], NULL, 10));
    return show_time(time);
}

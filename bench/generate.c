/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a synthetic capture: so many packets over so many (source, destination) pairs, evenly in
 * time. C, because ten million packets are to be there in seconds. generate.py is its command
 * line. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_BYTES = 1518, RECORD_HEADER_BYTES = 16, ETHERNET_BYTES = 14, IPV4_BYTES = 20 };
enum { PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, SERVICES = 100, WRITE_BUFFER_BYTES = 1 << 22 };

struct settings {
    const char *path;
    uint64_t packets;
    uint32_t groups;
    double zipf; /* exponent; 0 is uniform */
    uint32_t minutes;
    uint32_t snap_bytes; /* 0 is whole packets */
    uint64_t seed;
};

/* Walker's alias method: one random number and one look into a table a packet, for any weights. */
struct alias {
    double *keep;
    uint32_t *other;
};

struct service {
    uint8_t protocol;
    uint16_t port;
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void zipf_weights(const struct settings *settings, double *weights)
{
    double sum = 0;
    for (uint32_t i = 0; i < settings->groups; i++)
        sum += weights[i] = pow(i + 1, -settings->zipf);
    for (uint32_t i = 0; i < settings->groups; i++)
        weights[i] *= settings->groups / sum;
}

static void alias_pair(struct alias *alias, uint32_t *small, uint32_t *large, uint32_t smalls,
                       uint32_t larges)
{
    while (smalls && larges) {
        uint32_t poor = small[--smalls], rich = large[larges - 1];
        alias->other[poor] = rich;
        alias->keep[rich] -= 1 - alias->keep[poor];
        if (alias->keep[rich] >= 1) continue;
        small[smalls++] = rich;
        larges--;
    }
    while (smalls)
        alias->keep[small[--smalls]] = 1;
    while (larges)
        alias->keep[large[--larges]] = 1;
}

static int alias_open(struct alias *alias, const struct settings *settings)
{
    uint32_t groups = settings->groups, smalls = 0, larges = 0;
    uint32_t *small = calloc(groups, sizeof *small), *large = calloc(groups, sizeof *large);
    alias->keep = calloc(groups, sizeof *alias->keep);
    alias->other = calloc(groups, sizeof *alias->other);
    if (!small || !large || !alias->keep || !alias->other) return -1;
    zipf_weights(settings, alias->keep);
    for (uint32_t i = 0; i < groups; i++)
        if (alias->keep[i] < 1)
            small[smalls++] = i;
        else
            large[larges++] = i;
    alias_pair(alias, small, large, smalls, larges);
    free(small);
    free(large);
    return 0;
}

static uint32_t alias_draw(const struct alias *alias, uint32_t groups, uint64_t random)
{
    uint32_t column = (uint32_t)((random & 0xffffffffu) * groups >> 32);
    double side = (double)(random >> 32) * 0x1p-32;
    return side < alias->keep[column] ? column : alias->other[column];
}

/* A bijection of 24 bits: no two groups share an address, and neighbours are far apart. */
static uint32_t scramble(uint32_t group, uint32_t odd)
{
    uint32_t x = group * odd & 0xffffff;
    x ^= x >> 12;
    return x * 0x9e3b5u & 0xffffff;
}

static void put_be16(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

static void put_be32(uint8_t *bytes, uint32_t value)
{
    put_be16(bytes, value >> 16);
    put_be16(bytes + 2, value & 0xffff);
}

/* Service i gets one packet in a hundred: 0 is the 1 % selection, 1 to 31 the other predicates of
 * the 32 queries; every eighth but the first is UDP. */
static struct service service_of(uint32_t i)
{
    if (i == 0) return (struct service){PROTOCOL_TCP, 443};
    uint8_t protocol = i % 8 == 7 ? PROTOCOL_UDP : PROTOCOL_TCP;
    return (struct service){protocol, (uint16_t)(8000 + i)};
}

static uint32_t length_of(uint64_t random)
{
    uint32_t twelfth = (uint32_t)((random & 0xffff) * 12 >> 16);
    return twelfth < 7 ? 64 : twelfth < 11 ? 594 : FRAME_BYTES; /* the usual Internet mix */
}

static void template_frame(uint8_t *frame)
{
    static const uint8_t start[] = {2, 0, 0,    0, 0, 2, 2, 0, 0,    0, 0, 1,
                                    8, 0, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64};
    for (uint32_t i = 0; i < FRAME_BYTES; i++)
        frame[i] = (uint8_t)i;
    memcpy(frame, start, sizeof start);
}

static uint32_t header_checksum(const uint8_t *ip)
{
    uint32_t sum = 0;
    for (int i = 0; i < IPV4_BYTES; i += 2)
        if (i != 10) sum += (uint32_t)ip[i] << 8 | ip[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    return ~(sum + (sum >> 16)) & 0xffff;
}

static void put_ipv4(uint8_t *ip, uint32_t group, uint8_t protocol, uint32_t length)
{
    put_be16(ip + 2, length - ETHERNET_BYTES);
    put_be16(ip + 4, group & 0xffff);
    ip[9] = protocol;
    put_be32(ip + 12, 0x0a000000u | scramble(group, 0x5bd1e5u));
    put_be32(ip + 16, 0xac000000u | scramble(group, 0x8da6b3u));
    put_be16(ip + 10, header_checksum(ip));
}

static void put_transport(uint8_t *transport, struct service service, uint64_t random,
                          uint32_t length)
{
    put_be16(transport, 32768 + (uint32_t)(random & 0x3fff));
    put_be16(transport + 2, service.port);
    if (service.protocol == PROTOCOL_UDP) {
        put_be16(transport + 4, length - ETHERNET_BYTES - IPV4_BYTES);
        return;
    }
    transport[12] = 0x50;
    transport[13] = 0x10;
}

static void put_frame(uint8_t *frame, uint32_t group, uint64_t random, uint32_t length)
{
    struct service service = service_of((uint32_t)((random >> 48) * SERVICES >> 16));
    put_ipv4(frame + ETHERNET_BYTES, group, service.protocol, length);
    put_transport(frame + ETHERNET_BYTES + IPV4_BYTES, service, random >> 16, length);
}

static int write_record(FILE *file, const struct settings *settings, uint64_t number,
                        const uint8_t *frame, uint32_t length)
{
    uint64_t start_us = 28333334ull * 60 * 1000000; /* a whole minute in November 2023 */
    uint64_t span_us = settings->minutes * 60000000ull;
    uint64_t now_us =
        start_us + (uint64_t)((double)number * (double)span_us / (double)settings->packets);
    uint32_t snap = settings->snap_bytes;
    uint32_t captured = snap && snap < length ? snap : length;
    uint32_t header[4] = {(uint32_t)(now_us / 1000000), (uint32_t)(now_us % 1000000), captured,
                          length};
    if (fwrite(header, sizeof header, 1, file) != 1) return -1;
    return fwrite(frame, captured, 1, file) == 1 ? 0 : -1;
}

static int write_header(FILE *file, const struct settings *settings)
{
    uint32_t snap = settings->snap_bytes ? settings->snap_bytes : 65535;
    uint32_t header[6] = {0xa1b2c3d4u, 0x00040002u, 0, 0, snap, 1};
    return fwrite(header, sizeof header, 1, file) == 1 ? 0 : -1;
}

static int write_packets(FILE *file, const struct settings *settings, const struct alias *alias)
{
    uint64_t random_state = settings->seed;
    uint8_t frame[FRAME_BYTES];
    template_frame(frame);
    for (uint64_t i = 0; i < settings->packets; i++) {
        uint64_t random = next_random(&random_state);
        uint32_t group = alias_draw(alias, settings->groups, random);
        random = next_random(&random_state);
        uint32_t length = length_of(random);
        put_frame(frame, group, random, length);
        if (write_record(file, settings, i, frame, length) != 0) return -1;
    }
    return 0;
}

static int write_capture(const struct settings *settings, const struct alias *alias)
{
    FILE *file = fopen(settings->path, "wb");
    if (!file) return -1;
    setvbuf(file, NULL, _IOFBF, WRITE_BUFFER_BYTES);
    int failed = write_header(file, settings) || write_packets(file, settings, alias);
    return fclose(file) != 0 || failed ? -1 : 0;
}

static int read_settings(struct settings *settings, int count, char **arguments)
{
    if (count != 8) return -1;
    settings->path = arguments[1];
    settings->packets = strtoull(arguments[2], NULL, 10);
    settings->groups = (uint32_t)strtoul(arguments[3], NULL, 10);
    settings->zipf = strtod(arguments[4], NULL);
    settings->minutes = (uint32_t)strtoul(arguments[5], NULL, 10);
    settings->snap_bytes = (uint32_t)strtoul(arguments[6], NULL, 10);
    settings->seed = strtoull(arguments[7], NULL, 10);
    return settings->packets && settings->minutes && settings->groups &&
                   settings->groups <= 1u << 24
               ? 0
               : -1;
}

int main(int count, char **arguments)
{
    struct settings settings;
    struct alias alias;
    if (read_settings(&settings, count, arguments) != 0) {
        fprintf(stderr, "usage: %s FILE PACKETS GROUPS ZIPF MINUTES SNAP SEED\n", arguments[0]);
        return 2;
    }
    if (alias_open(&alias, &settings) != 0 || write_capture(&settings, &alias) != 0) {
        fprintf(stderr, "%s: %s\n", settings.path, strerror(errno));
        return 1;
    }
    free(alias.keep);
    free(alias.other);
    return 0;
}

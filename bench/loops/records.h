/* SPDX-License-Identifier: Apache-2.0
 *
 * A capture file, one record at a time: mapped, or read through a buffer, which is faster where
 * packets are large. Only what the synthetic and the joined captures are: little-endian microsecond
 * pcap over Ethernet. */
#ifndef BENCH_RECORDS_H
#define BENCH_RECORDS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_HEADER_BYTES = 24, RECORD_HEADER_BYTES = 16, LINK_TYPE_ETHERNET = 1 };
enum { READ_BUFFER_BYTES = 1 << 20 }; /* within or near L2, and beyond any record */

struct capture {
    const uint8_t *next;
    const uint8_t *end;
    void *memory; /* the mapped file, or the buffer that it is read into */
    size_t memory_bytes;
    int file;
    bool reads;
};

struct record {
    uint32_t seconds;
    uint32_t microseconds;
    uint32_t captured_bytes;
    uint32_t length_bytes;
    const uint8_t *bytes;
};

static inline uint32_t load_u32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint64_t load_u64(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint16_t load_be16(const uint8_t *bytes)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return __builtin_bswap16(value);
}

static inline uint32_t load_be32(const uint8_t *bytes)
{
    return __builtin_bswap32(load_u32(bytes));
}

static inline int capture_map(struct capture *capture, size_t file_bytes)
{
    capture->memory_bytes = file_bytes;
    capture->memory = mmap(NULL, file_bytes, PROT_READ, MAP_PRIVATE, capture->file, 0);
    if (capture->memory == MAP_FAILED) return -1;
    capture->next = capture->memory;
    capture->end = capture->next + file_bytes;
    return 0;
}

/* What is left of the buffer moves to its start, and the rest is read anew. */
static __attribute__((noinline)) bool capture_refill(struct capture *capture)
{
    if (!capture->reads) return false;
    size_t left = (size_t)(capture->end - capture->next);
    uint8_t *buffer = capture->memory;
    memmove(buffer, capture->next, left);
    ssize_t got = read(capture->file, buffer + left, capture->memory_bytes - left);
    capture->next = buffer;
    capture->end = buffer + left + (got > 0 ? (size_t)got : 0);
    return got > 0;
}

static inline int capture_buffer(struct capture *capture)
{
    capture->memory_bytes = READ_BUFFER_BYTES;
    capture->memory =
        mmap(NULL, READ_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (capture->memory == MAP_FAILED) return -1;
    capture->next = capture->end = capture->memory;
    return capture_refill(capture) ? 0 : -1;
}

static inline int capture_open(struct capture *capture, const char *path, bool reads)
{
    struct stat status;
    capture->reads = reads;
    capture->file = open(path, O_RDONLY | O_CLOEXEC);
    if (capture->file < 0 || fstat(capture->file, &status) != 0) return -1;
    if (status.st_size < FILE_HEADER_BYTES) return -1;
    int failed = reads ? capture_buffer(capture) : capture_map(capture, (size_t)status.st_size);
    if (failed) return -1;
    const uint8_t *header = capture->next;
    capture->next += FILE_HEADER_BYTES;
    bool known = load_u32(header) == 0xa1b2c3d4u && load_u32(header + 20) == LINK_TYPE_ETHERNET;
    return known ? 0 : -1;
}

static inline void capture_close(struct capture *capture)
{
    munmap(capture->memory, capture->memory_bytes);
    close(capture->file);
}

/* False where what is left does not hold a whole record. */
static inline bool capture_next_here(struct capture *capture, struct record *record)
{
    const uint8_t *header = capture->next;
    size_t left = (size_t)(capture->end - header);
    if (left < RECORD_HEADER_BYTES) return false;
    record->captured_bytes = load_u32(header + 8);
    if (record->captured_bytes > left - RECORD_HEADER_BYTES) return false;
    record->seconds = load_u32(header);
    record->microseconds = load_u32(header + 4);
    record->length_bytes = load_u32(header + 12);
    record->bytes = header + RECORD_HEADER_BYTES;
    capture->next = record->bytes + record->captured_bytes;
    return true;
}

/* False at the end of the file and at a record that does not fit into what is left of it. A record
 * that was read is valid until the next call. */
static inline bool capture_next(struct capture *capture, struct record *record)
{
    while (__builtin_expect(!capture_next_here(capture, record), 0))
        if (!capture_refill(capture)) return false;
    return true;
}

#endif

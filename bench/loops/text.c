/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of (minute, source, destination, packets, bytes) as csv or JSON, as one would write it by
 * hand for this one query: digits two at a time, the texts of octets made once, one buffer, written
 * where it is full. FILE holds the number of rows and then each column whole. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 18, ROW_BYTES = 256 };

struct rows {
    uint64_t count;
    const uint32_t *minute, *source, *dest;
    const uint64_t *packets, *bytes;
};

struct writer {
    int file;
    char *at;
    char pairs[200];
    char octets[256][4];
    uint8_t octet_length[256];
    char buffer[BUFFER_BYTES];
};

static void writer_open(struct writer *writer, const char *path)
{
    writer->file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    writer->at = writer->buffer;
    for (int i = 0; i < 100; i++) {
        writer->pairs[2 * i] = (char)('0' + i / 10);
        writer->pairs[2 * i + 1] = (char)('0' + i % 10);
    }
    for (int i = 0; i < 256; i++) {
        char text[8];
        writer->octet_length[i] = (uint8_t)sprintf(text, "%d", i);
        memcpy(writer->octets[i], text, 4);
    }
}

static int writer_flush(struct writer *writer)
{
    for (char *from = writer->buffer; from < writer->at;) {
        ssize_t written = write(writer->file, from, (size_t)(writer->at - from));
        if (written < 0) return -1;
        from += written;
    }
    writer->at = writer->buffer;
    return 0;
}

static void writer_header(struct writer *writer)
{
    static const char header[] = "tb,srcIP,destIP,packets,bytes\n";
    memcpy(writer->at, header, sizeof header - 1);
    writer->at += sizeof header - 1;
}

static inline char *put_number(const struct writer *writer, char *at, uint64_t x)
{
    char digits[20];
    unsigned first = sizeof digits;
    for (; x >= 100; x /= 100) {
        first -= 2;
        memcpy(digits + first, writer->pairs + 2 * (x % 100), 2);
    }
    if (x >= 10) {
        first -= 2;
        memcpy(digits + first, writer->pairs + 2 * x, 2);
    } else {
        digits[--first] = (char)('0' + x);
    }
    memcpy(at, digits + first, sizeof digits - first);
    return at + sizeof digits - first;
}

static inline char *put_octet(const struct writer *writer, char *at, uint32_t octet)
{
    memcpy(at, writer->octets[octet], 4);
    return at + writer->octet_length[octet];
}

static inline char *put_address(const struct writer *writer, char *at, uint32_t address)
{
    at = put_octet(writer, at, address >> 24);
    *at++ = '.';
    at = put_octet(writer, at, address >> 16 & 0xff);
    *at++ = '.';
    at = put_octet(writer, at, address >> 8 & 0xff);
    *at++ = '.';
    return put_octet(writer, at, address & 0xff);
}

#define PUT(text) (memcpy(at, text, sizeof(text) - 1), at += sizeof(text) - 1)

static inline char *put_csv(const struct writer *writer, char *at, const struct rows *rows,
                            uint64_t i)
{
    at = put_number(writer, at, rows->minute[i]);
    *at++ = ',';
    at = put_address(writer, at, rows->source[i]);
    *at++ = ',';
    at = put_address(writer, at, rows->dest[i]);
    *at++ = ',';
    at = put_number(writer, at, rows->packets[i]);
    *at++ = ',';
    at = put_number(writer, at, rows->bytes[i]);
    *at++ = '\n';
    return at;
}

static inline char *put_json(const struct writer *writer, char *at, const struct rows *rows,
                             uint64_t i)
{
    PUT("{\"tb\":");
    at = put_number(writer, at, rows->minute[i]);
    PUT(",\"srcIP\":\"");
    at = put_address(writer, at, rows->source[i]);
    PUT("\",\"destIP\":\"");
    at = put_address(writer, at, rows->dest[i]);
    PUT("\",\"packets\":");
    at = put_number(writer, at, rows->packets[i]);
    PUT(",\"bytes\":");
    at = put_number(writer, at, rows->bytes[i]);
    PUT("}\n");
    return at;
}

static int write_rows(struct writer *writer, const struct rows *rows, bool is_json)
{
    for (uint64_t i = 0; i < rows->count; i++) {
        if (writer->buffer + BUFFER_BYTES - writer->at < ROW_BYTES && writer_flush(writer) != 0)
            return -1;
        writer->at =
            is_json ? put_json(writer, writer->at, rows, i) : put_csv(writer, writer->at, rows, i);
    }
    return writer_flush(writer);
}

static int rows_open(struct rows *rows, const char *path)
{
    struct stat status;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &status) != 0) return -1;
    const uint8_t *at =
        mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (at == MAP_FAILED) return -1;
    memcpy(&rows->count, at, 8);
    rows->packets = (const uint64_t *)(at + 8);
    rows->bytes = rows->packets + rows->count;
    rows->minute = (const uint32_t *)(rows->bytes + rows->count);
    rows->source = rows->minute + rows->count;
    rows->dest = rows->source + rows->count;
    return (size_t)status.st_size == 8 + 28 * rows->count ? 0 : -1;
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int count, char **arguments)
{
    static struct writer writer;
    struct rows rows;
    if (count != 4) {
        fprintf(stderr, "usage: %s ROWS csv|json OUTPUT\n", arguments[0]);
        return 2;
    }
    if (rows_open(&rows, arguments[1]) != 0) {
        fprintf(stderr, "%s: no rows\n", arguments[1]);
        return 1;
    }
    double start = processor_seconds();
    bool is_json = strcmp(arguments[2], "json") == 0;
    writer_open(&writer, arguments[3]);
    if (!is_json) writer_header(&writer);
    int failed = write_rows(&writer, &rows, is_json);
    printf("{\"rows\": %" PRIu64 ", \"processor_seconds\": %.9f}\n", rows.count,
           processor_seconds() - start);
    return failed ? 1 : 0;
}

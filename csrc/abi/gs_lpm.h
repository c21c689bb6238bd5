/* SPDX-License-Identifier: Apache-2.0 */
/* getlpmid: the id of the longest prefix that holds an address. The prefixes come from a CSV file
 * of lines `prefix,id`, read once. Nested prefixes are flattened into ranges that do not overlap,
 * sorted by where they begin, so that a lookup is one binary search; for IPv4 an index by the first
 * 16 bits leaves few steps of it. */
#ifndef GS_LPM_H
#define GS_LPM_H

#include "gs_functions.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* An address as a number; one of IPv4 has its 32 bits in `low`. */
struct gs_lpm_key {
    uint64_t high, low;
};

/* One line of the file. */
struct gs_lpm_prefix {
    struct gs_lpm_key first, last;
    uint32_t length; /* bits */
    uint32_t id;
    uint32_t line;
};

/* Addresses from `first` up to the next range's have this id, or none. */
struct gs_lpm_range {
    struct gs_lpm_key first;
    uint32_t id;
    bool has_id;
};

/* One family. */
struct gs_lpm_table {
    struct gs_lpm_prefix *prefixes; /* only while the file is read */
    struct gs_lpm_range *ranges;    /* the first begins at address 0 */
    uint32_t prefix_count, prefix_capacity, range_count;
};

#define GS_LPM_INDEX_SIZE 65537
#define GS_LPM_MOST_BYTES (256 << 20)

struct gs_lpm {
    struct gs_lpm_table ipv4, ipv6;
    uint32_t *index; /* [i]: the ranges of ipv4 that begin below i << 16 */
};

/* Where an error is to be told, and of what. */
struct gs_lpm_report {
    const char *path;
    char *message;
    size_t message_size;
};

static inline int gs_lpm_compare(struct gs_lpm_key a, struct gs_lpm_key b)
{
    if (a.high != b.high) return a.high < b.high ? -1 : 1;
    return (a.low > b.low) - (a.low < b.low);
}

static inline struct gs_lpm_key gs_lpm_successor(struct gs_lpm_key a)
{
    struct gs_lpm_key next = {a.high + (a.low == UINT64_MAX), a.low + 1};
    return next;
}

static inline struct gs_lpm_key gs_lpm_key_of_inet(struct gs_inet address)
{
    struct gs_lpm_key key = {__builtin_bswap64(address.words[0]),
                             __builtin_bswap64(address.words[1])};
    return key;
}

/* --- reading --- */

/* Says which line is wrong and what was expected there, never what stands there: a query may name
 * any file that its reader may read. */
static inline bool gs_lpm_fail(const struct gs_lpm_report *report, uint32_t line, const char *what)
{
    if (line == 0) {
        snprintf(report->message, report->message_size, "%s: %s", report->path, what);
    } else {
        snprintf(report->message, report->message_size, "%s:%u: %s", report->path, line, what);
    }
    return false;
}

/* The text without the spaces around it, cut in place. */
static inline char *gs_lpm_trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* Digits and nothing else, at most `limit`. */
static inline bool gs_lpm_number(const char *text, uint64_t limit, uint32_t *number)
{
    uint64_t value = 0;
    if (*text == '\0') return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') return false;
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > limit) return false;
    }
    *number = (uint32_t)value;
    return true;
}

/* The network that an IPv4 or IPv6 address and its first `length` bits name. Prefixes within
 * ::ffff:0:0/96 are IPv4's. */
static inline void gs_lpm_network(struct gs_inet address, uint32_t length,
                                  struct gs_lpm_prefix *prefix, bool *is_ipv4)
{
    *is_ipv4 = gs_inet_is_ip(address) && length >= 96;
    prefix->first = gs_lpm_key_of_inet(gs_function_prefix_ipv6_uint(address, length));
    prefix->last = prefix->first;
    prefix->last.high |= ~gs_high_bits(length);
    prefix->last.low |= ~gs_high_bits(length > 64 ? length - 64 : 0);
    prefix->length = length;
    if (*is_ipv4) {
        prefix->first.low &= UINT32_MAX;
        prefix->last.low &= UINT32_MAX;
    }
}

/* `10.0.0.0/8`, `2001:db8::/32`, or an address, which is the prefix of all its bits. */
static inline bool gs_lpm_parse_prefix(char *text, struct gs_lpm_prefix *prefix, bool *is_ipv4)
{
    uint8_t bytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    char *slash = strchr(text, '/');
    if (slash != NULL) *slash = '\0';
    uint32_t unused_bits = inet_pton(AF_INET, text, bytes + 12) == 1 ? 96 : 0;
    bool parsed = unused_bits == 96 || inet_pton(AF_INET6, text, bytes) == 1;
    uint32_t length = 128 - unused_bits;
    if (slash != NULL) {
        parsed = gs_lpm_number(slash + 1, length, &length) && parsed;
        *slash = '/';
    }
    if (parsed) {
        gs_lpm_network(gs_inet_from_bytes(bytes), length + unused_bits, prefix, is_ipv4);
    }
    return parsed;
}

static inline bool gs_lpm_append(struct gs_lpm_table *table, const struct gs_lpm_prefix *prefix)
{
    if (table->prefix_count == table->prefix_capacity) {
        uint32_t capacity = table->prefix_capacity == 0 ? 256 : 2 * table->prefix_capacity;
        void *grown = realloc(table->prefixes, (size_t)capacity * sizeof *table->prefixes);
        if (grown == NULL) return false;
        table->prefixes = grown;
        table->prefix_capacity = capacity;
    }
    table->prefixes[table->prefix_count++] = *prefix;
    return true;
}

/* One line: empty, a comment (#), the header `prefix,id`, or a prefix and its id. */
static inline bool gs_lpm_read_line(struct gs_lpm *lpm, char *line, uint32_t number,
                                    const struct gs_lpm_report *report)
{
    struct gs_lpm_prefix prefix = {.line = number};
    bool is_ipv4;
    if (number == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0) line += 3; /* a byte order mark */
    char *text = gs_lpm_trim(line);
    if (*text == '\0' || *text == '#') return true;
    char *comma = strchr(text, ',');
    if (comma == NULL) return gs_lpm_fail(report, number, "expected `prefix,id`");
    *comma = '\0';
    char *network = gs_lpm_trim(text), *id = gs_lpm_trim(comma + 1);
    if (number == 1 && strcmp(network, "prefix") == 0 && strcmp(id, "id") == 0) return true;
    if (!gs_lpm_parse_prefix(network, &prefix, &is_ipv4)) {
        return gs_lpm_fail(report, number, "not an address prefix, as 10.0.0.0/8");
    }
    if (!gs_lpm_number(id, UINT32_MAX, &prefix.id)) {
        return gs_lpm_fail(report, number, "the id is not a number of 32 bits");
    }
    if (gs_lpm_append(is_ipv4 ? &lpm->ipv4 : &lpm->ipv6, &prefix)) return true;
    return gs_lpm_fail(report, 0, "no memory");
}

/* A regular file of bounded size, links followed; NULL with a message. */
static inline FILE *gs_lpm_open(const struct gs_lpm_report *report)
{
    /* without waiting: a pipe that nobody writes is no list */
    int descriptor = open(report->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    const char *wrong = NULL;
    if (descriptor < 0 || fstat(descriptor, &status) != 0) wrong = strerror(errno);
    if (wrong == NULL && S_ISDIR(status.st_mode)) wrong = strerror(EISDIR);
    if (wrong == NULL && !S_ISREG(status.st_mode)) wrong = "not a regular file";
    if (wrong == NULL && status.st_size > GS_LPM_MOST_BYTES)
        wrong = "larger than 256 MiB, which is no list of prefixes";
    FILE *file = wrong == NULL ? fdopen(descriptor, "r") : NULL;
    if (wrong == NULL && file == NULL) wrong = strerror(errno);
    if (wrong != NULL) gs_lpm_fail(report, 0, wrong);
    if (file == NULL && descriptor >= 0) close(descriptor);
    return file;
}

static inline bool gs_lpm_read(struct gs_lpm *lpm, const struct gs_lpm_report *report)
{
    FILE *file = gs_lpm_open(report);
    if (file == NULL) return false;
    char line[512];
    uint32_t number = 0;
    bool good = true;
    while (good && fgets(line, sizeof line, file) != NULL) {
        number++;
        bool is_whole = strchr(line, '\n') != NULL || feof(file);
        good = is_whole ? gs_lpm_read_line(lpm, line, number, report)
                        : gs_lpm_fail(report, number, "expected `prefix,id`, not a long line");
    }
    if (good && ferror(file)) good = gs_lpm_fail(report, 0, strerror(errno));
    fclose(file);
    return good;
}

/* --- flattening --- */

/* A prefix comes before those inside it. */
static inline int gs_lpm_compare_prefixes(const void *a, const void *b)
{
    const struct gs_lpm_prefix *x = a, *y = b;
    int order = gs_lpm_compare(x->first, y->first);
    if (order == 0) order = (x->length > y->length) - (x->length < y->length);
    return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

/* From `first` on this id holds (that of `prefix`, or none); a range that would be empty is
 * overwritten by the one behind it. */
static inline void gs_lpm_begin_range(struct gs_lpm_table *table, struct gs_lpm_key first,
                                      const struct gs_lpm_prefix *prefix)
{
    struct gs_lpm_range range = {first, prefix == NULL ? 0 : prefix->id, prefix != NULL};
    uint32_t at = table->range_count;
    if (at > 0 && gs_lpm_compare(table->ranges[at - 1].first, first) == 0) at--;
    table->ranges[at] = range;
    table->range_count = at + 1;
}

/* Ends the innermost open prefix: behind it the one around it holds again. */
static inline uint32_t gs_lpm_close(struct gs_lpm_table *table,
                                    const struct gs_lpm_prefix *const *open, uint32_t depth)
{
    struct gs_lpm_key after = gs_lpm_successor(open[depth - 1]->last);
    bool is_last = after.high == 0 && after.low == 0;
    if (!is_last) gs_lpm_begin_range(table, after, depth > 1 ? open[depth - 2] : NULL);
    return depth - 1;
}

/* Walks the sorted prefixes; those that hold the current address are open, the innermost last. At
 * most one of each length is open, so 130 places suffice. */
static inline void gs_lpm_sweep(struct gs_lpm_table *table)
{
    const struct gs_lpm_prefix *open[130];
    uint32_t depth = 0;
    struct gs_lpm_key zero = {0, 0};
    gs_lpm_begin_range(table, zero, NULL);
    for (uint32_t i = 0; i < table->prefix_count; i++) {
        const struct gs_lpm_prefix *prefix = &table->prefixes[i];
        while (depth > 0 && gs_lpm_compare(open[depth - 1]->last, prefix->first) < 0) {
            depth = gs_lpm_close(table, open, depth);
        }
        gs_lpm_begin_range(table, prefix->first, prefix);
        if (depth > 0 && open[depth - 1]->length == prefix->length) depth--;
        open[depth++] = prefix;
    }
    while (depth > 0)
        depth = gs_lpm_close(table, open, depth);
}

/* One prefix with two ids is a mistake in the file; with the same one twice it is none. */
static inline bool gs_lpm_check_unique(const struct gs_lpm_table *table,
                                       const struct gs_lpm_report *report)
{
    for (uint32_t i = 1; i < table->prefix_count; i++) {
        const struct gs_lpm_prefix *x = &table->prefixes[i - 1], *y = &table->prefixes[i];
        if (x->length == y->length && x->id != y->id && gs_lpm_compare(x->first, y->first) == 0) {
            snprintf(report->message, report->message_size,
                     "%s:%u: this prefix has id %u, but line %u gave it id %u", report->path,
                     y->line, y->id, x->line, x->id);
            return false;
        }
    }
    return true;
}

static inline bool gs_lpm_flatten(struct gs_lpm_table *table, const struct gs_lpm_report *report)
{
    if (table->prefix_count > 0) {
        qsort(table->prefixes, table->prefix_count, sizeof *table->prefixes,
              gs_lpm_compare_prefixes);
    }
    if (!gs_lpm_check_unique(table, report)) return false;
    /* every prefix begins a range and ends one */
    table->ranges = malloc((2 * (size_t)table->prefix_count + 1) * sizeof *table->ranges);
    if (table->ranges == NULL) return gs_lpm_fail(report, 0, "no memory");
    gs_lpm_sweep(table);
    free(table->prefixes);
    table->prefixes = NULL;
    return true;
}

static inline bool gs_lpm_make_index(struct gs_lpm *lpm, const struct gs_lpm_report *report)
{
    lpm->index = malloc(GS_LPM_INDEX_SIZE * sizeof *lpm->index);
    if (lpm->index == NULL) return gs_lpm_fail(report, 0, "no memory");
    uint32_t at = 0;
    for (uint64_t i = 0; i < GS_LPM_INDEX_SIZE; i++) {
        while (at < lpm->ipv4.range_count && lpm->ipv4.ranges[at].first.low < i << 16)
            at++;
        lpm->index[i] = at;
    }
    return true;
}

/* --- the handle --- */

static inline void gs_lpm_free(void *handle)
{
    struct gs_lpm *lpm = handle;
    if (lpm == NULL) return;
    free(lpm->ipv4.prefixes);
    free(lpm->ipv4.ranges);
    free(lpm->ipv6.prefixes);
    free(lpm->ipv6.ranges);
    free(lpm->index);
    free(lpm);
}

static inline void *gs_lpm_new(struct gs_string path, char *message, size_t message_size)
{
    char *name = calloc(1, (size_t)path.length + 1);
    struct gs_lpm *lpm = calloc(1, sizeof *lpm);
    struct gs_lpm_report report = {name == NULL ? "" : name, message, message_size};
    bool good = name != NULL && lpm != NULL;
    if (good) {
        if (path.length > 0) memcpy(name, path.bytes, path.length);
        good = gs_lpm_read(lpm, &report) && gs_lpm_flatten(&lpm->ipv4, &report) &&
               gs_lpm_flatten(&lpm->ipv6, &report) && gs_lpm_make_index(lpm, &report);
    } else {
        gs_lpm_fail(&report, 0, "no memory");
    }
    free(name);
    if (good) return lpm;
    gs_lpm_free(lpm);
    return NULL;
}

/* --- looking up --- */

/* The last range that begins at or before `key`, which lies in ranges[low - 1] … ranges[high - 1];
 * low ≥ 1. */
static inline bool gs_lpm_find(const struct gs_lpm_range *ranges, uint32_t low, uint32_t high,
                               struct gs_lpm_key key, uint32_t *id)
{
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (gs_lpm_compare(ranges[middle].first, key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    *id = ranges[low - 1].id;
    return ranges[low - 1].has_id;
}

static inline bool gs_function_getlpmid_ip_string(uint32_t ip, const void *handle, uint32_t *id)
{
    const struct gs_lpm *lpm = handle;
    struct gs_lpm_key key = {0, ip};
    uint32_t low = lpm->index[ip >> 16], high = lpm->index[(ip >> 16) + 1];
    return gs_lpm_find(lpm->ipv4.ranges, low == 0 ? 1 : low, high, key, id);
}

/* An IPv6 address that holds an IPv4 one is that one (GSQL section 8), for both types, so that the
 * answer does not depend on which of them the query's text made of srcIP. */
static inline bool gs_function_getlpmid_inet_string(struct gs_inet address, const void *handle,
                                                    uint32_t *id)
{
    const struct gs_lpm *lpm = handle;
    if (gs_inet_is_ip(address)) {
        return gs_function_getlpmid_ip_string(gs_inet_to_ip(address), handle, id);
    }
    return gs_lpm_find(lpm->ipv6.ranges, 1, lpm->ipv6.range_count, gs_lpm_key_of_inet(address), id);
}

static inline bool gs_function_getlpmid_ipv6_string(struct gs_inet address, const void *handle,
                                                    uint32_t *id)
{
    return gs_function_getlpmid_inet_string(address, handle, id);
}

#define GS_LPM_HANDLE(type)                                                                        \
    static inline void *gs_handle_getlpmid_##type##_string_new(struct gs_string path,              \
                                                               char *message, size_t size)         \
    {                                                                                              \
        return gs_lpm_new(path, message, size);                                                    \
    }                                                                                              \
    static inline void gs_handle_getlpmid_##type##_string_free(void *handle)                       \
    {                                                                                              \
        gs_lpm_free(handle);                                                                       \
    }

GS_LPM_HANDLE(ip)
GS_LPM_HANDLE(ipv6)
GS_LPM_HANDLE(inet)
#undef GS_LPM_HANDLE

#endif

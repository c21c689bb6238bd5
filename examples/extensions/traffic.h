/* SPDX-License-Identifier: Apache-2.0 */
/* The C of traffic.gsql. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "gs_extension.h"

/* ---- a field: the option "maximum segment size" of TCP (RFC 9293, 3.2) ---- */

enum { TCP_FIXED = 20, OPTION_END = 0, OPTION_NOTHING = 1, OPTION_SEGMENT = 2 };

/* The decoder has seen that the header, with its options, is captured. */
static inline bool gs_field_tcp_largest_segment(const struct gs_packet *packet, uint16_t *bytes)
{
    const uint8_t *header = gs_transport_header(packet);
    uint32_t end = gs_tcp_header_length(packet);
    for (uint32_t at = TCP_FIXED; at < end && header[at] != OPTION_END;) {
        uint32_t length = header[at] == OPTION_NOTHING ? 1 : end - at < 2 ? 0 : header[at + 1];
        if (length == 0 || length > end - at) return false;
        if (header[at] == OPTION_SEGMENT && length == 4) {
            *bytes = gs_load_be16(header + at + 2);
            return true;
        }
        at += length;
    }
    return false;
}

/* ---- a predicate ---- */

static inline uint8_t gs_predicate_ephemeral_ushort(uint16_t port)
{
    return port >= 49152;
}

/* ---- a PARTIAL function with a HANDLE: the word behind the one that a text begins with ---- */

static inline void *gs_handle_word_behind_string_string_new(struct gs_string first, char *message,
                                                            size_t message_size)
{
    struct gs_string *wanted = malloc(sizeof *wanted + first.length + 1);
    if (wanted == NULL || first.length == 0) {
        snprintf(message, message_size, wanted == NULL ? "no memory" : "no word to be behind of");
        free(wanted);
        return NULL;
    }
    uint8_t *bytes = (uint8_t *)(wanted + 1);
    memcpy(bytes, first.bytes, first.length);
    bytes[first.length] = ' ';
    *wanted = (struct gs_string){bytes, first.length + 1};
    return wanted;
}

static inline void gs_handle_word_behind_string_string_free(void *handle)
{
    free(handle);
}

/* A part of the text: no room is needed for it. */
static inline bool gs_function_word_behind_string_string(struct gs_scratch *scratch,
                                                         struct gs_string text, const void *handle,
                                                         struct gs_string *word)
{
    const struct gs_string *first = handle;
    (void)scratch;
    if (!gs_string_has_at(text, 0, *first)) return false;
    uint32_t end = first->length;
    while (end < text.length && text.bytes[end] > ' ')
        end++;
    *word = gs_string_part(text, first->length, end - first->length);
    return end > first->length;
}

/* ---- size_histogram: its state is what is merged ---- */

enum { SIZE_CLASSES = 33 }; /* 0, and one for each number of bits */

struct size_histogram {
    uint64_t counts[SIZE_CLASSES];
};

static inline void gs_udaf_size_histogram_uint_init(void *state)
{
    memset(state, 0, sizeof(struct size_histogram));
}

static inline void gs_udaf_size_histogram_uint_update(void *state, uint32_t size)
{
    struct size_histogram *histogram = state;
    histogram->counts[size == 0 ? 0 : 32 - __builtin_clz(size)]++;
}

static inline void gs_udaf_size_histogram_uint_merge(void *state, const void *other)
{
    struct size_histogram *histogram = state;
    const struct size_histogram *more = other;
    for (int at = 0; at < SIZE_CLASSES; at++)
        histogram->counts[at] += more->counts[at];
}

static inline uint64_t size_histogram_total(const struct size_histogram *histogram)
{
    uint64_t total = 0;
    for (int at = 0; at < SIZE_CLASSES; at++)
        total += histogram->counts[at];
    return total;
}

/* Whatever the bytes are, they count something, but not more than there can have been. */
static inline bool gs_udaf_size_histogram_uint_valid(const void *state)
{
    const struct size_histogram *histogram = state;
    for (int at = 0; at < SIZE_CLASSES; at++)
        if (histogram->counts[at] >> 48 != 0) return false;
    return size_histogram_total(histogram) != 0;
}

static inline uint64_t gs_udaf_size_histogram_uint_output(const void *state)
{
    return size_histogram_total(state);
}

/* The greatest size of the class in which the part p of all sizes ends. */
static inline uint32_t gs_extractor_size_quantile_uint_float(const void *state, double p)
{
    const struct size_histogram *histogram = state;
    double wanted = p * (double)size_histogram_total(histogram);
    uint64_t seen = 0;
    for (int at = 0; at < SIZE_CLASSES; at++) {
        seen += histogram->counts[at];
        if (seen != 0 && (double)seen >= wanted) return (uint32_t)((UINT64_C(1) << at) - 1);
    }
    return UINT32_MAX;
}

static inline double gs_extractor_size_entropy_uint(const void *state)
{
    const struct size_histogram *histogram = state;
    double total = (double)size_histogram_total(histogram), bits = 0;
    for (int at = 0; at < SIZE_CLASSES; at++) {
        double part = (double)histogram->counts[at] / total;
        if (histogram->counts[at] != 0) bits -= part * log2(part);
    }
    return bits;
}

/* ---- distinct_about: a small state below the border, a larger one above ---- */

enum { FEW_HASHES = 16, LEAST_HASHES = 256 };

/* In increasing order, each once; without padding, as a state that travels must be. */
struct few_hashes {
    uint64_t count, hashes[FEW_HASHES];
};

struct least_hashes {
    uint64_t count, hashes[LEAST_HASHES];
};

/* The same on every host: sketches of several are merged. (splitmix64, by Sebastiano Vigna.) */
static inline uint64_t hash_of(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* Keeps the `most` least of them. */
static inline void hashes_add(uint64_t *count, uint64_t *hashes, uint32_t most, uint64_t hash)
{
    uint64_t at = *count;
    while (at > 0 && hashes[at - 1] > hash)
        at--;
    if ((at > 0 && hashes[at - 1] == hash) || at >= most) return;
    if (*count < most) (*count)++;
    memmove(hashes + at + 1, hashes + at, (*count - at - 1) * sizeof *hashes);
    hashes[at] = hash;
}

static inline bool hashes_rise(const uint64_t *hashes, uint64_t count)
{
    for (uint64_t at = 1; at < count; at++)
        if (hashes[at - 1] >= hashes[at]) return false;
    return true;
}

static inline uint32_t hashes_wanted(uint32_t k)
{
    return k < 2 ? 2 : k > LEAST_HASHES ? LEAST_HASHES : k;
}

static inline void gs_udaf_few_hashes_ullong_uint_init(void *state, uint32_t k)
{
    (void)k;
    memset(state, 0, sizeof(struct few_hashes));
}

static inline void gs_udaf_few_hashes_ullong_uint_update(void *state, uint64_t value, uint32_t k)
{
    struct few_hashes *few = state;
    (void)k;
    hashes_add(&few->count, few->hashes, FEW_HASHES, hash_of(value));
}

/* A state below the border that is full leaves as it is, and begins anew. */
static inline bool gs_udaf_few_hashes_ullong_uint_full(const void *state, uint32_t k)
{
    (void)k;
    return ((const struct few_hashes *)state)->count == FEW_HASHES;
}

static inline void gs_udaf_few_hashes_ullong_uint_output(const void *state, uint32_t k,
                                                         uint8_t *partial)
{
    (void)k;
    memcpy(partial, state, sizeof(struct few_hashes));
}

static inline double least_hashes_distinct(const struct least_hashes *least, uint32_t k)
{
    k = hashes_wanted(k);
    if (least->count < k) return (double)least->count;
    return (double)(k - 1) / ((double)least->hashes[k - 1] * 0x1p-64);
}

static inline void gs_udaf_least_hashes_fstring136_uint_init(void *state, uint32_t k)
{
    (void)k;
    memset(state, 0, sizeof(struct least_hashes));
}

static inline void gs_udaf_least_hashes_fstring136_uint_update(void *state, const uint8_t *partial,
                                                               uint32_t k)
{
    struct least_hashes *least = state;
    struct few_hashes few;
    memcpy(&few, partial, sizeof few);
    for (uint64_t at = 0; at < few.count; at++)
        hashes_add(&least->count, least->hashes, hashes_wanted(k), few.hashes[at]);
}

static inline bool gs_udaf_least_hashes_fstring136_uint_valid(const void *partial, uint32_t k)
{
    struct few_hashes few;
    (void)k;
    memcpy(&few, partial, sizeof few);
    return few.count > 0 && few.count <= FEW_HASHES && hashes_rise(few.hashes, few.count);
}

static inline void gs_udaf_least_hashes_fstring136_uint_merge(void *state, const void *other,
                                                              uint32_t k)
{
    struct least_hashes *least = state;
    const struct least_hashes *more = other;
    for (uint64_t at = 0; at < more->count; at++)
        hashes_add(&least->count, least->hashes, hashes_wanted(k), more->hashes[at]);
}

static inline double gs_udaf_least_hashes_fstring136_uint_output(const void *state, uint32_t k)
{
    return least_hashes_distinct(state, k);
}

/* The same over rows, where nothing is below the border. */

static inline void gs_udaf_distinct_about_ullong_uint_init(void *state, uint32_t k)
{
    gs_udaf_least_hashes_fstring136_uint_init(state, k);
}

static inline void gs_udaf_distinct_about_ullong_uint_update(void *state, uint64_t value,
                                                             uint32_t k)
{
    struct least_hashes *least = state;
    hashes_add(&least->count, least->hashes, hashes_wanted(k), hash_of(value));
}

static inline void gs_udaf_distinct_about_ullong_uint_merge(void *state, const void *other,
                                                            uint32_t k)
{
    gs_udaf_least_hashes_fstring136_uint_merge(state, other, k);
}

static inline double gs_udaf_distinct_about_ullong_uint_output(const void *state, uint32_t k)
{
    return least_hashes_distinct(state, k);
}

/* ---- share_of_ports: PARTIAL, with a HANDLE ---- */

struct port_share {
    uint64_t listed, all; /* bytes */
};

/* A list of ports as bits; anything between two numbers separates them. */
static inline void *gs_handle_share_of_ports_ushort_uint_string_new(struct gs_string list,
                                                                    char *message,
                                                                    size_t message_size)
{
    uint8_t *ports = calloc(65536 / 8, 1);
    if (ports == NULL) snprintf(message, message_size, "no memory");
    for (uint32_t at = 0; ports != NULL && at < list.length;) {
        uint32_t port = 0, begin = at;
        for (; at < list.length && list.bytes[at] >= '0' && list.bytes[at] <= '9'; at++)
            port = port > 65535 ? port : port * 10 + (list.bytes[at] - '0');
        if (port > 65535) {
            snprintf(message, message_size, "a port beyond 65535");
            free(ports);
            return NULL;
        }
        if (at > begin) ports[port / 8] |= (uint8_t)(1 << port % 8);
        at += at == begin;
    }
    return ports;
}

static inline void gs_handle_share_of_ports_ushort_uint_string_free(void *handle)
{
    free(handle);
}

static inline void gs_udaf_share_of_ports_ushort_uint_string_init(void *state, const void *handle)
{
    (void)handle;
    memset(state, 0, sizeof(struct port_share));
}

static inline void gs_udaf_share_of_ports_ushort_uint_string_update(void *state, uint16_t port,
                                                                    uint32_t bytes,
                                                                    const void *handle)
{
    struct port_share *share = state;
    const uint8_t *ports = handle;
    share->all += bytes;
    if (ports[port / 8] >> port % 8 & 1) share->listed += bytes;
}

static inline void gs_udaf_share_of_ports_ushort_uint_string_merge(void *state, const void *other,
                                                                   const void *handle)
{
    struct port_share *share = state;
    const struct port_share *more = other;
    (void)handle;
    share->listed += more->listed;
    share->all += more->all;
}

static inline bool gs_udaf_share_of_ports_ushort_uint_string_valid(const void *state,
                                                                   const void *handle)
{
    const struct port_share *share = state;
    (void)handle;
    return share->listed <= share->all && share->all >> 48 == 0;
}

static inline bool gs_udaf_share_of_ports_ushort_uint_string_output(const void *state,
                                                                    const void *handle,
                                                                    double *part)
{
    const struct port_share *share = state;
    (void)handle;
    *part = (double)share->listed / (double)share->all;
    return share->all != 0;
}

/* ---- byte_entropy: of a string, with a state of 2 KiB ---- */

struct byte_counts {
    uint64_t counts[256];
};

static inline void gs_udaf_byte_entropy_string_init(void *state)
{
    memset(state, 0, sizeof(struct byte_counts));
}

static inline void gs_udaf_byte_entropy_string_update(void *state, struct gs_string text)
{
    struct byte_counts *bytes = state;
    for (uint32_t at = 0; at < text.length; at++)
        bytes->counts[text.bytes[at]]++;
}

static inline void gs_udaf_byte_entropy_string_merge(void *state, const void *other)
{
    struct byte_counts *bytes = state;
    const struct byte_counts *more = other;
    for (int at = 0; at < 256; at++)
        bytes->counts[at] += more->counts[at];
}

static inline bool gs_udaf_byte_entropy_string_valid(const void *state)
{
    const struct byte_counts *bytes = state;
    for (int at = 0; at < 256; at++)
        if (bytes->counts[at] >> 48 != 0) return false;
    return true;
}

static inline double gs_udaf_byte_entropy_string_output(const void *state)
{
    const struct byte_counts *bytes = state;
    double total = 0, bits = 0;
    for (int at = 0; at < 256; at++)
        total += (double)bytes->counts[at];
    for (int at = 0; at < 256; at++) {
        double part = (double)bytes->counts[at] / total;
        if (bytes->counts[at] != 0) bits -= part * log2(part);
    }
    return bits;
}

/* ---- bits_seen: a state that is a number ---- */

static inline void gs_udaf_bits_seen_uint_init(uint32_t *state)
{
    *state = 0;
}

static inline void gs_udaf_bits_seen_uint_update(uint32_t *state, uint32_t value)
{
    *state |= value;
}

static inline void gs_udaf_bits_seen_uint_merge(uint32_t *state, const uint32_t *other)
{
    *state |= *other;
}

static inline uint32_t gs_udaf_bits_seen_uint_output(const uint32_t *state)
{
    return *state;
}

/* ---- level: a state of supergroups, which is a number ---- */

/* One less than at the last window's end, if there was one. */
static inline void gs_state_level_begin(uint64_t *level, const uint64_t *before, uint64_t number)
{
    (void)number;
    *level = before == NULL || *before == 0 ? 0 : *before - 1;
}

static inline void gs_state_level_end(uint64_t *level)
{
    (void)level;
}

/* WHERE, CLEANING_BY, HAVING: one value of 2^level, the same ones whenever they come. */
static inline bool gs_sfun_is_drawn_ullong(uint64_t *level, uint64_t value)
{
    return (hash_of(value) & ((UINT64_C(1) << *level) - 1)) == 0;
}

/* CLEANING_WHEN: half as many, where there are more groups than there is room for. */
static inline bool gs_sfun_draw_fewer_ullong_uint(uint64_t *level, uint64_t groups, uint32_t room)
{
    if (groups <= room || *level == 63) return false;
    ++*level;
    return true;
}

/* SELECT: for how many values a group stands. */
static inline uint64_t gs_sfun_stands_for(uint64_t *level)
{
    return UINT64_C(1) << *level;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The aggregates of configs/sketches.gsql: sketches as UDAFs (docs/extensions.md). Below the border
 * the first few values of a group wait, and leave as they are when there are too many; the sketch
 * itself is above. */
#ifndef GS_SKETCHES_H
#define GS_SKETCHES_H

#include <arpa/inet.h>
#include <stdio.h>

#include "gs_frequent.h"
#include "gs_hll.h"
#include "gs_kll.h"
#include "gs_scratch.h"
#include "gs_strings.h"
#include "gs_types.h"

/* Bytes of a sketch as a string, in room that the group's row has. */
static inline bool gs_sketch_bytes(struct gs_scratch *scratch, const void *bytes, uint32_t length,
                                   struct gs_string *value)
{
    uint8_t *room;
    if (!gs_string_new(scratch, length, &room, value)) return false;
    memcpy(room, bytes, length);
    return true;
}

/* ---- approx_count_distinct ---- */

static inline uint32_t gs_coupon_ullong(uint64_t value)
{
    return gs_hll_coupon(gs_murmur3(&value, 8));
}

static inline uint32_t gs_coupon_llong(int64_t value)
{
    return gs_hll_coupon(gs_murmur3(&value, 8));
}

static inline uint32_t gs_coupon_timestamp(int64_t value)
{
    return gs_hll_coupon(gs_murmur3(&value, 8));
}

/* -0 is 0. */
static inline uint32_t gs_coupon_float(double value)
{
    value = value == 0 ? 0 : value;
    return gs_hll_coupon(gs_murmur3(&value, 8));
}

static inline uint32_t gs_coupon_string(struct gs_string value)
{
    return gs_hll_coupon(gs_murmur3(value.bytes, value.length));
}

static inline uint32_t gs_coupon_inet(struct gs_inet value)
{
    return gs_hll_coupon(gs_murmur3(&value, 16));
}

static inline uint64_t gs_hll_rounded(const struct gs_hll *hll)
{
    return (uint64_t)llround(gs_hll_estimate(hll));
}

#define GS_DISTINCT_OF(type, c_type)                                                               \
    static inline void gs_udaf_hll_coupons_##type##_init(void *state)                              \
    {                                                                                              \
        gs_hll_part_init(state);                                                                   \
    }                                                                                              \
    static inline void gs_udaf_hll_coupons_##type##_update(void *state, c_type value)              \
    {                                                                                              \
        gs_hll_part_take(state, gs_coupon_##type(value));                                          \
    }                                                                                              \
    static inline bool gs_udaf_hll_coupons_##type##_full(const void *state)                        \
    {                                                                                              \
        return ((const struct gs_hll_part *)state)->count == GS_HLL_COUPONS;                       \
    }                                                                                              \
    static inline void gs_udaf_hll_coupons_##type##_output(const void *state, uint8_t *partial)    \
    {                                                                                              \
        memcpy(partial, state, sizeof(struct gs_hll_part));                                        \
    }                                                                                              \
    static inline void gs_udaf_approx_count_distinct_##type##_init(void *state)                    \
    {                                                                                              \
        gs_hll_init(state);                                                                        \
    }                                                                                              \
    static inline void gs_udaf_approx_count_distinct_##type##_update(void *state, c_type value)    \
    {                                                                                              \
        gs_hll_take(state, gs_coupon_##type(value));                                               \
    }                                                                                              \
    static inline void gs_udaf_approx_count_distinct_##type##_merge(void *state,                   \
                                                                    const void *other)             \
    {                                                                                              \
        gs_hll_merge(state, other);                                                                \
    }                                                                                              \
    static inline uint64_t gs_udaf_approx_count_distinct_##type##_output(const void *state)        \
    {                                                                                              \
        return gs_hll_rounded(state);                                                              \
    }                                                                                              \
    static inline bool gs_extractor_hll_sketch_##type(struct gs_scratch *scratch,                  \
                                                      const void *state, struct gs_string *value)  \
    {                                                                                              \
        return gs_sketch_bytes(scratch, state, sizeof(struct gs_hll), value);                      \
    }

GS_DISTINCT_OF(ullong, uint64_t)
GS_DISTINCT_OF(llong, int64_t)
GS_DISTINCT_OF(timestamp, int64_t)
GS_DISTINCT_OF(float, double)
GS_DISTINCT_OF(string, struct gs_string)
GS_DISTINCT_OF(inet, struct gs_inet)

static inline void gs_udaf_hll_union_fstring128_init(void *state)
{
    gs_hll_init(state);
}

static inline void gs_udaf_hll_union_fstring128_update(void *state, const uint8_t *partial)
{
    struct gs_hll_part part;
    memcpy(&part, partial, sizeof part);
    gs_hll_merge_part(state, &part);
}

static inline bool gs_udaf_hll_union_fstring128_valid(const void *partial)
{
    struct gs_hll_part part;
    memcpy(&part, partial, sizeof part);
    return gs_hll_part_is_valid(&part);
}

static inline void gs_udaf_hll_union_fstring128_merge(void *state, const void *other)
{
    gs_hll_merge(state, other);
}

static inline uint64_t gs_udaf_hll_union_fstring128_output(const void *state)
{
    return gs_hll_rounded(state);
}

/* ---- median_of, quantile_of ---- */

static inline bool gs_kll_answer(const struct gs_kll *kll, double rank, double *value)
{
    if (kll->n == 0 || kll->is_overfull || !(rank >= 0 && rank <= 1)) return false;
    *value = gs_kll_quantile(kll, rank);
    return true;
}

static inline void gs_udaf_kll_values_float_init(void *state)
{
    gs_kll_part_init(state);
}

static inline void gs_udaf_kll_values_float_update(void *state, double value)
{
    if (!isnan(value)) gs_kll_part_take(state, value);
}

static inline bool gs_udaf_kll_values_float_full(const void *state)
{
    return ((const struct gs_kll_part *)state)->count == GS_KLL_WAITING;
}

static inline void gs_udaf_kll_values_float_output(const void *state, uint8_t *partial)
{
    memcpy(partial, state, sizeof(struct gs_kll_part));
}

static inline void gs_udaf_kll_union_fstring240_init(void *state)
{
    gs_kll_init(state);
}

static inline void gs_udaf_kll_union_fstring240_update(void *state, const uint8_t *partial)
{
    struct gs_kll_part part;
    memcpy(&part, partial, sizeof part);
    gs_kll_merge_part(state, &part);
}

static inline bool gs_udaf_kll_union_fstring240_valid(const void *partial)
{
    struct gs_kll_part part;
    memcpy(&part, partial, sizeof part);
    return gs_kll_part_is_valid(&part);
}

static inline void gs_udaf_kll_union_fstring240_merge(void *state, const void *other)
{
    gs_kll_merge(state, other);
}

static inline bool gs_udaf_kll_union_fstring240_output(const void *state, double *value)
{
    return gs_kll_answer(state, 0.5, value);
}

static inline void gs_udaf_median_of_float_init(void *state)
{
    gs_kll_init(state);
}

static inline void gs_udaf_median_of_float_update(void *state, double value)
{
    if (!isnan(value)) gs_kll_update(state, value);
}

static inline void gs_udaf_median_of_float_merge(void *state, const void *other)
{
    gs_kll_merge(state, other);
}

static inline bool gs_udaf_median_of_float_output(const void *state, double *value)
{
    return gs_kll_answer(state, 0.5, value);
}

static inline bool gs_extractor_quantile_of_float_float(const void *state, double rank,
                                                        double *value)
{
    return gs_kll_answer(state, rank, value);
}

static inline bool gs_extractor_quantile_sketch_float(struct gs_scratch *scratch, const void *state,
                                                      struct gs_string *value)
{
    uint8_t bytes[GS_KLL_BYTES];
    if (((const struct gs_kll *)state)->is_overfull) return false;
    return gs_sketch_bytes(scratch, bytes, gs_kll_serialize(state, bytes), value);
}

/* ---- heavy_hitters ---- */

/* A constant k as it is used: a counter for each n/k. */
static inline uint32_t gs_hitters_k(uint32_t k)
{
    return k == 0 ? 1 : k > GS_FREQUENT_K ? GS_FREQUENT_K : k;
}

static inline int gs_hitters_compare(const void *a, const void *b)
{
    struct gs_frequent_counter x, y;
    memcpy(&x, a, sizeof x), memcpy(&y, b, sizeof y);
    if (x.weight != y.weight) return x.weight < y.weight ? 1 : -1;
    return memcmp(x.item, y.item, 16);
}

/* An item as text; `into` has room for 46 characters. */
typedef int gs_item_text(const uint8_t item[16], char *into);

static inline int gs_item_text_ullong(const uint8_t item[16], char *into)
{
    uint64_t value = 0;
    for (int at = 0; at < 8; at++)
        value = value << 8 | item[at];
    return snprintf(into, 46, "%llu", (unsigned long long)value);
}

static inline int gs_item_text_inet(const uint8_t item[16], char *into)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    bool is_ipv4 = memcmp(item, mapped, 12) == 0;
    if (inet_ntop(is_ipv4 ? AF_INET : AF_INET6, item + (is_ipv4 ? 12 : 0), into, 46) == NULL)
        return 0;
    return (int)strlen(into);
}

/* Those that may be more than n/k, and how often they were, at most: "a=7, b=5". */
static inline bool gs_hitters_text(struct gs_scratch *scratch, const struct gs_frequent *frequent,
                                   uint32_t k, gs_item_text *text, struct gs_string *value)
{
    struct gs_frequent_counter found[GS_FREQUENT_COUNTERS];
    char line[GS_FREQUENT_K * 70], item[46];
    uint32_t count = 0, length = 0;
    k = gs_hitters_k(k);
    for (uint64_t at = 0; at < frequent->count; at++) {
        struct gs_frequent_counter counter = frequent->counters[at];
        counter.weight = gs_frequent_sum(counter.weight, frequent->offset);
        if (counter.weight > frequent->n / k) found[count++] = counter;
    }
    qsort(found, count, sizeof *found, gs_hitters_compare);
    if (count > k) count = k;
    for (uint32_t at = 0; at < count; at++) {
        text(found[at].item, item);
        length +=
            (uint32_t)snprintf(line + length, sizeof line - length, "%s%s=%llu", at > 0 ? ", " : "",
                               item, (unsigned long long)found[at].weight);
    }
    return gs_sketch_bytes(scratch, line, length, value);
}

static inline void gs_item_ullong(uint64_t value, uint8_t item[16])
{
    memset(item, 0, 16); /* big-endian: equal counts are in the order of their values */
    for (int at = 0; at < 8; at++)
        item[at] = (uint8_t)(value >> (56 - 8 * at));
}

static inline void gs_item_inet(struct gs_inet value, uint8_t item[16])
{
    memcpy(item, &value, 16);
}

#define GS_HITTERS_OF(type, c_type)                                                                \
    static inline void gs_udaf_hitters_waiting_##type##_uint_init(void *state, uint32_t k)         \
    {                                                                                              \
        (void)k;                                                                                   \
        gs_frequent_part_init(state);                                                              \
    }                                                                                              \
    static inline void gs_udaf_hitters_waiting_##type##_uint_update(void *state, c_type value,     \
                                                                    uint32_t k)                    \
    {                                                                                              \
        uint8_t item[16];                                                                          \
        (void)k;                                                                                   \
        gs_item_##type(value, item);                                                               \
        gs_frequent_part_take(state, item);                                                        \
    }                                                                                              \
    static inline bool gs_udaf_hitters_waiting_##type##_uint_full(const void *state, uint32_t k)   \
    {                                                                                              \
        (void)k;                                                                                   \
        return ((const struct gs_frequent_part *)state)->count == GS_FREQUENT_WAITING;             \
    }                                                                                              \
    static inline void gs_udaf_hitters_waiting_##type##_uint_output(const void *state, uint32_t k, \
                                                                    uint8_t *partial)              \
    {                                                                                              \
        (void)k;                                                                                   \
        memcpy(partial, state, sizeof(struct gs_frequent_part));                                   \
    }                                                                                              \
    static inline void gs_udaf_heavy_hitters_##type##_uint_init(void *state, uint32_t k)           \
    {                                                                                              \
        (void)k;                                                                                   \
        gs_frequent_init(state);                                                                   \
    }                                                                                              \
    static inline void gs_udaf_heavy_hitters_##type##_uint_update(void *state, c_type value,       \
                                                                  uint32_t k)                      \
    {                                                                                              \
        uint8_t item[16];                                                                          \
        (void)k;                                                                                   \
        gs_item_##type(value, item);                                                               \
        gs_frequent_take(state, item);                                                             \
    }                                                                                              \
    static inline void gs_udaf_heavy_hitters_##type##_uint_merge(void *state, const void *other,   \
                                                                 uint32_t k)                       \
    {                                                                                              \
        (void)k;                                                                                   \
        gs_frequent_merge(state, other);                                                           \
    }                                                                                              \
    static inline bool gs_udaf_heavy_hitters_##type##_uint_output(                                 \
        struct gs_scratch *scratch, const void *state, uint32_t k, struct gs_string *value)        \
    {                                                                                              \
        return gs_hitters_text(scratch, state, k, gs_item_text_##type, value);                     \
    }                                                                                              \
    static inline void gs_udaf_hitters_##type##_fstring368_uint_init(void *state, uint32_t k)      \
    {                                                                                              \
        (void)k;                                                                                   \
        gs_frequent_init(state);                                                                   \
    }                                                                                              \
    static inline void gs_udaf_hitters_##type##_fstring368_uint_update(                            \
        void *state, const uint8_t *partial, uint32_t k)                                           \
    {                                                                                              \
        struct gs_frequent_part part;                                                              \
        (void)k;                                                                                   \
        memcpy(&part, partial, sizeof part);                                                       \
        gs_frequent_merge_part(state, &part);                                                      \
    }                                                                                              \
    static inline bool gs_udaf_hitters_##type##_fstring368_uint_valid(const void *partial,         \
                                                                      uint32_t k)                  \
    {                                                                                              \
        struct gs_frequent_part part;                                                              \
        (void)k;                                                                                   \
        memcpy(&part, partial, sizeof part);                                                       \
        return gs_frequent_part_is_valid(&part);                                                   \
    }                                                                                              \
    static inline void gs_udaf_hitters_##type##_fstring368_uint_merge(                             \
        void *state, const void *other, uint32_t k)                                                \
    {                                                                                              \
        (void)k;                                                                                   \
        gs_frequent_merge(state, other);                                                           \
    }                                                                                              \
    static inline bool gs_udaf_hitters_##type##_fstring368_uint_output(                            \
        struct gs_scratch *scratch, const void *state, uint32_t k, struct gs_string *value)        \
    {                                                                                              \
        return gs_hitters_text(scratch, state, k, gs_item_text_##type, value);                     \
    }

GS_HITTERS_OF(ullong, uint64_t)
GS_HITTERS_OF(inet, struct gs_inet)

#endif

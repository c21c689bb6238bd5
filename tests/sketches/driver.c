/* SPDX-License-Identifier: Apache-2.0 */
/* The sketches, to be called from Python (tests/sketches/states.py). */
#include "gs_frequent.h"
#include "gs_hll.h"
#include "gs_kll.h"

#define EXPORTED __attribute__((visibility("default")))

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t value = *state;
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

EXPORTED uint64_t hll_size(void)
{
    return sizeof(struct gs_hll);
}

EXPORTED uint64_t hll_part_size(void)
{
    return sizeof(struct gs_hll_part);
}

EXPORTED uint64_t kll_size(void)
{
    return sizeof(struct gs_kll);
}

EXPORTED uint64_t frequent_size(void)
{
    return sizeof(struct gs_frequent);
}

EXPORTED void hll_init(void *state)
{
    gs_hll_init(state);
}

EXPORTED void hll_add(void *state, const uint64_t *values, uint64_t count)
{
    for (uint64_t at = 0; at < count; at++)
        gs_hll_take(state, gs_hll_coupon(gs_murmur3(&values[at], 8)));
}

EXPORTED void hll_add_bytes(void *state, const void *bytes, uint64_t length)
{
    gs_hll_take(state, gs_hll_coupon(gs_murmur3(bytes, length)));
}

EXPORTED void hll_merge(void *state, const void *other)
{
    gs_hll_merge(state, other);
}

EXPORTED double hll_estimate(const void *state)
{
    return gs_hll_estimate(state);
}

EXPORTED int hll_is_valid(const void *state)
{
    return gs_hll_is_valid(state);
}

/* How often, over seeds, the estimate of `count` values is within `bound` of it, relatively. */
EXPORTED uint32_t hll_within(uint64_t count, uint32_t seeds, double bound)
{
    uint32_t within = 0;
    for (uint32_t seed = 0; seed < seeds; seed++) {
        static struct gs_hll hll;
        uint64_t random = seed;
        gs_hll_init(&hll);
        for (uint64_t at = 0; at < count; at++) {
            uint64_t value = next_random(&random);
            gs_hll_take(&hll, gs_hll_coupon(gs_murmur3(&value, 8)));
        }
        within += fabs(gs_hll_estimate(&hll) / (double)count - 1) <= bound;
    }
    return within;
}

EXPORTED uint32_t hll_part(void *state, const uint64_t *values, uint64_t count)
{
    gs_hll_part_init(state);
    for (uint64_t at = 0; at < count; at++)
        gs_hll_part_take(state, gs_hll_coupon(gs_murmur3(&values[at], 8)));
    return ((struct gs_hll_part *)state)->count;
}

EXPORTED void kll_init(void *state)
{
    gs_kll_init(state);
}

EXPORTED void kll_add(void *state, const double *values, uint64_t count)
{
    for (uint64_t at = 0; at < count; at++)
        gs_kll_update(state, values[at]);
}

EXPORTED void kll_merge(void *state, const void *other)
{
    gs_kll_merge(state, other);
}

EXPORTED double kll_quantile(const void *state, double rank)
{
    return gs_kll_quantile(state, rank);
}

EXPORTED int kll_is_valid(const void *state)
{
    return gs_kll_is_valid(state);
}

EXPORTED int kll_is_overfull(const void *state)
{
    return ((const struct gs_kll *)state)->is_overfull != 0;
}

EXPORTED uint32_t kll_bytes(const void *state, uint8_t *bytes)
{
    return gs_kll_serialize(state, bytes);
}

/* A sketch whose levels are all used up, as only a stranger makes one. */
EXPORTED void kll_greatest(void *state)
{
    struct gs_kll *kll = state;
    gs_kll_init(kll);
    while (kll->level_count < GS_KLL_LEVELS)
        gs_kll_add_level(kll);
    uint32_t end = kll->starts[GS_KLL_LEVELS];
    uint32_t begin = end - gs_kll_capacity(GS_KLL_LEVELS, GS_KLL_LEVELS - 1);
    for (uint32_t level = 0; level < GS_KLL_LEVELS; level++)
        kll->starts[level] = begin;
    for (uint32_t at = begin; at < end; at++)
        kll->items[at] = 1;
    kll->n = (uint64_t)(end - begin) << (GS_KLL_LEVELS - 1);
    kll->min = kll->max = 1;
}

/* How often, over seeds, the rank of the quantile of `count` values in random order, which are 0 to
 * count - 1, is within `bound` of what is asked for. */
EXPORTED uint32_t kll_within(uint64_t count, uint32_t seeds, double rank, double bound)
{
    double *values = malloc(count * sizeof *values);
    uint32_t within = 0;
    for (uint32_t seed = 0; seed < seeds; seed++) {
        static struct gs_kll kll;
        uint64_t random = seed;
        gs_kll_init(&kll);
        for (uint64_t at = 0; at < count; at++)
            values[at] = (double)at;
        for (uint64_t at = count; at > 1; at--) {
            uint64_t other = next_random(&random) % at;
            double value = values[other];
            values[other] = values[at - 1], values[at - 1] = value;
        }
        kll_add(&kll, values, count);
        within += fabs(gs_kll_quantile(&kll, rank) / (double)count - rank) <= bound;
    }
    free(values);
    return within;
}

static void item_of(uint64_t value, uint8_t item[16])
{
    memset(item, 0, 16);
    memcpy(item, &value, 8);
}

EXPORTED void frequent_init(void *state)
{
    gs_frequent_init(state);
}

EXPORTED void frequent_add(void *state, const uint64_t *values, uint64_t count)
{
    uint8_t item[16];
    for (uint64_t at = 0; at < count; at++) {
        item_of(values[at], item);
        gs_frequent_take(state, item);
    }
}

EXPORTED void frequent_merge(void *state, const void *other)
{
    gs_frequent_merge(state, other);
}

EXPORTED uint64_t frequent_weight(const void *state, uint64_t value)
{
    uint8_t item[16];
    item_of(value, item);
    const struct gs_frequent *frequent = state;
    uint16_t at = frequent->index[gs_frequent_place(frequent, item)];
    return at == 0 ? 0 : frequent->counters[at - 1].weight;
}

EXPORTED uint64_t frequent_offset(const void *state)
{
    return ((const struct gs_frequent *)state)->offset;
}

EXPORTED int frequent_is_valid(const void *state)
{
    return gs_frequent_is_valid(state);
}

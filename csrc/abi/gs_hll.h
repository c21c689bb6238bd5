/* SPDX-License-Identifier: Apache-2.0 */
/* HyperLogLog: how many different values there are, about (Flajolet, Fusy, Gandouet, Meunier, AofA
 * 2007), in 4,096 registers of 8 bits. The states are what Apache DataSketches serialises, HLL_8 of
 * lgK 12 and compact sets of coupons, so that its libraries read and merge them.
 *
 * The estimate is that of Ertl (New cardinality estimation algorithms for HyperLogLog sketches,
 * 2017, Algorithm 6), of the registers alone: it does not depend on the order of updates and
 * merges, as DataSketches' own does, so that every way of a query gives the same. Its relative
 * standard error is 1.04 / sqrt(4096), 1.6 %. */
#ifndef GS_HLL_H
#define GS_HLL_H

#include <math.h>
#include <stdbool.h>

#include "gs_murmur3.h"

#define GS_HLL_LG_K 12
#define GS_HLL_K (1u << GS_HLL_LG_K)
#define GS_HLL_MAX_VALUE 63
#define GS_HLL_COUPONS 29
#define GS_HLL_MOST 0x1p62

/* The whole sketch, dense; little-endian, as the host is. */
struct gs_hll {
    uint8_t preamble_ints, version, family, lg_k, lg_array, flags, cur_min, mode;
    double hip;
    double sum_low; /* of 2^-value, of values below 32: exact, as is the other */
    double sum_high;
    uint32_t zeros;
    uint32_t exceptions;
    uint8_t registers[GS_HLL_K];
};

/* Below the border: the first few different coupons, a set. */
struct gs_hll_part {
    uint8_t preamble_ints, version, family, lg_k, lg_array, flags, cur_min, mode;
    uint32_t count;
    uint32_t coupons[GS_HLL_COUPONS];
};

#define GS_HLL_FAMILY 7
#define GS_HLL_MODE_DENSE 0x0a /* registers; of 8 bits */
#define GS_HLL_MODE_SET 0x09
#define GS_HLL_COMPACT 0x08
#define GS_HLL_OUT_OF_ORDER 0x10

/* 26 bits of an address, then 6 of a value: what a hash is to these sketches. */
static inline uint32_t gs_hll_coupon(struct gs_hash128 hash)
{
    unsigned zeros = hash.h2 ? (unsigned)__builtin_clzll(hash.h2) : 64;
    return ((zeros > 62 ? 62 : zeros) + 1) << 26 | (uint32_t)(hash.h1 & 0x3ffffff);
}

static inline void gs_hll_init(struct gs_hll *hll)
{
    memset(hll, 0, sizeof *hll);
    hll->preamble_ints = 10, hll->version = 1, hll->family = GS_HLL_FAMILY, hll->lg_k = GS_HLL_LG_K;
    hll->flags = GS_HLL_COMPACT | GS_HLL_OUT_OF_ORDER, hll->mode = GS_HLL_MODE_DENSE;
    hll->sum_low = GS_HLL_K, hll->zeros = GS_HLL_K;
}

static inline void gs_hll_raise(struct gs_hll *hll, uint32_t slot, uint8_t value)
{
    uint8_t before = hll->registers[slot];
    if (value <= before) return;
    *(before < 32 ? &hll->sum_low : &hll->sum_high) -= ldexp(1, -before);
    *(value < 32 ? &hll->sum_low : &hll->sum_high) += ldexp(1, -value);
    hll->zeros -= before == 0;
    hll->registers[slot] = value;
}

static inline void gs_hll_take(struct gs_hll *hll, uint32_t coupon)
{
    gs_hll_raise(hll, coupon & (GS_HLL_K - 1), (uint8_t)(coupon >> 26));
}

static inline void gs_hll_merge(struct gs_hll *hll, const struct gs_hll *other)
{
    for (uint32_t slot = 0; slot < GS_HLL_K; slot++)
        gs_hll_raise(hll, slot, other->registers[slot]);
}

/* Whether bytes from elsewhere are such a sketch: then nothing in it is out of its range. */
static inline bool gs_hll_is_valid(const struct gs_hll *hll)
{
    struct gs_hll again;
    gs_hll_init(&again);
    for (uint32_t slot = 0; slot < GS_HLL_K; slot++) {
        if (hll->registers[slot] > GS_HLL_MAX_VALUE) return false;
        gs_hll_raise(&again, slot, hll->registers[slot]);
    }
    return memcmp(&again, hll, sizeof again) == 0;
}

static inline double gs_hll_sigma(double x)
{
    if (x == 1) return INFINITY;
    double y = 1, z = x, before;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (z != before);
    return z;
}

static inline double gs_hll_tau(double x)
{
    if (x == 0 || x == 1) return 0;
    double y = 1, z = 1 - x, before;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (z != before);
    return z / 3;
}

static inline double gs_hll_estimate(const struct gs_hll *hll)
{
    double count[GS_HLL_MAX_VALUE + 1] = {0};
    for (uint32_t slot = 0; slot < GS_HLL_K; slot++)
        count[hll->registers[slot]]++;
    double z = GS_HLL_K * gs_hll_tau(1 - count[GS_HLL_MAX_VALUE] / GS_HLL_K);
    for (int value = GS_HLL_MAX_VALUE - 1; value >= 1; value--)
        z = 0.5 * (z + count[value]);
    z += GS_HLL_K * gs_hll_sigma(count[0] / GS_HLL_K);
    double estimate = GS_HLL_K / (2 * M_LN2) * GS_HLL_K / z;
    return estimate < GS_HLL_MOST ? estimate : GS_HLL_MOST; /* all registers full: forged */
}

/* ---- below the border ---- */

static inline void gs_hll_part_init(struct gs_hll_part *part)
{
    memset(part, 0, sizeof *part);
    part->preamble_ints = 3, part->version = 1, part->family = GS_HLL_FAMILY;
    part->lg_k = GS_HLL_LG_K, part->lg_array = 5, part->mode = GS_HLL_MODE_SET;
    part->flags = GS_HLL_COMPACT;
}

/* Take a coupon; returns whether there is room for another. */
static inline bool gs_hll_part_take(struct gs_hll_part *part, uint32_t coupon)
{
    uint32_t at = 0;
    while (at < part->count && part->coupons[at] != coupon)
        at++;
    if (at == part->count) part->coupons[part->count++] = coupon;
    return part->count < GS_HLL_COUPONS;
}

static inline void gs_hll_merge_part(struct gs_hll *hll, const struct gs_hll_part *part)
{
    for (uint32_t at = 0; at < part->count; at++)
        gs_hll_take(hll, part->coupons[at]);
}

static inline bool gs_hll_part_is_valid(const struct gs_hll_part *part)
{
    struct gs_hll_part expected;
    gs_hll_part_init(&expected);
    expected.count = part->count;
    if (part->count > GS_HLL_COUPONS || memcmp(&expected, part, 12) != 0) return false;
    for (uint32_t at = 0; at < GS_HLL_COUPONS; at++)
        if ((part->coupons[at] >> 26 == 0) != (at >= part->count)) return false;
    return true;
}

#endif

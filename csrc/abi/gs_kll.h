/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles, about: the sketch of Karnin, Lang and Liberty (Optimal quantile approximation in
 * streams, FOCS 2016), as Apache DataSketches has it, of doubles, with k = 280: the rank of an
 * answer is within 1 % of what was asked, in 99 of 100 cases.
 *
 * A level has values that stand for 2^level of those seen. A level that is full is sorted, and
 * every other value of it, those at even or at odd places, goes up. Levels lie behind each other,
 * what is free is in front. */
#ifndef GS_KLL_H
#define GS_KLL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GS_KLL_K 280
#define GS_KLL_M 8
#define GS_KLL_LEVELS 48 /* of 2^47 · 280 values and more: none will be seen */
#define GS_KLL_ITEMS 1160
#define GS_KLL_WAITING 29

struct gs_kll {
    uint64_t n;
    uint64_t coins; /* state of a generator: which half goes up */
    double min, max;
    uint32_t level_count;
    uint32_t is_overfull; /* more than the levels can stand for: it has no quantiles any more */
    uint32_t starts[GS_KLL_LEVELS + 1]; /* of each level, and the end */
    uint32_t padding;
    double items[GS_KLL_ITEMS];
};

/* Below the border: values as they came. */
struct gs_kll_part {
    uint64_t count;
    double items[GS_KLL_WAITING];
};

static inline uint32_t gs_kll_capacity(uint32_t level_count, uint32_t level)
{
    uint32_t depth = level_count - level - 1;
    uint64_t doubled = (uint64_t)GS_KLL_K << 1, thirds = 1;
    if (depth > 30) return GS_KLL_M;
    for (uint32_t at = 0; at < depth; at++)
        thirds *= 3;
    uint32_t capacity = (uint32_t)(((doubled << depth) / thirds + 1) >> 1);
    return capacity < GS_KLL_M ? GS_KLL_M : capacity;
}

static inline uint32_t gs_kll_total(uint32_t level_count)
{
    uint32_t total = 0;
    for (uint32_t level = 0; level < level_count; level++)
        total += gs_kll_capacity(level_count, level);
    return total;
}

static inline void gs_kll_init(struct gs_kll *kll)
{
    memset(kll, 0, sizeof *kll);
    kll->coins = 0x9e3779b97f4a7c15ULL;
    kll->min = INFINITY, kll->max = -INFINITY;
    kll->level_count = 1;
    kll->starts[0] = kll->starts[1] = GS_KLL_K;
}

static inline uint32_t gs_kll_population(const struct gs_kll *kll, uint32_t level)
{
    return kll->starts[level + 1] - kll->starts[level];
}

static inline int gs_kll_compare(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, 8), memcpy(&y, b, 8);
    return (x > y) - (x < y);
}

static inline uint32_t gs_kll_coin(struct gs_kll *kll)
{
    kll->coins ^= kll->coins << 13;
    kll->coins ^= kll->coins >> 7;
    kll->coins ^= kll->coins << 17;
    return (uint32_t)(kll->coins >> 63);
}

/* One level more, on top; all moves to the end of the room that there is then. */
static inline void gs_kll_add_level(struct gs_kll *kll)
{
    uint32_t end = kll->starts[kll->level_count];
    uint32_t by = gs_kll_total(kll->level_count + 1) - end, start = kll->starts[0];
    memmove(kll->items + start + by, kll->items + start, (end - start) * sizeof(double));
    kll->level_count++;
    for (uint32_t level = 0; level < kll->level_count; level++)
        kll->starts[level] += by;
    kll->starts[kll->level_count] = end + by;
}

/* Merge two sorted runs, from their ends, into the room that ends where the second one does. */
static inline void gs_kll_merge_runs(double *low, uint32_t low_count, double *high,
                                     uint32_t high_count, double *into)
{
    uint32_t a = 0, b = 0;
    while (a < low_count || b < high_count) {
        if (b == high_count || (a < low_count && low[a] <= high[b]))
            *into++ = low[a++];
        else
            *into++ = high[b++];
    }
}

/* Half of a level goes up; those below it move to where it was. */
static inline void gs_kll_compact(struct gs_kll *kll, uint32_t level)
{
    uint32_t begin = kll->starts[level], population = gs_kll_population(kll, level);
    uint32_t odd = population & 1, half = population / 2, above = gs_kll_population(kll, level + 1);
    double *from = kll->items + begin + odd, halves[GS_KLL_ITEMS];
    if (level == 0) qsort(from, population - odd, sizeof(double), gs_kll_compare);
    uint32_t coin = gs_kll_coin(kll);
    for (uint32_t at = 0; at < half; at++)
        halves[at] = from[2 * at + coin];
    double left = kll->items[begin];
    uint32_t up = kll->starts[level + 1];
    gs_kll_merge_runs(halves, half, kll->items + up, above, kll->items + up - half);
    kll->starts[level + 1] = up - half;
    kll->starts[level] = up - half - odd;
    if (odd) kll->items[kll->starts[level]] = left;
    uint32_t first = kll->starts[0], by = kll->starts[level] - begin;
    if (level == 0) return;
    memmove(kll->items + first + by, kll->items + first, (begin - first) * sizeof(double));
    for (uint32_t below = 0; below < level; below++)
        kll->starts[below] += by;
}

/* Only what strangers made up, and merged, comes here. */
static inline void gs_kll_overfill(struct gs_kll *kll)
{
    kll->is_overfull = 1;
    for (uint32_t level = 0; level < kll->level_count; level++)
        kll->starts[level] = kll->starts[kll->level_count];
}

/* Make room in front. Levels that are together as large as they may be: one of them is full. */
static inline void gs_kll_compress(struct gs_kll *kll)
{
    uint32_t level = 0;
    while (gs_kll_population(kll, level) < gs_kll_capacity(kll->level_count, level))
        level++;
    if (level == GS_KLL_LEVELS - 1) {
        gs_kll_overfill(kll);
        return;
    }
    if (level == kll->level_count - 1) gs_kll_add_level(kll);
    gs_kll_compact(kll, level);
}

static inline void gs_kll_update(struct gs_kll *kll, double value)
{
    if (kll->starts[0] == 0) gs_kll_compress(kll);
    kll->items[--kll->starts[0]] = value;
    kll->n++;
    if (value < kll->min) kll->min = value;
    if (value > kll->max) kll->max = value;
}

/* Sorted values that stand for 2^level each join those of their level. */
static inline void gs_kll_join(struct gs_kll *kll, uint32_t level, const double *values,
                               uint32_t count)
{
    while (count) {
        while (kll->level_count <= level)
            gs_kll_add_level(kll);
        if (kll->starts[0] == 0) gs_kll_compress(kll);
        uint32_t part = count < kll->starts[0] ? count : kll->starts[0], first = kll->starts[0];
        uint32_t begin = kll->starts[level], population = gs_kll_population(kll, level);
        double own[GS_KLL_ITEMS];
        memcpy(own, kll->items + begin, population * sizeof(double));
        memmove(kll->items + first - part, kll->items + first, (begin - first) * sizeof(double));
        for (uint32_t below = 0; below <= level; below++)
            kll->starts[below] -= part;
        gs_kll_merge_runs(own, population, (double *)values, part, kll->items + begin - part);
        values += part, count -= part;
    }
}

static inline void gs_kll_merge(struct gs_kll *kll, const struct gs_kll *other)
{
    for (uint32_t level = 0; level < other->level_count; level++)
        gs_kll_join(kll, level, other->items + other->starts[level],
                    gs_kll_population(other, level));
    kll->n += other->n;
    kll->is_overfull |= other->is_overfull;
    if (other->min < kll->min) kll->min = other->min;
    if (other->max > kll->max) kll->max = other->max;
}

/* The values of a level are in order, but for the first, and within what was seen. */
static inline bool gs_kll_level_is_valid(const struct gs_kll *kll, uint32_t level)
{
    for (uint32_t at = kll->starts[level]; at < kll->starts[level + 1]; at++) {
        double value = kll->items[at];
        if (!(value >= kll->min && value <= kll->max)) return false;
        if (level && at > kll->starts[level] && value < kll->items[at - 1]) return false;
    }
    return true;
}

/* Whether bytes from elsewhere are such a sketch: then nothing of it is read or written out of its
 * room, and its counts are those that it says. */
static inline bool gs_kll_is_valid(const struct gs_kll *kll)
{
    uint32_t levels = kll->level_count;
    if (levels == 0 || levels > GS_KLL_LEVELS) return false;
    if (kll->is_overfull || kll->coins == 0 || kll->starts[levels] != gs_kll_total(levels))
        return false;
    uint64_t n = 0;
    for (uint32_t level = 0; level < levels; level++) {
        if (kll->starts[level] > kll->starts[level + 1]) return false;
        n += (uint64_t)gs_kll_population(kll, level) << level;
    }
    if (n != kll->n) return false;
    for (uint32_t level = 0; level < levels; level++)
        if (!gs_kll_level_is_valid(kll, level)) return false;
    return true;
}

struct gs_kll_weighted {
    double value;
    uint64_t weight;
};

/* The least value of which, with those below it, there are at least rank * n; of rank 0 the least.
 */
static inline double gs_kll_quantile(const struct gs_kll *kll, double rank)
{
    struct gs_kll_weighted values[GS_KLL_ITEMS];
    uint32_t count = 0;
    for (uint32_t level = 0; level < kll->level_count; level++)
        for (uint32_t at = kll->starts[level]; at < kll->starts[level + 1]; at++)
            values[count++] = (struct gs_kll_weighted){kll->items[at], 1ULL << level};
    qsort(values, count, sizeof *values, gs_kll_compare);
    double wanted = ceil(rank * (double)kll->n), seen = 0;
    for (uint32_t at = 0; at < count; at++) {
        seen += (double)values[at].weight;
        if (seen >= wanted) return values[at].value;
    }
    return kll->max;
}

/* As Apache DataSketches serialises it; `into` has room for GS_KLL_BYTES. Returns how many bytes.
 */
#define GS_KLL_BYTES (20 + 4 * GS_KLL_LEVELS + 16 + 8 * GS_KLL_ITEMS)

static inline uint32_t gs_kll_serialize(const struct gs_kll *kll, uint8_t *into)
{
    const uint8_t head[8] = {5, 1, 15, kll->n == 0, GS_KLL_K & 0xff, GS_KLL_K >> 8, GS_KLL_M, 0};
    memcpy(into, head, 8);
    if (kll->n == 0) {
        into[0] = 2;
        return 8;
    }
    const uint16_t k = GS_KLL_K;
    uint32_t at = 20, count = kll->starts[kll->level_count] - kll->starts[0];
    memcpy(into + 8, &kll->n, 8), memcpy(into + 16, &k, 2);
    into[18] = (uint8_t)kll->level_count, into[19] = 0;
    memcpy(into + at, kll->starts, 4 * kll->level_count), at += 4 * kll->level_count;
    memcpy(into + at, &kll->min, 8), memcpy(into + at + 8, &kll->max, 8), at += 16;
    memcpy(into + at, kll->items + kll->starts[0], 8 * count);
    return at + 8 * count;
}

/* ---- below the border ---- */

static inline void gs_kll_part_init(struct gs_kll_part *part)
{
    memset(part, 0, sizeof *part);
}

/* Take a value; returns whether there is room for another. */
static inline bool gs_kll_part_take(struct gs_kll_part *part, double value)
{
    part->items[part->count++] = value;
    return part->count < GS_KLL_WAITING;
}

static inline void gs_kll_merge_part(struct gs_kll *kll, const struct gs_kll_part *part)
{
    for (uint64_t at = 0; at < part->count; at++)
        gs_kll_update(kll, part->items[at]);
}

static inline bool gs_kll_part_is_valid(const struct gs_kll_part *part)
{
    if (part->count > GS_KLL_WAITING) return false;
    for (uint64_t at = 0; at < part->count; at++)
        if (isnan(part->items[at])) return false;
    return true;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The most frequent values, about: counters as of Misra and Gries (Finding repeated elements,
 * 1982), of which the lesser half is purged at once when there is no room (Anderson, Bevan, Lang,
 * Liberty, Rhodes, Thaler, A high-performance algorithm for identifying frequent items in data
 * streams, IMC 2017), as Apache DataSketches has it.
 *
 * With 2k counters no count is too low by more than n/k: each purge takes its median from k
 * counters and more. Values are 16 bytes: addresses, or a number and zeros. */
#ifndef GS_FREQUENT_H
#define GS_FREQUENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gs_murmur3.h"

#define GS_FREQUENT_COUNTERS 512
#define GS_FREQUENT_K (GS_FREQUENT_COUNTERS / 2)
#define GS_FREQUENT_INDEX 1024 /* twice the counters: a power of two */
#define GS_FREQUENT_WAITING 15

struct gs_frequent_counter {
    uint8_t item[16];
    uint64_t weight;
};

struct gs_frequent {
    uint64_t n;      /* of all weights */
    uint64_t offset; /* what purges have taken: no count is lower by more */
    uint64_t count;
    struct gs_frequent_counter counters[GS_FREQUENT_COUNTERS];
    uint16_t index[GS_FREQUENT_INDEX]; /* 1 + position of a counter, behind its hash; 0: none */
};

/* Below the border: counters of the first few different values. */
struct gs_frequent_part {
    uint64_t count;
    struct gs_frequent_counter counters[GS_FREQUENT_WAITING];
};

/* Counts that strangers made up are added, too. */
static inline uint64_t gs_frequent_sum(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static inline void gs_frequent_init(struct gs_frequent *frequent)
{
    memset(frequent, 0, sizeof *frequent);
}

/* Where the index has a value, or would have it. */
static inline uint32_t gs_frequent_place(const struct gs_frequent *frequent, const uint8_t item[16])
{
    uint32_t at = (uint32_t)gs_murmur3(item, 16).h1 % GS_FREQUENT_INDEX;
    while (frequent->index[at] &&
           memcmp(frequent->counters[frequent->index[at] - 1].item, item, 16) != 0)
        at = (at + 1) % GS_FREQUENT_INDEX;
    return at;
}

static inline int gs_frequent_compare_weights(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, 8), memcpy(&y, b, 8);
    return (x > y) - (x < y);
}

/* Take the median of the weights from all; who has nothing left goes. */
static inline void gs_frequent_purge(struct gs_frequent *frequent)
{
    uint64_t weights[GS_FREQUENT_COUNTERS], kept = 0;
    for (uint64_t at = 0; at < frequent->count; at++)
        weights[at] = frequent->counters[at].weight;
    qsort(weights, frequent->count, sizeof *weights, gs_frequent_compare_weights);
    uint64_t median = weights[frequent->count / 2];
    memset(frequent->index, 0, sizeof frequent->index);
    for (uint64_t at = 0; at < frequent->count; at++) {
        struct gs_frequent_counter counter = frequent->counters[at];
        if (counter.weight <= median) continue;
        counter.weight -= median;
        frequent->counters[kept++] = counter;
    }
    memset(frequent->counters + kept, 0, (frequent->count - kept) * sizeof *frequent->counters);
    frequent->offset = gs_frequent_sum(frequent->offset, median), frequent->count = kept;
    for (uint16_t at = 0; at < kept; at++)
        frequent->index[gs_frequent_place(frequent, frequent->counters[at].item)] = at + 1;
}

static inline void gs_frequent_add(struct gs_frequent *frequent, const uint8_t item[16],
                                   uint64_t weight)
{
    uint32_t place = gs_frequent_place(frequent, item);
    if (!frequent->index[place]) {
        if (frequent->count == GS_FREQUENT_COUNTERS) {
            gs_frequent_purge(frequent);
            place = gs_frequent_place(frequent, item);
        }
        memcpy(frequent->counters[frequent->count].item, item, 16);
        frequent->index[place] = (uint16_t)++frequent->count;
    }
    uint64_t *held = &frequent->counters[frequent->index[place] - 1].weight;
    *held = gs_frequent_sum(*held, weight);
}

static inline void gs_frequent_take(struct gs_frequent *frequent, const uint8_t item[16])
{
    frequent->n++;
    gs_frequent_add(frequent, item, 1);
}

static inline void gs_frequent_merge(struct gs_frequent *frequent, const struct gs_frequent *other)
{
    frequent->n = gs_frequent_sum(frequent->n, other->n);
    frequent->offset = gs_frequent_sum(frequent->offset, other->offset);
    for (uint64_t at = 0; at < other->count; at++)
        gs_frequent_add(frequent, other->counters[at].item, other->counters[at].weight);
}

/* Whether bytes from elsewhere are such a sketch: its index leads to its counters, whose weights do
 * not add up to more than there were. */
static inline bool gs_frequent_is_valid(const struct gs_frequent *frequent)
{
    if (frequent->count > GS_FREQUENT_COUNTERS || frequent->n >> 62) return false;
    uint64_t left = frequent->n, indexed = 0;
    if (frequent->offset > frequent->n / GS_FREQUENT_K) return false;
    for (uint32_t at = 0; at < GS_FREQUENT_INDEX; at++) {
        if (frequent->index[at] > frequent->count) return false;
        indexed += frequent->index[at] != 0;
    }
    if (indexed != frequent->count) return false;
    for (uint64_t at = 0; at < frequent->count; at++) {
        const struct gs_frequent_counter *counter = &frequent->counters[at];
        if (counter->weight == 0 || counter->weight > left) return false;
        left -= counter->weight;
        if (frequent->index[gs_frequent_place(frequent, counter->item)] != at + 1) return false;
    }
    return true;
}

/* ---- below the border ---- */

static inline void gs_frequent_part_init(struct gs_frequent_part *part)
{
    memset(part, 0, sizeof *part);
}

/* Take a value; returns whether there is room for another. */
static inline bool gs_frequent_part_take(struct gs_frequent_part *part, const uint8_t item[16])
{
    uint64_t at = 0;
    while (at < part->count && memcmp(part->counters[at].item, item, 16) != 0)
        at++;
    if (at == part->count) memcpy(part->counters[part->count++].item, item, 16);
    part->counters[at].weight++;
    return part->count < GS_FREQUENT_WAITING;
}

static inline void gs_frequent_merge_part(struct gs_frequent *frequent,
                                          const struct gs_frequent_part *part)
{
    for (uint64_t at = 0; at < part->count; at++) {
        frequent->n = gs_frequent_sum(frequent->n, part->counters[at].weight);
        gs_frequent_add(frequent, part->counters[at].item, part->counters[at].weight);
    }
}

static inline bool gs_frequent_part_is_valid(const struct gs_frequent_part *part)
{
    if (part->count > GS_FREQUENT_WAITING) return false;
    for (uint64_t at = 0; at < part->count; at++)
        if (part->counters[at].weight == 0 || part->counters[at].weight >> 56) return false;
    return true;
}

#endif

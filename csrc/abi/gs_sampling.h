/* SPDX-License-Identifier: Apache-2.0 */
/* The stateful functions of configs/sampling.gsql (GSQL section 6.5; Johnson, Muthukrishnan,
 * Rozenbaum, Sampling Algorithms in a Stream Operator, SIGMOD 2005). What is drawn is drawn by the
 * seed, the number of the supergroup and the rows in their order alone. */
#ifndef GS_SAMPLING_H
#define GS_SAMPLING_H

#include <float.h>
#include <string.h>

#include "gs_types.h"

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
static inline uint64_t gs_sampling_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* ---- subset sums: Duffield, Lund, Thorup's threshold sampling, the threshold found on the way;
 * where the paper counts weight up to the threshold a number is drawn for each row, so that no
 * order of rows makes subsets depend on each other ---- */

/* A window begins with this part of the last threshold, should there be less traffic now. */
#define GS_SUBSET_RELAXED 10.0
/* With so many times the groups that are wanted, it is cleaned. */
#define GS_SUBSET_FACTOR 2
/* Every cleaning raises the threshold by this at least: what stayed tells it from what came since.
 */
#define GS_SUBSET_RISE (1 + 0x1p-40)

/* What is known of the groups: how many, and how much, by powers of two of what they stand for. */
#define GS_SUBSET_CLASSES 64

struct gs_subset_class {
    double weight;
    uint64_t count;
};

struct gs_subset_sum {
    double threshold; /* what a group stands for at least; 0: all rows were taken so far */
    double before;    /* that, before it was raised last */
    double weight;    /* of flows' rows since they were cleaned last */
    uint64_t random, rows;
    uint64_t known; /* groups that are in the classes */
    uint32_t wanted;
    bool is_seeded, is_of_flows;
    bool is_ending, is_cleaned; /* the window ends: whether it is decided, and how */
    struct gs_subset_class classes[GS_SUBSET_CLASSES];
};
_Static_assert(sizeof(struct gs_subset_sum) == 1080, "as configs/sampling.gsql has it");

static inline void gs_state_subset_sum_begin(void *state, const void *before, uint64_t number)
{
    const struct gs_subset_sum *last = before;
    struct gs_subset_sum *next = state;
    *next = (struct gs_subset_sum){.random = number};
    if (last == NULL) return;
    next->random = last->random;
    next->is_seeded = last->is_seeded;
    next->wanted = last->wanted;
    next->threshold = last->is_of_flows ? 0 : last->threshold / GS_SUBSET_RELAXED;
}

static inline void gs_state_subset_sum_end(void *state)
{
    ((struct gs_subset_sum *)state)->is_ending = true;
}

/* Uniform in [0, 1). */
static inline double gs_subset_draw(struct gs_subset_sum *state)
{
    state->random++;
    return (double)(gs_sampling_mix(state->random) >> 11) * 0x1p-53;
}

/* Whether a row of this weight is one to sample. */
static inline bool gs_subset_open(struct gs_subset_sum *state, double weight, uint32_t wanted,
                                  uint32_t seed)
{
    state->wanted = wanted > 0 ? wanted : 1;
    if (!state->is_seeded) state->random = gs_sampling_mix(gs_sampling_mix(seed) ^ state->random);
    state->is_seeded = true;
    return weight > 0 && weight <= DBL_MAX;
}

/* By the exponent of the weight (IEEE 754); the first and the last have what is beyond. */
static inline struct gs_subset_class *gs_subset_class_of(struct gs_subset_sum *state, double weight)
{
    uint64_t bits;
    memcpy(&bits, &weight, sizeof bits);
    uint64_t exponent = bits >> 52, last = GS_SUBSET_CLASSES - 1;
    uint64_t at = exponent < 1023 ? 0 : exponent - 1023;
    return &state->classes[at < last ? at : last];
}

/* So many groups are in the sample that stand for this each. */
static inline void gs_subset_note(struct gs_subset_sum *state, double weight, uint64_t count)
{
    struct gs_subset_class *own = gs_subset_class_of(state, weight);
    own->weight += weight * (double)count;
    own->count += count;
    state->known += count;
}

/* Whether a group that stands for so much is to stand for the threshold. */
static inline bool gs_subset_stays(struct gs_subset_sum *state, double weight)
{
    bool is_large = weight > state->threshold;
    if (!is_large && gs_subset_draw(state) * state->threshold >= weight) return false;
    gs_subset_note(state, is_large ? weight : state->threshold, 1);
    return true;
}

static inline bool gs_sfun_ssample_float_uint_uint(void *memory, double weight, uint32_t wanted,
                                                   uint32_t seed)
{
    return gs_subset_open(memory, weight, wanted, seed) && gs_subset_stays(memory, weight);
}

static inline bool gs_sfun_ssample_float_uint(void *memory, double weight, uint32_t wanted)
{
    return gs_sfun_ssample_float_uint_uint(memory, weight, wanted, 0);
}

static inline double gs_sfun_ssthreshold(void *memory)
{
    return ((struct gs_subset_sum *)memory)->threshold;
}

/* The threshold at which about as many stay as are wanted: the heavier ones do, and the lighter
 * ones share the places that these leave. */
static inline double gs_subset_wanted(const struct gs_subset_sum *state)
{
    double weight = 0, places = state->wanted;
    for (uint32_t at = 0; at < GS_SUBSET_CLASSES; at++)
        weight += state->classes[at].weight;
    for (uint32_t at = GS_SUBSET_CLASSES; at-- > 0;) {
        const struct gs_subset_class *heaviest = &state->classes[at];
        double count = (double)heaviest->count;
        if (heaviest->count == 0) continue;
        if (places <= count || heaviest->weight * places <= weight * count) break;
        weight -= heaviest->weight;
        places -= count;
    }
    return weight / places;
}

static inline void gs_subset_raise(struct gs_subset_sum *state, double wanted)
{
    double least = state->threshold * GS_SUBSET_RISE, raised = wanted > least ? wanted : least;
    state->before = state->threshold;
    state->threshold = raised < DBL_MAX ? raised : DBL_MAX;
    state->known = state->rows = 0;
    state->weight = 0;
    memset(state->classes, 0, sizeof state->classes);
}

/* Flows that nothing is known of have a row at least. */
static inline void gs_subset_guess(struct gs_subset_sum *state, uint64_t count)
{
    if (count > state->known && state->rows > 0)
        gs_subset_note(state, state->weight / (double)state->rows, count - state->known);
}

/* Flows are first cleaned at the threshold that there is, by which all are known; if not many leave
 * it is raised with the next row. */
static inline bool gs_sfun_ssdo_clean_ullong(void *memory, uint64_t count)
{
    struct gs_subset_sum *state = memory;
    bool is_known = !state->is_of_flows || state->rows <= 1;
    uint64_t many = GS_SUBSET_FACTOR * (uint64_t)state->wanted;
    if (state->is_of_flows && is_known) many -= state->wanted / 2;
    if (state->wanted == 0 || count < many) return false;
    gs_subset_guess(state, count);
    gs_subset_raise(state, is_known ? gs_subset_wanted(state) : 0);
    return true;
}

static inline bool gs_sfun_ssclean_with_float(void *memory, double weight)
{
    struct gs_subset_sum *state = memory;
    return gs_subset_stays(state, weight > state->before ? weight : state->before);
}

/* Once a window: whether there are too many. */
static inline bool gs_subset_ends(struct gs_subset_sum *state, uint64_t count)
{
    if (!state->is_ending) return state->is_cleaned;
    state->is_ending = false;
    state->is_cleaned = count > state->wanted;
    if (!state->is_cleaned) return false;
    gs_subset_guess(state, count);
    gs_subset_raise(state, gs_subset_wanted(state));
    return true;
}

static inline bool gs_sfun_ssfinal_clean_float_ullong(void *memory, double weight, uint64_t count)
{
    return !gs_subset_ends(memory, count) || gs_sfun_ssclean_with_float(memory, weight);
}

/* ---- of flows: every row is added to its flow; one that is cleaned away and comes again is
 * another one. What a flow stands for is lifted to a threshold at which it stayed, and its rows
 * since are added to that, so that it is right on average at any time. ---- */

static inline bool gs_sfun_fssample_float_uint_uint(void *memory, double weight, uint32_t wanted,
                                                    uint32_t seed)
{
    struct gs_subset_sum *state = memory;
    state->is_of_flows = true;
    if (!gs_subset_open(state, weight, wanted, seed)) return false;
    state->weight += weight;
    state->rows++;
    return true;
}

static inline bool gs_sfun_fssample_float_uint(void *memory, double weight, uint32_t wanted)
{
    return gs_sfun_fssample_float_uint_uint(memory, weight, wanted, 0);
}

struct gs_flow_weight {
    double weight, seen; /* what it stands for, and the threshold by then */
};
_Static_assert(sizeof(struct gs_flow_weight) == 16, "as configs/sampling.gsql has it");

static inline double gs_flow_lifted(double weight, double seen, double threshold)
{
    return seen < threshold && weight < threshold ? threshold : weight;
}

static inline void gs_udaf_flow_weight_float_float_init(void *state)
{
    (void)state;
}

static inline void gs_udaf_flow_weight_float_float_update(void *memory, double weight,
                                                          double threshold)
{
    struct gs_flow_weight *state = memory;
    if (state->weight > 0) state->weight = gs_flow_lifted(state->weight, state->seen, threshold);
    state->seen = threshold;
    state->weight += weight;
}

/* Of panes, of which there is no threshold in common: what they stand for is added. */
static inline void gs_udaf_flow_weight_float_float_merge(void *memory, const void *other)
{
    struct gs_flow_weight *state = memory;
    const struct gs_flow_weight *more = other;
    state->weight += more->weight;
    if (more->seen > state->seen) state->seen = more->seen;
}

static inline double gs_udaf_flow_weight_float_float_output(const void *state)
{
    return ((const struct gs_flow_weight *)state)->weight;
}

static inline bool gs_sfun_fsclean_with_float_float(void *memory, double weight, double seen)
{
    struct gs_subset_sum *state = memory;
    return gs_subset_stays(state, gs_flow_lifted(weight, seen, state->before));
}

static inline bool gs_sfun_fsfinal_clean_float_float_ullong(void *memory, double weight,
                                                            double seen, uint64_t count)
{
    return !gs_subset_ends(memory, count) || gs_sfun_fsclean_with_float_float(memory, weight, seen);
}

static inline double gs_sfun_fsweight_float_float(void *memory, double weight, double seen)
{
    return gs_flow_lifted(weight, seen, ((struct gs_subset_sum *)memory)->threshold);
}

/* ---- the k least of numbers: each row's own, a reservoir, or each value's, a min-hash ---- */

#define GS_BOTTOM_MOST 1000

struct gs_bottom_k {
    uint64_t seed;
    uint32_t wanted, count;
    uint64_t least[GS_BOTTOM_MOST]; /* in order */
};
_Static_assert(sizeof(struct gs_bottom_k) == 8016, "as configs/sampling.gsql has it");

static inline void gs_state_bottom_k_begin(void *state, const void *before, uint64_t number)
{
    (void)before, (void)number;
    memset(state, 0, offsetof(struct gs_bottom_k, least));
}

static inline void gs_state_bottom_k_end(void *state)
{
    (void)state;
}

/* The place of the first that is not below it. */
static inline uint32_t gs_bottom_place(const struct gs_bottom_k *state, uint64_t number)
{
    uint32_t low = 0, high = state->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (state->least[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether it is one of the k least so far, be it again. The call before may have wanted more. */
static inline bool gs_bottom_take(struct gs_bottom_k *state, uint64_t number, uint32_t wanted)
{
    state->wanted = wanted < GS_BOTTOM_MOST ? wanted : GS_BOTTOM_MOST;
    if (state->count > state->wanted) state->count = state->wanted;
    uint32_t place = gs_bottom_place(state, number);
    if (place == state->wanted) return false;
    if (place < state->count && state->least[place] == number) return true;
    if (state->count < state->wanted) state->count++;
    memmove(&state->least[place + 1], &state->least[place],
            (state->count - 1 - place) * sizeof number);
    state->least[place] = number;
    return true;
}

static inline bool gs_bottom_has(const struct gs_bottom_k *state, uint64_t number)
{
    return state->count > 0 && number <= state->least[state->count - 1];
}

static inline bool gs_bottom_is_full(const struct gs_bottom_k *state, uint64_t count)
{
    return state->wanted > 0 && count >= 2 * (uint64_t)state->wanted;
}

static inline uint64_t gs_bottom_number(const struct gs_bottom_k *state, uint64_t value)
{
    return gs_sampling_mix(value ^ state->seed);
}

static inline bool gs_sfun_rsample_ullong_uint_uint(void *memory, uint64_t value, uint32_t wanted,
                                                    uint32_t seed)
{
    struct gs_bottom_k *state = memory;
    state->seed = gs_sampling_mix(seed);
    return gs_bottom_take(state, gs_bottom_number(state, value), wanted);
}

static inline bool gs_sfun_rsample_ullong_uint(void *memory, uint64_t value, uint32_t wanted)
{
    return gs_sfun_rsample_ullong_uint_uint(memory, value, wanted, 0);
}

static inline bool gs_sfun_rsdo_clean_ullong(void *memory, uint64_t count)
{
    return gs_bottom_is_full(memory, count);
}

static inline bool gs_sfun_rsclean_with_ullong(void *memory, uint64_t value)
{
    return gs_bottom_has(memory, gs_bottom_number(memory, value));
}

/* By both halves of an address. */
static inline uint64_t gs_bottom_address(struct gs_inet value)
{
    return gs_sampling_mix(gs_sampling_mix(value.words[0]) ^ value.words[1]);
}

static inline bool gs_sfun_mhsample_ullong_uint(void *memory, uint64_t value, uint32_t wanted)
{
    return gs_bottom_take(memory, gs_sampling_mix(value), wanted);
}

static inline bool gs_sfun_mhsample_inet_uint(void *memory, struct gs_inet value, uint32_t wanted)
{
    return gs_bottom_take(memory, gs_bottom_address(value), wanted);
}

static inline bool gs_sfun_mhdo_clean_ullong(void *memory, uint64_t count)
{
    return gs_bottom_is_full(memory, count);
}

static inline bool gs_sfun_mhclean_with_ullong(void *memory, uint64_t value)
{
    return gs_bottom_has(memory, gs_sampling_mix(value));
}

static inline bool gs_sfun_mhclean_with_inet(void *memory, struct gs_inet value)
{
    return gs_bottom_has(memory, gs_bottom_address(value));
}

/* How many values there are: (k - 1) / the k-th least, as a part of all numbers. */
static inline double gs_sfun_mhcount(void *memory)
{
    const struct gs_bottom_k *state = memory;
    if (state->count < state->wanted || state->count < 2) return state->count;
    return (state->count - 1) / (((double)state->least[state->count - 1] + 1) * 0x1p-64);
}

/* ---- lossy counting (Manku, Motwani, VLDB 2002) ---- */

struct gs_lossy_counting {
    uint64_t rows, bucket;
    uint32_t width;
};
_Static_assert(sizeof(struct gs_lossy_counting) == 24, "as configs/sampling.gsql has it");

static inline void gs_state_lossy_counting_begin(void *state, const void *before, uint64_t number)
{
    (void)before, (void)number;
    *(struct gs_lossy_counting *)state = (struct gs_lossy_counting){.bucket = 1};
}

static inline void gs_state_lossy_counting_end(void *state)
{
    (void)state;
}

/* Counts a row; true: it is the last of a bucket of so many. */
static inline bool gs_sfun_local_count_uint(void *memory, uint32_t width)
{
    struct gs_lossy_counting *state = memory;
    state->width = width > 0 ? width : 1;
    bool is_last = ++state->rows % state->width == 0;
    state->bucket += is_last;
    return is_last;
}

/* From 1 on; right behind the last row of a bucket it is the next one. */
static inline uint64_t gs_sfun_current_bucket(void *memory)
{
    return ((struct gs_lossy_counting *)memory)->bucket;
}

static inline uint64_t gs_sfun_local_rows(void *memory)
{
    return ((struct gs_lossy_counting *)memory)->rows;
}

#endif

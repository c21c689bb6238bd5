/* SPDX-License-Identifier: Apache-2.0
 *
 * What leaves a loop: tuples in a batch that is used again and again, as a stream engine would hand
 * them on. With --check each batch is folded into a checksum that does not depend on order nor on
 * how often a group was cut into partial tuples, so all loops over one file must print the same. */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BATCH_TUPLES = 4096 };

struct tuple {
    uint32_t source;
    uint32_t dest;
    uint32_t minute;
    uint32_t packets;
    uint64_t length_bytes;
    uint64_t unused; /* 32 bytes: two to a cache line, never astride two */
};

struct output {
    size_t used;
    bool check;
    uint64_t tuples;
    uint64_t packets;
    uint64_t length_bytes;
    uint64_t checksum;
    struct tuple batch[BATCH_TUPLES];
};

static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint64_t tuple_checksum(const struct tuple *tuple)
{
    uint64_t key = mix(mix(tuple->minute) ^ ((uint64_t)tuple->source << 32 | tuple->dest));
    return key * (tuple->packets * 1000003ull + tuple->length_bytes);
}

static __attribute__((noinline)) void output_drain(struct output *output)
{
    for (size_t i = 0; output->check && i < output->used; i++) {
        output->checksum += tuple_checksum(&output->batch[i]);
        output->packets += output->batch[i].packets;
        output->length_bytes += output->batch[i].length_bytes;
    }
    output->tuples += output->used;
    output->used = 0;
}

static inline void output_add(struct output *output, const struct tuple *tuple)
{
    if (output->used == BATCH_TUPLES) output_drain(output);
    output->batch[output->used++] = *tuple;
}

#endif

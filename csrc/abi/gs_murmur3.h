/* SPDX-License-Identifier: Apache-2.0 */
/* MurmurHash3, x64, 128 bits (Appleby, public domain), with the seed of Apache DataSketches:
 * sketches that hash otherwise could not be read by its libraries. Whoever knows it can construct
 * collisions, so nothing but sketches, whose answers are approximate, is hashed with it. */
#ifndef GS_MURMUR3_H
#define GS_MURMUR3_H

#include <stdint.h>
#include <string.h>

#define GS_SKETCH_SEED 9001

struct gs_hash128 {
    uint64_t h1, h2;
};

static inline uint64_t gs_murmur3_rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static inline uint64_t gs_murmur3_mix(uint64_t k)
{
    k = (k ^ k >> 33) * 0xff51afd7ed558ccdULL;
    k = (k ^ k >> 33) * 0xc4ceb9fe1a85ec53ULL;
    return k ^ k >> 33;
}

static inline uint64_t gs_murmur3_first(uint64_t k)
{
    return gs_murmur3_rotate(k * 0x87c37b91114253d5ULL, 31) * 0x4cf5ad432745937fULL;
}

static inline uint64_t gs_murmur3_second(uint64_t k)
{
    return gs_murmur3_rotate(k * 0x4cf5ad432745937fULL, 33) * 0x87c37b91114253d5ULL;
}

static inline struct gs_hash128 gs_murmur3(const void *data, uint64_t length)
{
    const uint8_t *at = data;
    uint64_t h1 = GS_SKETCH_SEED, h2 = GS_SKETCH_SEED, rest = length;
    for (; rest >= 16; at += 16, rest -= 16) {
        uint64_t k[2];
        memcpy(k, at, 16);
        h1 ^= gs_murmur3_first(k[0]);
        h1 = (gs_murmur3_rotate(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= gs_murmur3_second(k[1]);
        h2 = (gs_murmur3_rotate(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    uint64_t tail[2] = {0, 0};
    memcpy(tail, at, rest);
    if (rest > 8) h2 ^= gs_murmur3_second(tail[1]);
    if (rest > 0) h1 ^= gs_murmur3_first(tail[0]);
    h1 ^= length, h2 ^= length;
    h1 += h2, h2 += h1;
    h1 = gs_murmur3_mix(h1), h2 = gs_murmur3_mix(h2);
    h1 += h2, h2 += h1;
    return (struct gs_hash128){h1, h2};
}

#endif

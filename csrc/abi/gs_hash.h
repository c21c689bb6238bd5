/* SPDX-License-Identifier: Apache-2.0 */
/* The keyed hash of groups: folded 128-bit multiplication, the key random per process so that
 * nobody on the wire can construct collisions. Low and high level share it: a flush in slot order
 * then walks the high level's table almost in sequence too. */
#ifndef GS_HASH_H
#define GS_HASH_H

#include "gs_types.h"

#define GS_HASH_KEY_WORDS 2

static inline uint64_t gs_hash_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t gs_hash_word(uint64_t state, uint64_t word, const uint64_t *key)
{
    return gs_hash_fold(state ^ word, key[1]);
}

static inline uint64_t gs_hash_bytes(uint64_t state, struct gs_string s, const uint64_t *key)
{
    uint64_t word = 0;
    uint32_t at = 0;
    for (; at + 8 <= s.length; at += 8) {
        memcpy(&word, s.bytes + at, 8);
        state = gs_hash_word(state, word, key);
    }
    word = 0;
    if (s.length > at) memcpy(&word, s.bytes + at, s.length - at);
    return gs_hash_word(gs_hash_word(state, word, key), s.length, key);
}

#endif

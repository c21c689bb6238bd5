/* SPDX-License-Identifier: Apache-2.0 */
#include "bitmap.h"

static uint32_t words_of(uint32_t bits)
{
    return bits / 64 + (bits % 64 != 0);
}

/* First set bit at or after `from` within one level of `bits` bits, word by word. */
static uint32_t scan(const uint64_t *level, uint32_t from, uint32_t bits, bool one_word)
{
    for (uint32_t word = from >> 6; word < words_of(bits); word++) {
        uint64_t rest = level[word];
        if (word == from >> 6) rest &= ~0ull << (from & 63);
        if (rest != 0) return word * 64 + (uint32_t)__builtin_ctzll(rest);
        if (one_word) break;
    }
    return GS_BITMAP_NONE;
}

uint32_t gs_bitmap_next(uint64_t *const *levels, uint32_t from, uint32_t slot_count)
{
    if (from >= slot_count) return GS_BITMAP_NONE;
    uint32_t words = words_of(slot_count), supers = words_of(words);
    uint32_t slot = scan(levels[0], from, slot_count, true);
    if (slot != GS_BITMAP_NONE) return slot;
    uint32_t word = (from >> 6) + 1;
    uint32_t next = word < words ? scan(levels[1], word, words, true) : GS_BITMAP_NONE;
    if (next == GS_BITMAP_NONE) {
        uint32_t super = (word >> 6) + 1;
        super = super < supers ? scan(levels[2], super, supers, false) : GS_BITMAP_NONE;
        if (super == GS_BITMAP_NONE) return GS_BITMAP_NONE;
        next = super * 64 + (uint32_t)__builtin_ctzll(levels[1][super]);
    }
    return next * 64 + (uint32_t)__builtin_ctzll(levels[0][next]);
}

size_t gs_bitmap_bytes(uint32_t slot_count)
{
    uint32_t words = words_of(slot_count), supers = words_of(words);
    return sizeof(uint64_t) * ((size_t)words + supers + words_of(supers));
}

void gs_bitmap_place(uint64_t **levels, uint64_t *memory, uint32_t slot_count)
{
    uint32_t words = words_of(slot_count);
    levels[0] = memory;
    levels[1] = memory + words;
    levels[2] = memory + words + words_of(words);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The occupied slots of a window as a bitmap of three levels: a bit of level n + 1 says that a word
 * of level n has a bit. Set, clear and next cost a few words whatever the table's size, so a flush
 * costs what is occupied (the original scanned the whole table at every window). */
#ifndef GS_LFTA_BITMAP_H
#define GS_LFTA_BITMAP_H

#include "gs_types.h"

#define GS_BITMAP_NONE UINT32_MAX

static inline void gs_bitmap_set(uint64_t *const *levels, uint32_t slot)
{
    for (int level = 0; level < 3; level++) {
        uint64_t before = levels[level][slot >> 6];
        levels[level][slot >> 6] = before | (1ull << (slot & 63));
        if (before != 0) return;
        slot >>= 6;
    }
}

static inline void gs_bitmap_clear(uint64_t *const *levels, uint32_t slot)
{
    for (int level = 0; level < 3; level++) {
        uint64_t after = levels[level][slot >> 6] & ~(1ull << (slot & 63));
        levels[level][slot >> 6] = after;
        if (after != 0) return;
        slot >>= 6;
    }
}

/* The first set bit at or after `from` in level 0 of a bitmap of `slot_count` bits. */
uint32_t gs_bitmap_next(uint64_t *const *levels, uint32_t from, uint32_t slot_count);
/* Bytes of all three levels. */
size_t gs_bitmap_bytes(uint32_t slot_count);
/* Lays the levels out in zeroed memory of gs_bitmap_bytes. */
void gs_bitmap_place(uint64_t **levels, uint64_t *memory, uint32_t slot_count);

#endif

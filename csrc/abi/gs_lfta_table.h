/* SPDX-License-Identifier: Apache-2.0 */
/* The table of an LFTA, as generated code meets it: slots, and the windows whose groups are there.
 */
#ifndef GS_LFTA_TABLE_H
#define GS_LFTA_TABLE_H

#include "gs_hash.h"
#include "gs_types.h"

#define GS_TEMPORAL_MAX 32 /* temporal columns of a stream, or group variables, with a bound */
#define GS_LFTA_WINDOWS 16 /* windows that an LFTA table holds at once */
#define GS_SLOT_EMPTY 0u
/* Slots of these bytes in which a group may lie: two where they share a line of the cache. */
#define GS_LFTA_WAYS(slot_size) ((slot_size) <= GS_CACHE_LINE_BYTES / 2 ? 2u : 1u)

/* A slot of at most a line of the cache lies in one, and one of half a line beside its pair: one
 * more that would have to come costs more than what lies between slots. */
#define GS_SLOT_ALIGNMENT(bytes)                                                                   \
    ((bytes) > GS_CACHE_LINE_BYTES       ? 8                                                       \
     : (bytes) > GS_CACHE_LINE_BYTES / 2 ? GS_CACHE_LINE_BYTES                                     \
     : (bytes) > GS_CACHE_LINE_BYTES / 4 ? GS_CACHE_LINE_BYTES / 2                                 \
     : (bytes) > 8                       ? GS_CACHE_LINE_BYTES / 4                                 \
     : (bytes) > 4                       ? 8                                                       \
                                         : 4)
#define GS_SLOT_ALIGNED(bytes) __attribute__((aligned(GS_SLOT_ALIGNMENT(bytes))))
#define GS_SLOT_FETCHED_MAX 256 /* bytes */

/* The lines of a slot on their way to the cache; of a sketch a packet meets one or two, which none
 * knows yet. */
static inline void gs_slot_prefetch(const void *slot, size_t bytes)
{
    const uint8_t *const first = slot;
    __builtin_prefetch(first, 1);
    if (bytes <= GS_CACHE_LINE_BYTES || bytes > GS_SLOT_FETCHED_MAX) return;
    for (size_t at = GS_CACHE_LINE_BYTES; at < bytes; at += GS_CACHE_LINE_BYTES)
        __builtin_prefetch(first + at, 1);
    __builtin_prefetch(first + bytes - 1, 1);
}

/* A window present in an LFTA table. Its occupied slots are the bits of a three-level bitmap, so
 * that a flush costs what is occupied and goes in slot order. */
struct gs_lfta_window {
    gs_bound values[GS_TEMPORAL_MAX];
    uint32_t group_count;
    bool is_old;
    uint64_t *occupied[3];
};

/* The index of the window that a slot's group is of, by its control word; of none where it is
 * empty. */
static inline uint32_t gs_slot_window(uint32_t control)
{
    return (control & 0xff) - 1;
}

/* The fixed-size direct-mapped table (OPERATORS section 3). A slot begins with its control word:
 * 0 where empty, else the hash's upper 24 bits and the window's index + 1. */
struct gs_lfta_table {
    uint8_t *slots;
    uint32_t slot_count; /* a power of two */
    uint32_t slot_mask;
    uint64_t hash_key[GS_HASH_KEY_WORDS];
    uint64_t until_drip;  /* accepted packets until one old group leaves; UINT64_MAX: none is due */
    uint32_t last_window; /* index of the window met last */
    bool has_last_window;
    bool leaves_in_order; /* immediate and slow_inorder: lower windows leave before a collision */
    struct gs_lfta_window windows[GS_LFTA_WINDOWS];
};

#endif

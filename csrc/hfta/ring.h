/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of values of one size that grows at its end and gives back room as it shrinks. */
#ifndef GS_HFTA_RING_H
#define GS_HFTA_RING_H

#include "../base/memory.h"

struct gs_ring {
    uint8_t *items;
    uint32_t item_size, first, count, capacity; /* a power of two, or 0 */
};

/* Room for one more; false where the budget, or the memory, has none. */
bool gs_ring_reserve(struct gs_ring *ring, struct gs_holder *holder);
/* One more at the end, of which nothing is set; there is room for it. */
void *gs_ring_push(struct gs_ring *ring);
void gs_ring_pop_first(struct gs_ring *ring, struct gs_holder *holder);
void gs_ring_close(struct gs_ring *ring, struct gs_holder *holder);

static inline void *gs_ring_at(const struct gs_ring *ring, uint32_t index)
{
    uint32_t at = (ring->first + index) & (ring->capacity - 1);
    return ring->items + (size_t)at * ring->item_size;
}

/* NULL where it is empty. */
static inline void *gs_ring_first(const struct gs_ring *ring)
{
    return ring->count == 0 ? NULL : gs_ring_at(ring, 0);
}

static inline void *gs_ring_last(const struct gs_ring *ring)
{
    return ring->count == 0 ? NULL : gs_ring_at(ring, ring->count - 1);
}

static inline void gs_ring_pop_last(struct gs_ring *ring)
{
    ring->count--;
}

#endif

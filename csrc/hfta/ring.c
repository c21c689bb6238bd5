/* SPDX-License-Identifier: Apache-2.0 */
#include "ring.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ITEMS 2u
#define MOST_ITEMS (1u << 30)
#define SMALL_ITEMS 64u /* a ring of so many is not made smaller */

static uint64_t bytes_of(const struct gs_ring *ring, uint32_t capacity)
{
    return (uint64_t)capacity * ring->item_size;
}

/* The items in other memory, from its start; false where there is none. */
static bool move(struct gs_ring *ring, uint32_t capacity, struct gs_holder *holder)
{
    if (!gs_hold(holder, bytes_of(ring, capacity))) return false;
    uint8_t *items = malloc(bytes_of(ring, capacity));
    if (items == NULL) {
        gs_let_go(holder, bytes_of(ring, capacity));
        return false;
    }
    for (uint32_t i = 0; i < ring->count; i++)
        memcpy(items + (size_t)i * ring->item_size, gs_ring_at(ring, i), ring->item_size);
    free(ring->items);
    gs_let_go(holder, bytes_of(ring, ring->capacity));
    ring->items = items;
    ring->capacity = capacity;
    ring->first = 0;
    return true;
}

bool gs_ring_reserve(struct gs_ring *ring, struct gs_holder *holder)
{
    if (ring->count < ring->capacity) return true;
    if (ring->capacity == MOST_ITEMS) return false;
    return move(ring, ring->capacity == 0 ? FIRST_ITEMS : 2 * ring->capacity, holder);
}

void *gs_ring_push(struct gs_ring *ring)
{
    ring->count++;
    return gs_ring_last(ring);
}

void gs_ring_pop_first(struct gs_ring *ring, struct gs_holder *holder)
{
    ring->first = (ring->first + 1) & (ring->capacity - 1);
    ring->count--;
    if (ring->capacity > SMALL_ITEMS && ring->count < ring->capacity / 8)
        move(ring, ring->capacity / 2, holder); /* where it cannot, it stays as it is */
}

void gs_ring_close(struct gs_ring *ring, struct gs_holder *holder)
{
    free(ring->items);
    gs_let_go(holder, bytes_of(ring, ring->capacity));
    ring->items = NULL;
    ring->first = ring->count = ring->capacity = 0;
}

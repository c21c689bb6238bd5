/* SPDX-License-Identifier: Apache-2.0 */
#include "held_heap.h"

static bool is_before(const struct gs_segments *segments, uint32_t a, uint32_t b)
{
    const struct gs_held *one = &segments->held[a], *other = &segments->held[b];

    if (one->since_ns != other->since_ns) return one->since_ns < other->since_ns;
    return one->number < other->number;
}

static void put(struct gs_segments *segments, uint32_t at, uint32_t held)
{
    segments->heap[at] = held;
    segments->held[held].heap_at = at;
}

static void move_up(struct gs_segments *segments, uint32_t at, uint32_t held)
{
    while (at > 0 && is_before(segments, held, segments->heap[(at - 1) / 2])) {
        put(segments, at, segments->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(segments, at, held);
}

static void move_down(struct gs_segments *segments, uint32_t at, uint32_t held)
{
    for (uint32_t below = 2 * at + 1; below < segments->heap_count; below = 2 * at + 1) {
        if (below + 1 < segments->heap_count &&
            is_before(segments, segments->heap[below + 1], segments->heap[below]))
            below++;
        if (!is_before(segments, segments->heap[below], held)) break;
        put(segments, at, segments->heap[below]);
        at = below;
    }
    put(segments, at, held);
}

void gs_held_heap_add(struct gs_segments *segments, uint32_t held)
{
    move_up(segments, segments->heap_count++, held);
}

/* The last takes its place, and goes from there to its own. */
void gs_held_heap_remove(struct gs_segments *segments, uint32_t held)
{
    uint32_t at = segments->held[held].heap_at;
    uint32_t last = segments->heap[--segments->heap_count];

    if (last == held) return;
    if (at > 0 && is_before(segments, last, segments->heap[(at - 1) / 2]))
        move_up(segments, at, last);
    else
        move_down(segments, at, last);
}

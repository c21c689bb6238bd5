/* SPDX-License-Identifier: Apache-2.0 */
/* Segments that are held, the one that began to wait first on top. Of each its place is known, so
 * that one that goes on before its time leaves it. */
#ifndef GS_HELD_HEAP_H
#define GS_HELD_HEAP_H

#include "segments.h"

void gs_held_heap_add(struct gs_segments *segments, uint32_t held);
void gs_held_heap_remove(struct gs_segments *segments, uint32_t held);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files that readers divide among themselves (extents.h): who first comes to one opens it
 * for all. */
#ifndef GS_CAPTURE_EXTENTS_ENTRY_H
#define GS_CAPTURE_EXTENTS_ENTRY_H

#include <stdbool.h>

#include "extents.h"

enum gs_extents_entry {
    GS_ENTRY_OPENS,  /* it is the first, and no other opens any until gs_extents_end_entry */
    GS_ENTRY_JOINS,  /* it is open */
    GS_ENTRY_IS_OVER /* nothing is left of it */
};

enum gs_extents_entry gs_extents_enter(struct gs_extents *extents, uint32_t file, uint32_t reader);
/* It has opened the file, by a descriptor that is theirs then, or none (-1), or could not: it is
 * closed unless the file has begun by it. */
void gs_extents_end_entry(struct gs_extents *extents, uint32_t file, int descriptor);
/* A reader that has no file open found no descriptor for one. True: one of those that the others
 * have may be given back now, after a moment; meanwhile nobody waits for this reader. */
bool gs_extents_await_room(struct gs_extents *extents, uint32_t reader);
/* One that has files open found none for this file: it may be asked for again, since others have
 * given one back, or have opened it. */
bool gs_extents_has_room(struct gs_extents *extents, uint32_t file, uint32_t reader);

#endif

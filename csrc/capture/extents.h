/* SPDX-License-Identifier: Apache-2.0 */
/* Capture files that several readers divide among themselves: whoever is free takes the next
 * extent of a file, so many bytes of it, and answers for the records that begin in it.
 *
 * The first of them opens a file, for all, which have it open until the last has read it: a file
 * needs as much as if one read it, and is one file, whatever becomes of its name meanwhile.
 *
 * Where the first record of an extent begins is known when those before it have been walked over,
 * and so is how far time has come there. Readers fetch their bytes at the same time, and walk one
 * behind the other: each packet is late, or not, as if one had read them all. Each reader takes
 * turns between files as if it were alone (engine_sources.c). */
#ifndef GS_CAPTURE_EXTENTS_H
#define GS_CAPTURE_EXTENTS_H

#include <stdint.h>

struct gs_extents;

#define GS_READERS_MAX 64

/* Of so many bytes each, 0: as many as suit the caches. NULL: no memory. Every reader, of
 * GS_READERS_MAX at the most, has it in the configuration of each file; it is freed behind them. */
struct gs_extents *gs_extents_new(uint32_t files, uint32_t readers, uint32_t extent_bytes);
void gs_extents_free(struct gs_extents *extents);
/* No reader gets another one, or waits for the others any longer: together they have read each file
 * up to some record, and nothing behind it. From any thread. */
void gs_extents_end(struct gs_extents *extents);

#endif

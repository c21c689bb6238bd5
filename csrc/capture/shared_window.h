/* SPDX-License-Identifier: Apache-2.0 */
/* What one of the readers sees of shared bytes: a window over a ring of them. */
#ifndef GS_CAPTURE_SHARED_WINDOW_H
#define GS_CAPTURE_SHARED_WINDOW_H

#include "shared_bytes.h"

/* Of the ring, which lies in memory twice, one behind the other: what begins in the first of them
 * is never cut. More than four of the longest records of pcap; a block of pcapng may be longer. */
#define GS_SHARED_RING_BYTES ((size_t)4 << 20)

/* The first to come gives the file that all read: a duplicate of its descriptor is kept. Where the
 * ring begins, and how many bytes the file had. GS_ERROR: there is no memory, or no descriptor. */
int gs_shared_bytes_join(struct gs_shared_bytes *shared, int descriptor, const uint8_t **ring,
                         uint64_t *total_bytes, struct gs_error *error);
/* A reader needs nothing below `passed` any more, and bytes up to `wanted`. *end: how far there are
 * some, not much further. GS_END: the file ends before that; GS_DAMAGED: it cannot be read on;
 * GS_ERROR: it was given up, or so much does not lie in the ring. Waits for the slowest of the
 * readers where the ring is full. */
int gs_shared_bytes_need(struct gs_shared_bytes *shared, uint32_t reader, uint64_t passed,
                         uint64_t wanted, uint64_t *end, struct gs_error *error);
/* A reader needs nothing any more. */
void gs_shared_bytes_leave(struct gs_shared_bytes *shared, uint32_t reader);

#endif

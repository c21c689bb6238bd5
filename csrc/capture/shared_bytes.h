/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of one plain file for several threads, each of which reads all of them: whoever is
 * ahead reads the next block, the others find it there. */
#ifndef GS_CAPTURE_SHARED_BYTES_H
#define GS_CAPTURE_SHARED_BYTES_H

#include "../base/error.h"

struct gs_shared_bytes;

/* For so many readers, 1 to GS_SHARED_READERS_MAX. It outlives them. */
#define GS_SHARED_READERS_MAX 64
int gs_shared_bytes_new(uint32_t readers, struct gs_shared_bytes **result, struct gs_error *error);
/* From now on nobody waits for another: who would have to gets GS_ERROR. From any thread. */
void gs_shared_bytes_give_up(struct gs_shared_bytes *shared);
void gs_shared_bytes_free(struct gs_shared_bytes *shared);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Room for strings that a function makes: the caller owns it and sets `used` back to 0 for each
 * row, so that nothing is allocated on the packet path. */
#ifndef GS_SCRATCH_H
#define GS_SCRATCH_H

#include <stdlib.h>

#include "gs_types.h"

/* Some of the longest strings that GSQL knows. */
#define GS_SCRATCH_BYTES (1u << 18)

struct gs_scratch {
    uint8_t *bytes;
    uint32_t used;
    uint32_t capacity;
};

static inline bool gs_scratch_open(struct gs_scratch *scratch)
{
    scratch->bytes = malloc(GS_SCRATCH_BYTES);
    scratch->used = 0;
    scratch->capacity = scratch->bytes == NULL ? 0 : GS_SCRATCH_BYTES;
    return scratch->bytes != NULL;
}

static inline void gs_scratch_close(struct gs_scratch *scratch)
{
    free(scratch->bytes);
}

/* `n` bytes that stay until the row ends, or NULL where there are not so many left. */
static inline uint8_t *gs_scratch_take(struct gs_scratch *scratch, uint32_t n)
{
    if (n > scratch->capacity - scratch->used) return NULL;
    uint8_t *bytes = scratch->bytes + scratch->used;
    scratch->used += n;
    return bytes;
}

#endif

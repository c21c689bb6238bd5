/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of packets that have to wait, in blocks of one size: what is kept of one is a chain of
 * them. All memory is there from the beginning; none is touched before it is used. */
#ifndef GS_BLOCK_POOL_H
#define GS_BLOCK_POOL_H

#include "gs_types.h"

#define GS_NO_BLOCK UINT32_MAX
#define GS_BLOCK_BYTES 252

struct gs_block {
    uint32_t next;
    uint8_t bytes[GS_BLOCK_BYTES];
};

struct gs_block_pool {
    struct gs_block *blocks;
    uint32_t count;
    uint32_t fresh; /* those from here on have never been used */
    uint32_t freed; /* the first of those that were given back, or GS_NO_BLOCK */
    uint32_t left;
};

/* false: there is no memory. */
bool gs_block_pool_open(struct gs_block_pool *pool, uint32_t count);
void gs_block_pool_close(struct gs_block_pool *pool);

static inline uint32_t gs_blocks_for(uint32_t bytes)
{
    return (bytes + GS_BLOCK_BYTES - 1) / GS_BLOCK_BYTES;
}

/* A chain with these bytes, for which there is room (`left`); GS_NO_BLOCK of none. */
uint32_t gs_block_pool_store(struct gs_block_pool *pool, const uint8_t *bytes, uint32_t length);
/* The first `length` bytes of a chain that has as many. */
void gs_block_pool_load(const struct gs_block_pool *pool, uint32_t chain, uint8_t *to,
                        uint32_t length);
void gs_block_pool_free(struct gs_block_pool *pool, uint32_t chain);

#endif

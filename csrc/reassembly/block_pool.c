/* SPDX-License-Identifier: Apache-2.0 */
#include "block_pool.h"

#include <stdlib.h>

bool gs_block_pool_open(struct gs_block_pool *pool, uint32_t count)
{
    *pool =
        (struct gs_block_pool){calloc(count, sizeof *pool->blocks), count, 0, GS_NO_BLOCK, count};
    return pool->blocks != NULL;
}

void gs_block_pool_close(struct gs_block_pool *pool)
{
    free(pool->blocks);
    pool->blocks = NULL;
}

static uint32_t take(struct gs_block_pool *pool)
{
    uint32_t block = pool->freed;

    pool->left--;
    if (block == GS_NO_BLOCK) return pool->fresh++;
    pool->freed = pool->blocks[block].next;
    return block;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t gs_block_pool_store(struct gs_block_pool *pool, const uint8_t *bytes, uint32_t length)
{
    uint32_t chain = GS_NO_BLOCK, *to = &chain;

    for (uint32_t at = 0; at < length; at += GS_BLOCK_BYTES) {
        uint32_t block = take(pool);

        memcpy(pool->blocks[block].bytes, bytes + at, least(length - at, GS_BLOCK_BYTES));
        *to = block;
        to = &pool->blocks[block].next;
    }
    *to = GS_NO_BLOCK;
    return chain;
}

void gs_block_pool_load(const struct gs_block_pool *pool, uint32_t chain, uint8_t *to,
                        uint32_t length)
{
    for (uint32_t at = 0; at < length; at += GS_BLOCK_BYTES) {
        memcpy(to + at, pool->blocks[chain].bytes, least(length - at, GS_BLOCK_BYTES));
        chain = pool->blocks[chain].next;
    }
}

void gs_block_pool_free(struct gs_block_pool *pool, uint32_t chain)
{
    while (chain != GS_NO_BLOCK) {
        uint32_t next = pool->blocks[chain].next;

        pool->blocks[chain].next = pool->freed;
        pool->freed = chain;
        pool->left++;
        chain = next;
    }
}

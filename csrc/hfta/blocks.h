/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of tables, in large pages where there is so much of it: groups are met at random, and in
 * small pages every one would cost a walk of the page table too. */
#ifndef HFTA_BLOCKS_H
#define HFTA_BLOCKS_H

#include <stdint.h>

/* What a block of so many bytes takes. */
uint64_t gs_block_bytes(uint64_t bytes);

/* NULL: there is no memory. Small blocks have what malloc gives, large ones zeros. */
void *gs_block_new(uint64_t bytes);

/* The block with room for `wanted` bytes instead of `bytes`, the first `used` of which stay; large
 * ones keep their pages, so that nothing is copied and no page is cleared that was there. NULL: the
 * block is as it was. */
void *gs_block_resize(void *block, uint64_t bytes, uint64_t wanted, uint64_t used);

void gs_block_free(void *block, uint64_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (UINT64_C(2) << 20)

uint64_t gs_block_bytes(uint64_t bytes)
{
    if (bytes < HUGE_PAGE) return bytes;
    return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

/* What stands before and behind the aligned part goes back at once. */
static void *map(uint64_t bytes)
{
    uint8_t *memory =
        mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    uint64_t before = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0) munmap(memory, before);
    munmap(memory + before + bytes, HUGE_PAGE - before);
    madvise(memory + before, bytes, MADV_HUGEPAGE);
    return memory + before;
}

void *gs_block_new(uint64_t bytes)
{
    return bytes < HUGE_PAGE ? malloc(bytes) : map(gs_block_bytes(bytes));
}

/* Where it is. */
static void *cut(uint8_t *block, uint64_t bytes, uint64_t wanted)
{
    if (wanted < bytes) munmap(block + wanted, bytes - wanted);
    return block;
}

/* To an aligned place: large pages move whole. Where it fails the system has mostly given the place
 * back, and another thread may have got it since: what it has not is address space, and no page. */
static void *remap(void *block, uint64_t bytes, uint64_t wanted)
{
    void *place = map(wanted);
    if (place == NULL) return NULL;
    void *moved = mremap(block, bytes, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    return moved == MAP_FAILED ? NULL : moved;
}

void *gs_block_resize(void *block, uint64_t bytes, uint64_t wanted, uint64_t used)
{
    if (bytes >= HUGE_PAGE && wanted >= HUGE_PAGE)
        return wanted <= bytes ? cut(block, gs_block_bytes(bytes), gs_block_bytes(wanted))
                               : remap(block, gs_block_bytes(bytes), gs_block_bytes(wanted));
    void *resized = gs_block_new(wanted);
    if (resized == NULL) return NULL;
    if (used > 0) memcpy(resized, block, used);
    gs_block_free(block, bytes);
    return resized;
}

void gs_block_free(void *block, uint64_t bytes)
{
    if (bytes < HUGE_PAGE)
        free(block);
    else
        munmap(block, gs_block_bytes(bytes));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Zeroed memory for a table, on 2 MiB pages where the kernel gives them: random access to a table
 * beyond the L2 cache otherwise pays for address translation too. */
#ifndef BENCH_PAGES_H
#define BENCH_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

struct pages {
    void *mapping;
    size_t mapping_bytes;
    void *start; /* aligned */
};

static inline int pages_open(struct pages *pages, size_t bytes)
{
    const size_t huge_page_bytes = (size_t)2 << 20;
    pages->mapping_bytes = bytes + huge_page_bytes;
    pages->mapping = mmap(NULL, pages->mapping_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages->mapping == MAP_FAILED) return -1;
    uintptr_t start = (uintptr_t)pages->mapping + huge_page_bytes - 1;
    pages->start = (void *)(start & ~(uintptr_t)(huge_page_bytes - 1));
    madvise(pages->start, bytes, MADV_HUGEPAGE);
    return 0;
}

static inline void pages_close(struct pages *pages)
{
    munmap(pages->mapping, pages->mapping_bytes);
}

#endif

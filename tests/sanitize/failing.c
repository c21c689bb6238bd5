/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail: PROGRAM QUERY_SET.so once|from|count FIRST STEP FILE… runs what the
 * program is (run_all) again and again, the FIRST allocation failing, then the FIRST + STEP-th,
 * until a run makes no so many: alone (`once`), or with all that come after it (`from`). A line for
 * each: number, status, bytes not given back, rows refused, digest of the rows, message. `count`
 * says how many allocations there are. The engine, and the query set, are linked with --wrap. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "arrow/batch.h"
#include "faults.h"

static _Atomic uint64_t allocations, balance; /* of all threads */
static uint64_t failing;
static bool fails_from;

static bool fails(void)
{
    uint64_t number = ++allocations;
    return failing != 0 && (fails_from ? number >= failing : number == failing);
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int descriptor, off_t offset);
int __real_munmap(void *at, size_t bytes);
void *__real_mremap(void *at, size_t bytes, size_t wanted, int flags, void *place);
char *__real_strdup(const char *text);
void __real_free(void *memory);

static void *counted(void *memory)
{
    balance += memory != NULL;
    return memory;
}

#define WRAPPER __attribute__((visibility("default")))

WRAPPER void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : counted(__real_malloc(bytes));
}

WRAPPER void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : counted(__real_calloc(count, bytes));
}

WRAPPER void *__wrap_realloc(void *memory, size_t bytes)
{
    if (fails()) return NULL;
    void *moved = __real_realloc(memory, bytes);
    return memory == NULL ? counted(moved) : moved;
}

WRAPPER void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : counted(__real_aligned_alloc(alignment, bytes));
}

WRAPPER int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (fails()) return ENOMEM;
    int status = __real_posix_memalign(memory, alignment, bytes);
    balance += status == 0;
    return status;
}

WRAPPER char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : counted(__real_strdup(text));
}

WRAPPER void __wrap_free(void *memory)
{
    balance -= memory != NULL;
    __real_free(memory);
}

/* Files are mapped by mmap too: that is not an allocation. What is mapped may go back in parts: its
 * bytes are counted. */
WRAPPER void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int descriptor,
                          off_t offset)
{
    if (!(flags & MAP_ANONYMOUS))
        return __real_mmap(at, bytes, protection, flags, descriptor, offset);
    if (fails()) return MAP_FAILED;
    balance += bytes;
    return __real_mmap(at, bytes, protection, flags, descriptor, offset);
}

WRAPPER int __wrap_munmap(void *at, size_t bytes)
{
    balance -= bytes; /* files are read here, not mapped */
    return __real_munmap(at, bytes);
}

/* What moves takes the place of memory that is there (hfta/blocks.c). */
WRAPPER void *__wrap_mremap(void *at, size_t bytes, size_t wanted, int flags, void *place)
{
    if (fails()) return MAP_FAILED;
    balance -= bytes;
    return __real_mremap(at, bytes, wanted, flags, place);
}

/* ---- what is shown ---- */

/* Of the lines, whatever their order: a table that could not grow as far has another. */
static void digest(struct outcome *outcome, const struct gs_text *text)
{
    uint64_t line = FIRST_DIGEST;
    for (size_t i = 0; i < text->length; i++) {
        line = (line ^ text->bytes[i]) * 0x100000001b3u;
        if (text->bytes[i] != '\n') continue;
        outcome->digest += line;
        line = FIRST_DIGEST;
    }
}

/* Every way out of a batch, and the way back in. */
int show(struct gs_batch *batch, struct gs_text *text, struct outcome *outcome)
{
    struct ArrowArray array;
    struct ArrowSchema schema;
    struct gs_batch *copy = NULL;
    text->length = 0;
    if (gs_csv_rows(batch, text) != GS_OK || gs_json_rows(batch, "q", text) != GS_OK)
        return gs_fail(&outcome->error, GS_ERROR, "no memory for the text of a batch");
    GS_RETURN_IF_ERROR(gs_batch_export(batch, &array, &schema, &outcome->error));
    GS_RETURN_IF_ERROR(gs_batch_import(&array, &schema, batch->schema, &copy, &outcome->error));
    gs_batch_release(copy);
    digest(outcome, text);
    return GS_OK;
}

void count_refused(const struct gs_attached_set *set, struct outcome *outcome)
{
    struct gs_operator_statistics statistics;
    for (uint32_t op = 0; op < gs_attached_operator_count(set); op++) {
        gs_attached_operator_statistics(set, op, &statistics);
        outcome->refused += statistics.groups_refused + statistics.rows_refused;
    }
}

/* ---- runs ---- */

int main(int argc, char **argv)
{
    if (argc < 6) return EXIT_FAILURE;
    bool only_counts = strcmp(argv[2], "count") == 0;
    fails_from = strcmp(argv[2], "from") == 0;
    uint64_t step = strtoull(argv[4], NULL, 10);
    uint64_t first = only_counts ? 0 : strtoull(argv[3], NULL, 10);
    for (failing = first;; failing += step) {
        allocations = balance = 0;
        struct outcome outcome = run_all(argv[1], argc - 5, argv + 5);
        printf("%llu %d %lld %llu %016llx %s\n",
               (unsigned long long)(only_counts ? allocations : failing), outcome.status,
               (long long)balance, (unsigned long long)outcome.refused,
               (unsigned long long)outcome.digest,
               outcome.status == GS_OK ? "" : outcome.error.message);
        if (only_counts || allocations < failing) break;
    }
    failing = 0; /* for who counts lines when the program ends */
    return EXIT_SUCCESS;
}

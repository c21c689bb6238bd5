/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of blocks. The lock is taken once for each block that a reader begins with and once for
 * each that it reads from the file: not while it reads, nor for a packet. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "shared_window.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Several fit into a L2 cache: a reader that follows at once finds them in the one that they share.
 * What is given out ends soon behind what is wanted: whoever is ahead can reuse it the sooner. */
#define BLOCK_BYTES ((size_t)256 << 10)
#define BLOCK_COUNT (GS_SHARED_RING_BYTES / BLOCK_BYTES)
#define READING SIZE_MAX

struct gs_shared_bytes {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int descriptor; /* -1: nobody has come yet */
    uint64_t total_bytes;
    uint8_t *ring;
    uint64_t claimed;          /* up to here somebody reads, or has read */
    uint64_t filled;           /* up to here all is there */
    size_t got[BLOCK_COUNT];   /* of the block behind `filled` and those that follow; or READING */
    int failures[BLOCK_COUNT]; /* errno of what ended them; 0: none */
    uint64_t passed[GS_SHARED_READERS_MAX]; /* by reader; UINT64_MAX: it has left */
    uint32_t readers;
    bool is_ended; /* at `filled` */
    bool is_given_up;
    int failure; /* errno of what ended them at `filled`; 0: the file's end */
};

/* ---- making ---- */

int gs_shared_bytes_new(uint32_t readers, struct gs_shared_bytes **result, struct gs_error *error)
{
    *result = NULL;
    if (readers < 1 || readers > GS_SHARED_READERS_MAX)
        return gs_fail(error, GS_ERROR, "bytes have 1 to %d readers", GS_SHARED_READERS_MAX);
    struct gs_shared_bytes *shared = calloc(1, sizeof *shared);
    if (shared == NULL) return gs_fail(error, GS_ERROR, "no memory for shared bytes");
    pthread_mutex_init(&shared->lock, NULL);
    pthread_cond_init(&shared->changed, NULL);
    shared->descriptor = -1;
    shared->readers = readers;
    *result = shared;
    return GS_OK;
}

static uint8_t *map_twice(int memory)
{
    size_t bytes = GS_SHARED_RING_BYTES;
    uint8_t *ring = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED) return NULL;
    for (int half = 0; half < 2; half++)
        if (mmap(ring + (size_t)half * bytes, bytes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED | MAP_POPULATE, memory, 0) == MAP_FAILED) {
            munmap(ring, 2 * bytes);
            return NULL;
        }
    return ring;
}

static uint8_t *make_ring(void)
{
    int memory = memfd_create("gigastream-capture", MFD_CLOEXEC);
    if (memory < 0) return NULL;
    uint8_t *ring = ftruncate(memory, (off_t)GS_SHARED_RING_BYTES) == 0 ? map_twice(memory) : NULL;
    close(memory);
    return ring;
}

static int begin(struct gs_shared_bytes *shared, int descriptor, struct gs_error *error)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0) return gs_fail(error, GS_ERROR, "cannot be read: %m");
    shared->total_bytes = (uint64_t)status.st_size;
    if (shared->ring == NULL) shared->ring = make_ring();
    if (shared->ring == NULL) return gs_fail(error, GS_ERROR, "no memory for its bytes: %m");
    shared->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (shared->descriptor < 0) return gs_fail(error, GS_ERROR, "cannot be read: %m");
    return GS_OK;
}

int gs_shared_bytes_join(struct gs_shared_bytes *shared, int descriptor, const uint8_t **ring,
                         uint64_t *total_bytes, struct gs_error *error)
{
    int status = GS_OK;
    pthread_mutex_lock(&shared->lock);
    if (shared->descriptor < 0) status = begin(shared, descriptor, error);
    *ring = shared->ring;
    *total_bytes = shared->total_bytes;
    pthread_mutex_unlock(&shared->lock);
    return status;
}

void gs_shared_bytes_give_up(struct gs_shared_bytes *shared)
{
    pthread_mutex_lock(&shared->lock);
    shared->is_given_up = true;
    pthread_cond_broadcast(&shared->changed);
    pthread_mutex_unlock(&shared->lock);
}

static void shut(struct gs_shared_bytes *shared)
{
    if (shared->ring != NULL) munmap(shared->ring, 2 * GS_SHARED_RING_BYTES);
    if (shared->descriptor >= 0) close(shared->descriptor);
    shared->ring = NULL;
    shared->descriptor = -1;
}

void gs_shared_bytes_free(struct gs_shared_bytes *shared)
{
    if (shared == NULL) return;
    shut(shared);
    pthread_cond_destroy(&shared->changed);
    pthread_mutex_destroy(&shared->lock);
    free(shared);
}

/* ---- reading: with the lock, which is let go while the file is read ---- */

static uint64_t least_passed(const struct gs_shared_bytes *shared)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t reader = 0; reader < shared->readers; reader++)
        if (shared->passed[reader] < least) least = shared->passed[reader];
    return least;
}

static bool has_room(const struct gs_shared_bytes *shared)
{
    return !shared->is_ended &&
           shared->claimed + BLOCK_BYTES <= least_passed(shared) + GS_SHARED_RING_BYTES;
}

/* Less than a block: the file ends, or cannot be read on for what errno says. */
static size_t read_block(int descriptor, uint8_t *bytes, uint64_t offset, int *failure)
{
    size_t got = 0;
    while (got < BLOCK_BYTES) {
        ssize_t more = pread(descriptor, bytes + got, BLOCK_BYTES - got, (off_t)(offset + got));
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) *failure = errno;
        if (more <= 0) break;
        got += (size_t)more;
    }
    return got;
}

/* Blocks come in any order; those behind the first that is not whole are no more. */
static void join_blocks(struct gs_shared_bytes *shared)
{
    while (!shared->is_ended && shared->filled < shared->claimed) {
        size_t block = shared->filled / BLOCK_BYTES % BLOCK_COUNT, got = shared->got[block];
        if (got == READING) return;
        shared->filled += got;
        shared->is_ended = got < BLOCK_BYTES;
        if (shared->is_ended) shared->failure = shared->failures[block];
    }
}

static void read_next(struct gs_shared_bytes *shared)
{
    uint64_t offset = shared->claimed;
    size_t block = offset / BLOCK_BYTES % BLOCK_COUNT;
    int failure = 0;
    shared->claimed += BLOCK_BYTES;
    shared->got[block] = READING;
    pthread_mutex_unlock(&shared->lock);
    size_t bytes = read_block(shared->descriptor, shared->ring + offset % GS_SHARED_RING_BYTES,
                              offset, &failure);
    pthread_mutex_lock(&shared->lock);
    shared->got[block] = bytes;
    shared->failures[block] = failure;
    join_blocks(shared);
    pthread_cond_broadcast(&shared->changed);
}

/* A window ends with a block for every reader, whenever it comes: bursts do, too. */
static uint64_t end_of_block(uint64_t wanted)
{
    return (wanted + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

static int status_at(const struct gs_shared_bytes *shared, uint64_t wanted, struct gs_error *error)
{
    if (shared->filled >= end_of_block(wanted)) return GS_OK;
    if (!shared->is_ended) return GS_AGAIN;
    if (shared->filled >= wanted) return GS_OK;
    if (shared->failure == 0) return GS_END;
    errno = shared->failure;
    return gs_fail(error, GS_DAMAGED, "cannot be read after byte %llu: %m",
                   (unsigned long long)shared->filled);
}

static int wait_for(struct gs_shared_bytes *shared, uint64_t wanted, struct gs_error *error)
{
    int status;
    while ((status = status_at(shared, wanted, error)) == GS_AGAIN) {
        if (shared->is_given_up) return gs_fail(error, GS_ERROR, "is read by nobody any more");
        if (has_room(shared))
            read_next(shared);
        else
            pthread_cond_wait(&shared->changed, &shared->lock);
    }
    return status;
}

int gs_shared_bytes_need(struct gs_shared_bytes *shared, uint32_t reader, uint64_t passed,
                         uint64_t wanted, uint64_t *end, struct gs_error *error)
{
    uint64_t most = end_of_block(wanted);
    if (most > passed + GS_SHARED_RING_BYTES) /* for which no reader would ever have room */
        return gs_fail(error, GS_ERROR,
                       "its record at byte %llu is greater than several threads can hold: "
                       "--jobs 1 reads it",
                       (unsigned long long)passed);
    pthread_mutex_lock(&shared->lock);
    shared->passed[reader] = passed;
    pthread_cond_broadcast(&shared->changed);
    int status = wait_for(shared, wanted, error);
    *end = shared->filled < most ? shared->filled : most;
    pthread_mutex_unlock(&shared->lock);
    return status;
}

/* The last one needs no ring any more. */
void gs_shared_bytes_leave(struct gs_shared_bytes *shared, uint32_t reader)
{
    pthread_mutex_lock(&shared->lock);
    shared->passed[reader] = UINT64_MAX;
    if (least_passed(shared) == UINT64_MAX) shut(shared);
    pthread_cond_broadcast(&shared->changed);
    pthread_mutex_unlock(&shared->lock);
}

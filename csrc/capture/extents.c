/* SPDX-License-Identifier: Apache-2.0 */
#include "extents.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "extent_reader.h"

/* Most of what is fetched stays in the L2 cache until it is read. */
#define EXTENT_BYTES ((uint32_t)512 << 10)
/* In front of an extent's bytes there is room for those of a record that begins before them. */
#define HEAD_BYTES ((size_t)GS_CAPTURED_BYTES_MAX + 64)
#define WALKED_AT_ONCE 64
#define RUNS_MAX 128 /* that are kept of an extent: of small packets those of its first part */
#define READERS_MAX 64
/* Of each reader, that may be gone to before the slowest has answered for its own: all that is
 * ahead of it is held above, since it may have more of every window. */
#define AHEAD_OF_EACH 2
#define NOTHING UINT64_MAX

struct gs_extents {
    uint32_t extent_bytes;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint32_t readers;
    uint64_t at[READERS_MAX]; /* which extent each answers for; NOTHING: none */
    uint64_t taken;           /* extents that somebody has gone to fetch */
    uint64_t walked; /* of them; the next one's reader has the turn, and the fields below */
    bool is_begun, is_over;
    dev_t device; /* of the file */
    ino_t inode;
    uint64_t offset;  /* of the first record that was not walked over */
    uint64_t records; /* before it */
    struct gs_source_time time;
};

/* Records that were walked over, as their reader will look at them: behind H and the timestamp
 * that were before them. */
struct walked_run {
    uint64_t offset; /* of the first one */
    uint32_t count;
    int64_t high_ns, previous_ns;
    struct gs_frame_run run;
    struct gs_frame frames[WALKED_AT_ONCE];
};

struct gs_walked {
    bool is_asked_for;    /* by who takes frames */
    uint32_t count, next; /* runs, and the first that may not have been passed */
    struct walked_run runs[RUNS_MAX];
};

struct gs_extents *gs_extents_new(uint32_t extent_bytes)
{
    struct gs_extents *extents = calloc(1, sizeof *extents);
    if (extents == NULL) return NULL;
    extents->extent_bytes = extent_bytes > 0 ? extent_bytes : EXTENT_BYTES;
    pthread_mutex_init(&extents->lock, NULL);
    pthread_cond_init(&extents->moved, NULL);
    return extents;
}

void gs_extents_free(struct gs_extents *extents)
{
    if (extents == NULL) return;
    pthread_cond_destroy(&extents->moved);
    pthread_mutex_destroy(&extents->lock);
    free(extents);
}

void gs_extents_end(struct gs_extents *extents)
{
    pthread_mutex_lock(&extents->lock);
    extents->is_over = true;
    pthread_cond_broadcast(&extents->moved);
    pthread_mutex_unlock(&extents->lock);
}

/* ---- joining ---- */

/* The first reader says what is read, and from where on. False: it is another file. */
static bool enter(struct gs_extents *extents, struct gs_capture *capture, const struct stat *status)
{
    pthread_mutex_lock(&extents->lock);
    if (!extents->is_begun) {
        extents->is_begun = true;
        extents->device = status->st_dev;
        extents->inode = status->st_ino;
        extents->offset = gs_byte_input_offset(&capture->input);
        extents->time = *capture->time;
    }
    bool is_same = extents->device == status->st_dev && extents->inode == status->st_ino &&
                   extents->readers < READERS_MAX;
    if (is_same) {
        capture->reader = extents->readers++;
        extents->at[capture->reader] = NOTHING;
    }
    pthread_mutex_unlock(&extents->lock);
    return is_same;
}

int gs_extents_join(struct gs_capture *capture, const struct gs_capture_config *config,
                    struct gs_error *error)
{
    struct gs_byte_input *input = &capture->input;
    struct stat status;
    if (capture->peek_frames == NULL || input->waits || gs_byte_input_is_mapped(input))
        return gs_fail(error, GS_ERROR, "is not a pcap file that can be divided among readers");
    if (fstat(input->descriptor, &status) != 0)
        return gs_fail(error, GS_ERROR, "cannot be read: %m");
    size_t capacity = HEAD_BYTES + (size_t)config->extents->extent_bytes;
    uint8_t *buffer = realloc(input->buffer, capacity);
    if (buffer == NULL) return gs_fail(error, GS_ERROR, "out of memory");
    input->bytes = input->buffer = buffer;
    capture->time = config->time;
    capture->walked = calloc(1, sizeof *capture->walked);
    if (capture->walked == NULL) return gs_fail(error, GS_ERROR, "out of memory");
    if (!enter(config->extents, capture, &status))
        return gs_fail(error, GS_ERROR, "was replaced while it was opened");
    input->bytes_offset = gs_byte_input_offset(input);
    input->capacity = capacity;
    input->position = input->end = 0;
    capture->extents = config->extents;
    return GS_OK;
}

void gs_extents_leave(struct gs_capture *capture)
{
    struct gs_extents *extents = capture->extents;
    if (extents == NULL) return;
    pthread_mutex_lock(&extents->lock);
    extents->at[capture->reader] = NOTHING;
    pthread_cond_broadcast(&extents->moved);
    pthread_mutex_unlock(&extents->lock);
}

/* ---- reading ---- */

struct fetched {
    uint64_t offset; /* of the extent */
    size_t bytes;    /* of it: fewer at the end of the file, or where it cannot be read */
    int failure;     /* errno; 0: none */
};

static size_t fetch(int descriptor, uint8_t *bytes, size_t count, uint64_t offset, int *failure)
{
    size_t got = 0;
    while (got < count) {
        ssize_t some = pread(descriptor, bytes + got, count - got, (off_t)(offset + got));
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) *failure = errno;
        if (some <= 0) break;
        got += (size_t)some;
    }
    return got;
}

static struct fetched fetch_extent(const struct gs_capture *capture, uint64_t extent)
{
    uint32_t extent_bytes = capture->extents->extent_bytes;
    struct fetched fetched = {.offset = extent * extent_bytes};
    uint8_t *bytes = capture->input.buffer + HEAD_BYTES;
    fetched.bytes =
        fetch(capture->input.descriptor, bytes, extent_bytes, fetched.offset, &fetched.failure);
    return fetched;
}

/* The window is what of the extent no record before it has, and in front of that what a record that
 * reaches into it has before it. */
static void place_window(struct gs_capture *capture, struct fetched *fetched)
{
    struct gs_byte_input *input = &capture->input;
    uint64_t offset = capture->extents->offset;
    uint8_t *bytes = input->buffer + HEAD_BYTES;
    size_t head = offset < fetched->offset ? (size_t)(fetched->offset - offset) : 0;
    size_t passed = offset > fetched->offset ? (size_t)(offset - fetched->offset) : 0;
    if (passed > fetched->bytes) passed = fetched->bytes;
    size_t got = fetch(input->descriptor, bytes - head, head, offset, &fetched->failure);
    if (got < head) fetched->bytes = 0;
    capture->was_cut = got < head && fetched->failure == 0; /* these bytes were there before */
    input->bytes = bytes - head + passed;
    input->bytes_offset = offset;
    input->position = 0;
    input->end = got + fetched->bytes - passed;
}

/* Time behind all whole records of the window, which are passed over. */
static uint64_t walk(struct gs_capture *capture, struct gs_source_time *time)
{
    struct walked_run unkept;
    struct gs_walked *walked = capture->walked;
    uint64_t records = 0;
    walked->count = walked->next = 0;
    for (;;) {
        uint64_t offset = gs_byte_input_offset(&capture->input);
        bool is_kept = walked->is_asked_for && walked->count < RUNS_MAX;
        struct walked_run *seen = is_kept ? &walked->runs[walked->count] : &unkept;
        struct gs_source_time begun = *time; /* if a record begins here */
        if (offset >= begun.block_end_offset) gs_source_time_enter_block(&begun, offset);
        const struct gs_frame_reach reach = {INT64_MIN, INT64_MAX, begun.block_end_offset};
        seen->offset = offset;
        seen->high_ns = begun.high_timestamp_ns;
        seen->previous_ns = begun.previous_timestamp_ns;
        seen->run = gs_frame_run_of(seen->high_ns, seen->previous_ns);
        seen->count =
            capture->peek_frames(capture, seen->frames, WALKED_AT_ONCE, &reach, &seen->run);
        if (seen->count == 0) return records;
        walked->count += seen != &unkept;
        gs_source_time_pass(&begun, &seen->run);
        *time = begun;
        capture->input.position += seen->run.bytes;
        records += seen->count;
    }
}

/* What is behind a run is as it was when it was walked over, and all of it is within reach. */
static bool is_as_walked(const struct walked_run *walked, const struct gs_frame_reach *reach,
                         const struct gs_frame_run *run, uint64_t offset)
{
    return walked->offset == offset && walked->high_ns == run->high_ns &&
           walked->previous_ns == run->previous_ns && walked->run.least_ns >= reach->least_ns &&
           walked->run.high_ns < reach->high_ns && walked->run.last_offset < reach->until_offset;
}

static void add_walked(struct gs_frame_run *run, const struct gs_frame_run *walked)
{
    run->high_ns = walked->high_ns;
    run->previous_ns = walked->previous_ns;
    if (walked->least_ns < run->least_ns) run->least_ns = walked->least_ns;
    if (walked->greatest_ns > run->greatest_ns) run->greatest_ns = walked->greatest_ns;
    run->last_offset = walked->last_offset;
    run->bytes += walked->bytes;
    run->captured += walked->captured;
    run->truncated += walked->truncated;
}

uint32_t gs_extents_peek(const struct gs_capture *capture, struct gs_frame *frames,
                         uint32_t capacity, const struct gs_frame_reach *reach,
                         struct gs_frame_run *run)
{
    struct gs_walked *walked = capture->walked;
    uint64_t offset = gs_byte_input_offset(&capture->input);
    uint32_t count = 0;
    walked->is_asked_for = true;
    while (walked->next < walked->count && walked->runs[walked->next].offset < offset)
        walked->next++;
    for (uint32_t at = walked->next; at < walked->count; at++) {
        const struct walked_run *seen = &walked->runs[at];
        if (seen->count > capacity - count || !is_as_walked(seen, reach, run, offset + run->bytes))
            break;
        memcpy(&frames[count], seen->frames, seen->count * sizeof *frames);
        add_walked(run, &seen->run);
        count += seen->count;
    }
    if (count > 0) return count;
    struct gs_frame_reach to_next = *reach; /* whose records may be as they were again */
    for (uint32_t at = walked->next; at < walked->count; at++)
        if (walked->runs[at].offset > offset) {
            if (walked->runs[at].offset < reach->until_offset)
                to_next.until_offset = walked->runs[at].offset;
            break;
        }
    return capture->peek_frames(capture, frames, capacity, &to_next, run);
}

/* True: it is the last one. What is left over and longer than records can be is damaged: this
 * reader, who still has it, tells. */
static bool open_extent(struct gs_capture *capture, struct fetched fetched)
{
    struct gs_extents *extents = capture->extents;
    struct gs_byte_input *input = &capture->input;
    place_window(capture, &fetched);
    *capture->time = extents->time;
    capture->records = extents->records;
    capture->failure = fetched.failure;
    extents->records += walk(capture, &extents->time);
    extents->offset = gs_byte_input_offset(input);
    bool is_last =
        fetched.bytes < extents->extent_bytes || gs_byte_input_available(input) >= HEAD_BYTES;
    if (!is_last) input->end = input->position;
    input->position = 0;
    return is_last;
}

/* ---- turns ---- */

static bool is_far_ahead(const struct gs_extents *extents)
{
    for (uint32_t r = 0; r < extents->readers; r++)
        if (extents->at[r] != NOTHING &&
            extents->taken - extents->at[r] >= (uint64_t)AHEAD_OF_EACH * extents->readers)
            return true;
    return false;
}

/* The reader has answered for what it had. */
static bool take(struct gs_extents *extents, uint32_t reader, uint64_t *extent)
{
    pthread_mutex_lock(&extents->lock);
    extents->at[reader] = NOTHING;
    pthread_cond_broadcast(&extents->moved);
    while (!extents->is_over && is_far_ahead(extents))
        pthread_cond_wait(&extents->moved, &extents->lock);
    bool is_there = !extents->is_over;
    if (is_there) *extent = extents->at[reader] = extents->taken++;
    pthread_mutex_unlock(&extents->lock);
    return is_there;
}

/* False: it is over before. */
static bool await_turn(struct gs_extents *extents, uint64_t extent)
{
    pthread_mutex_lock(&extents->lock);
    while (extents->walked != extent)
        pthread_cond_wait(&extents->moved, &extents->lock);
    bool is_there = !extents->is_over;
    pthread_mutex_unlock(&extents->lock);
    return is_there;
}

static void end_turn(struct gs_extents *extents, bool is_last)
{
    pthread_mutex_lock(&extents->lock);
    extents->walked++;
    extents->is_over |= is_last;
    pthread_cond_broadcast(&extents->moved);
    pthread_mutex_unlock(&extents->lock);
}

static int end(const struct gs_capture *capture, struct gs_error *error)
{
    if (capture->was_cut)
        return gs_fail(error, GS_DAMAGED, "was cut short while it was read, at byte %llu",
                       (unsigned long long)gs_byte_input_offset(&capture->input));
    if (capture->failure == 0) return GS_END;
    errno = capture->failure;
    return gs_fail(error, GS_DAMAGED, "cannot be read after byte %llu: %m",
                   (unsigned long long)(capture->input.bytes_offset + capture->input.end));
}

int gs_extents_next(struct gs_capture *capture, struct gs_error *error)
{
    struct gs_extents *extents = capture->extents;
    uint64_t extent;
    if (!take(extents, capture->reader, &extent)) return end(capture, error);
    struct fetched fetched = fetch_extent(capture, extent);
    bool is_last = await_turn(extents, extent) && open_extent(capture, fetched);
    end_turn(extents, is_last);
    return GS_OK;
}

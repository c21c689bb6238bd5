/* SPDX-License-Identifier: Apache-2.0 */
#include "extent_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "extents_state.h"

/* In front of an extent's bytes there is room for those of a record that begins before them; for
 * longer ones, which pcapng may have, room is made. */
#define HEAD_BYTES ((size_t)GS_CAPTURED_BYTES_MAX + 64)
#define WALKED_AT_ONCE 64
/* Runs are kept of an extent as if records had so many bytes: of smaller ones those of its first
 * part are. */
#define KEPT_RECORD_BYTES 64

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
    uint32_t most;
    struct walked_run runs[];
};

/* ---- joining ---- */

bool gs_extents_has_begun(const struct gs_capture_config *config)
{
    return config->extents->files[config->divided_file].is_begun;
}

int gs_extents_found(struct gs_capture *capture, const struct gs_capture_config *config,
                     struct gs_error *error)
{
    struct gs_divided_file *file = &config->extents->files[config->divided_file];
    GS_RETURN_IF_ERROR(gs_extents_begin(config->extents, file, capture, config->time, error));
    gs_byte_input_close(&capture->input);
    return gs_extents_join(capture, config, error);
}

/* Of a small file all is one extent, in front of which nothing is. */
static int make_window(struct gs_capture *capture, const struct gs_divided_file *file,
                       struct gs_error *error)
{
    size_t extent_bytes = file->extent_bytes;
    struct gs_byte_input *input = &capture->input;
    capture->head_bytes = extent_bytes < HEAD_BYTES ? extent_bytes : HEAD_BYTES;
    size_t capacity = capture->head_bytes + extent_bytes;
    uint8_t *buffer = malloc(capacity);
    if (buffer == NULL) return gs_fail(error, GS_ERROR, "out of memory");
    *input = (struct gs_byte_input){.descriptor = file->descriptor,
                                    .bytes = buffer,
                                    .buffer = buffer,
                                    .capacity = capacity,
                                    .bytes_offset = file->begins_at,
                                    .total_bytes = file->total_bytes};
    return GS_OK;
}

static int make_walked(struct gs_capture *capture, uint32_t extent_bytes, struct gs_error *error)
{
    uint32_t most = extent_bytes / (WALKED_AT_ONCE * KEPT_RECORD_BYTES) + 1;
    struct gs_walked *walked = malloc(sizeof *walked + most * sizeof *walked->runs);
    if (walked == NULL) return gs_fail(error, GS_ERROR, "out of memory");
    *walked = (struct gs_walked){.most = most};
    capture->walked = walked;
    return GS_OK;
}

int gs_extents_join(struct gs_capture *capture, const struct gs_capture_config *config,
                    struct gs_error *error)
{
    struct gs_divided_file *file = &config->extents->files[config->divided_file];
    GS_RETURN_IF_ERROR(make_window(capture, file, error));
    GS_RETURN_IF_ERROR(gs_file_place_copy(&capture->place, &file->header, error));
    capture->format = file->format;
    capture->read_records = file->read_records;
    capture->peek_frames = file->peek_frames;
    capture->time = config->time;
    GS_RETURN_IF_ERROR(make_walked(capture, file->extent_bytes, error));
    capture->divided = file;
    capture->reader = config->reader;
    capture->extents = config->extents;
    return GS_OK;
}

void gs_extents_leave(struct gs_capture *capture)
{
    if (capture->extents == NULL) return;
    gs_extents_end_use(capture->extents, capture->divided, capture->reader);
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
    uint32_t extent_bytes = capture->divided->extent_bytes;
    struct fetched fetched = {.offset = extent * extent_bytes};
    uint8_t *bytes = capture->input.buffer + capture->head_bytes;
    fetched.bytes =
        fetch(capture->input.descriptor, bytes, extent_bytes, fetched.offset, &fetched.failure);
    return fetched;
}

/* In its turn: a file that grew meanwhile has more of it. The extent before has been read to its
 * end, and who takes what was there before that for the end of the file would cut a record short.
 */
static void fetch_rest(const struct gs_capture *capture, struct fetched *fetched)
{
    const size_t extent_bytes = capture->divided->extent_bytes;
    if (fetched->bytes == extent_bytes || fetched->failure != 0) return;
    uint8_t *bytes = capture->input.buffer + capture->head_bytes + fetched->bytes;
    fetched->bytes += fetch(capture->input.descriptor, bytes, extent_bytes - fetched->bytes,
                            fetched->offset + fetched->bytes, &fetched->failure);
}

static int make_room(struct gs_capture *capture, size_t head, struct gs_error *error)
{
    if (head <= capture->head_bytes) return GS_OK;
    size_t extent_bytes = capture->divided->extent_bytes;
    uint8_t *buffer = realloc(capture->input.buffer, head + extent_bytes);
    if (buffer == NULL) return gs_fail(error, GS_ERROR, "out of memory");
    memmove(buffer + head, buffer + capture->head_bytes, extent_bytes);
    capture->input.bytes = capture->input.buffer = buffer;
    capture->input.capacity = head + extent_bytes;
    capture->head_bytes = head;
    return GS_OK;
}

/* The window is what of the extent no record before it has, and in front of that what a record that
 * reaches into it has before it. What is skipped may end behind it. */
static int place_window(struct gs_capture *capture, struct fetched *fetched, struct gs_error *error)
{
    struct gs_byte_input *input = &capture->input;
    uint64_t offset = capture->divided->offset;
    fetch_rest(capture, fetched);
    size_t head = offset < fetched->offset ? (size_t)(fetched->offset - offset) : 0;
    uint64_t passed = offset > fetched->offset ? offset - fetched->offset : 0;
    if (passed > fetched->bytes) passed = fetched->bytes;
    GS_RETURN_IF_ERROR(make_room(capture, head, error));
    uint8_t *bytes = input->buffer + capture->head_bytes;
    size_t got = fetch(input->descriptor, bytes - head, head, offset, &fetched->failure);
    if (got < head) fetched->bytes = 0;
    capture->was_cut = got < head && fetched->failure == 0; /* these bytes were there before */
    input->bytes = bytes - head + passed;
    input->bytes_offset = fetched->offset - head + passed;
    input->discard_bytes = head == 0 ? offset - input->bytes_offset : 0;
    input->position = 0;
    input->end = got + fetched->bytes - (size_t)passed;
    return GS_OK;
}

/* Records that are no frames, as they will be read. */
static int walk_packets(struct gs_capture *capture, struct gs_source_time *time, uint32_t *count,
                        struct gs_error *error)
{
    struct gs_packet packets[WALKED_AT_ONCE];
    struct gs_file_burst burst = {packets, WALKED_AT_ONCE, 0};
    int status = capture->read_records(capture, &burst, error);
    for (uint32_t i = 0; i < burst.count; i++)
        (void)gs_source_time_observe(time, &packets[i]);
    *count = burst.count;
    return status;
}

static uint32_t walk_frames(struct gs_capture *capture, struct gs_source_time *time)
{
    struct walked_run unkept;
    struct gs_walked *walked = capture->walked;
    uint64_t offset = gs_byte_input_offset(&capture->input);
    bool is_kept = walked->is_asked_for && walked->count < walked->most;
    struct walked_run *seen = is_kept ? &walked->runs[walked->count] : &unkept;
    struct gs_source_time begun = *time; /* if a record begins here */
    if (offset >= begun.block_end_offset) gs_source_time_enter_block(&begun, offset);
    const struct gs_frame_reach reach = {INT64_MIN, INT64_MAX, begun.block_end_offset};
    seen->offset = offset;
    seen->high_ns = begun.high_timestamp_ns;
    seen->previous_ns = begun.previous_timestamp_ns;
    seen->run = gs_frame_run_of(seen->high_ns, seen->previous_ns);
    seen->count = capture->peek_frames(capture, seen->frames, WALKED_AT_ONCE, &reach, &seen->run);
    if (seen->count == 0) return 0;
    walked->count += is_kept;
    gs_source_time_pass(&begun, &seen->run);
    *time = begun;
    capture->input.position += seen->run.bytes;
    capture->place.records += seen->count;
    return seen->count;
}

/* What is known, and time, behind all whole records of the window, which are passed over. GS_AGAIN;
 * GS_DAMAGED: behind them is something else; GS_ERROR. */
static int walk(struct gs_capture *capture, struct gs_source_time *time, struct gs_error *error)
{
    capture->walked->count = capture->walked->next = 0;
    for (;;) {
        uint32_t count;
        while (walk_frames(capture, time) > 0)
            continue;
        int status = walk_packets(capture, time, &count, error);
        if (count == 0) return status;
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

static void swap_places(struct gs_file_place *one, struct gs_file_place *other)
{
    struct gs_file_place kept = *one;
    *one = *other;
    *other = kept;
}

/* Where the walk met damage the extent is the last one: its reader meets it again, and tells. */
static int open_extent(struct gs_capture *capture, struct fetched fetched, struct gs_error *error)
{
    struct gs_divided_file *file = capture->divided;
    struct gs_byte_input *input = &capture->input;
    struct gs_error damage;
    GS_RETURN_IF_ERROR(gs_file_place_copy(&capture->place, &file->place, error));
    GS_RETURN_IF_ERROR(place_window(capture, &fetched, error));
    struct gs_byte_input begun = *input;
    *capture->time = file->time;
    capture->failure = fetched.failure;
    int status = walk(capture, &file->time, &damage);
    if (status == GS_ERROR) return gs_fail(error, GS_ERROR, "%s", damage.message);
    file->offset = gs_byte_input_offset(input) + input->discard_bytes;
    capture->has_last = status == GS_DAMAGED || fetched.bytes < capture->divided->extent_bytes;
    if (!capture->has_last) begun.end = input->position;
    *input = begun;
    swap_places(&capture->place, &file->place);
    return GS_OK;
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
    struct gs_divided_file *file = capture->divided;
    uint64_t extent;
    int status = GS_OK;
    if (!gs_extents_take(extents, file, capture->reader, &extent)) return end(capture, error);
    struct fetched fetched = fetch_extent(capture, extent);
    if (gs_extents_await_turn(extents, file, extent)) status = open_extent(capture, fetched, error);
    gs_extents_end_turn(extents, file, capture->has_last || status != GS_OK);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* madvise */
#endif
#include "byte_input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/clocks.h"

/* Half a megabyte holds the largest packet record twice and stays in the L2 cache. */
#define BUFFER_BYTES ((size_t)512 << 10)
/* How far the window over a mapping reaches ahead: the file's size is checked and its pages are
 * entered once for each, which costs less than a page fault every 64 KiB. */
#define MAPPED_WINDOW_BYTES ((size_t)2 << 20)

/* ---- opening ---- */

static bool map_file(struct gs_byte_input *input, uint64_t file_bytes, uint64_t start)
{
    if (file_bytes <= start || file_bytes > SIZE_MAX) return false;
    void *mapping = mmap(NULL, (size_t)file_bytes, PROT_READ, MAP_PRIVATE, input->descriptor, 0);
    if (mapping == MAP_FAILED) return false;
    madvise(mapping, (size_t)file_bytes, MADV_SEQUENTIAL);
    input->mapping = mapping;
    input->mapping_bytes = (size_t)file_bytes;
    input->bytes = (const uint8_t *)mapping + start;
    input->capacity = (size_t)(file_bytes - start);
    return true;
}

static int allocate_buffer(struct gs_byte_input *input, size_t capacity, struct gs_error *error)
{
    uint8_t *buffer = realloc(input->buffer, capacity);
    if (buffer == NULL) return gs_fail(error, GS_ERROR, "out of memory (%zu bytes)", capacity);
    input->bytes = input->buffer = buffer;
    input->capacity = capacity;
    return GS_OK;
}

/* With what has been read already to see what it is. */
static int begin_buffer(struct gs_byte_input *input, const struct gs_capture_config *config,
                        struct gs_error *error)
{
    GS_RETURN_IF_ERROR(allocate_buffer(input, BUFFER_BYTES, error));
    if (config->first_byte_count > 0)
        memcpy(input->buffer, config->first_bytes, config->first_byte_count);
    input->end = config->first_byte_count;
    return GS_OK;
}

static int prepare(struct gs_byte_input *input, const struct gs_capture_config *config,
                   struct gs_error *error)
{
    struct stat status;
    if (fstat(input->descriptor, &status) != 0)
        return gs_fail(error, GS_ERROR, "cannot be read: %m");
    if (S_ISDIR(status.st_mode)) return gs_fail(error, GS_ERROR, "is a directory");
    input->waits = !S_ISREG(status.st_mode);
    if (input->waits) return begin_buffer(input, config, error);

    off_t position = lseek(input->descriptor, 0, SEEK_CUR);
    uint64_t start = position > 0 ? (uint64_t)position : 0;
    uint64_t file_bytes = (uint64_t)status.st_size;
    input->total_bytes = file_bytes > start ? file_bytes - start : 0;
    if (config->use_mmap && map_file(input, file_bytes, start)) return GS_OK;
    return allocate_buffer(input, BUFFER_BYTES, error);
}

int gs_byte_input_open(struct gs_byte_input *input, const struct gs_capture_config *config,
                       struct gs_error *error)
{
    *input = (struct gs_byte_input){.descriptor = config->descriptor};
    if (config->path != NULL) {
        /* without O_NONBLOCK a named pipe that nobody writes to yet would hold up the opening */
        input->descriptor = open(config->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (input->descriptor < 0) return gs_fail(error, GS_ERROR, "cannot be opened: %m");
        input->owns_descriptor = true;
    }
    int status = prepare(input, config, error);
    if (status != GS_OK) gs_byte_input_close(input);
    return status;
}

void gs_byte_input_close(struct gs_byte_input *input)
{
    if (input->mapping != NULL) munmap(input->mapping, input->mapping_bytes);
    free(input->buffer);
    if (input->owns_descriptor) close(input->descriptor);
    *input = (struct gs_byte_input){.descriptor = -1};
}

/* ---- the window over a mapping ---- */

/* A mapped file that another process cuts short turns reads of its lost pages into SIGBUS. Its size
 * is looked at before each part is given out, and MADV_POPULATE_READ fails with an error where a
 * plain read would kill; what is cut off while a burst points at it is beyond help. */
static int check_mapping(struct gs_byte_input *input, size_t end, struct gs_error *error)
{
    struct stat status;
    if (fstat(input->descriptor, &status) != 0 || (size_t)status.st_size < input->mapping_bytes)
        return gs_fail(error, GS_DAMAGED, "was cut short while it was read, at byte %llu",
                       (unsigned long long)gs_byte_input_offset(input));
#ifdef MADV_POPULATE_READ
    uintptr_t page_mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    uintptr_t first = (uintptr_t)(input->bytes + input->end) & ~page_mask;
    size_t length = (uintptr_t)(input->bytes + end) - first;
    if (madvise((void *)first, length, MADV_POPULATE_READ) != 0 && errno == EFAULT)
        return gs_fail(error, GS_DAMAGED, "cannot be read on after byte %llu",
                       (unsigned long long)(input->bytes_offset + input->end));
#endif
    return GS_OK;
}

static int extend_mapped_window(struct gs_byte_input *input, size_t wanted, struct gs_error *error)
{
    size_t left = input->capacity - input->position;
    size_t ahead = wanted > MAPPED_WINDOW_BYTES ? wanted : MAPPED_WINDOW_BYTES;
    size_t end = input->position + (ahead < left ? ahead : left);
    if (end > input->end) {
        GS_RETURN_IF_ERROR(check_mapping(input, end, error));
        input->end = end;
    }
    return input->discard_bytes == 0 && wanted <= left ? GS_OK : GS_END;
}

/* ---- the window over a buffer ---- */

int64_t gs_byte_input_deadline(int timeout_ms)
{
    if (timeout_ms < 0) return INT64_MAX;
    return gs_monotonic_ns() + (int64_t)timeout_ms * 1000000;
}

static int remaining_ms(int64_t deadline_ns)
{
    if (deadline_ns == INT64_MAX) return -1;
    int64_t left_ns = deadline_ns - gs_byte_input_deadline(0);
    if (left_ns <= 0) return 0;
    return left_ns > (int64_t)INT_MAX * 1000000 ? INT_MAX : (int)((left_ns + 999999) / 1000000);
}

static int wait_readable(const struct gs_byte_input *input, int64_t deadline_ns,
                         struct gs_error *error)
{
    if (!input->waits) return GS_OK;
    struct pollfd poll_descriptor = {.fd = input->descriptor, .events = POLLIN};
    int ready = poll(&poll_descriptor, 1, remaining_ms(deadline_ns));
    if (ready > 0) return GS_OK;
    if (ready == 0 || errno == EINTR) return GS_AGAIN;
    return gs_fail(error, GS_DAMAGED, "cannot wait for byte %llu: %m",
                   (unsigned long long)(input->bytes_offset + input->end));
}

static void discard(struct gs_byte_input *input)
{
    uint64_t held = gs_byte_input_available(input);
    uint64_t gone = input->discard_bytes < held ? input->discard_bytes : held;
    input->position += (size_t)gone;
    input->discard_bytes -= gone;
}

static int read_some(struct gs_byte_input *input, struct gs_error *error)
{
    ssize_t got = read(input->descriptor, input->buffer + input->end, input->capacity - input->end);
    if (got == 0) return GS_END;
    if (got < 0 && errno == EINTR) return GS_AGAIN;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return GS_OK; /* poll decides again */
    if (got < 0)
        return gs_fail(error, GS_DAMAGED, "cannot be read after byte %llu: %m",
                       (unsigned long long)(input->bytes_offset + input->end));
    input->end += (size_t)got;
    discard(input);
    return GS_OK;
}

/* A record that straddles the end of the buffer goes to the front. */
static void move_to_front(struct gs_byte_input *input)
{
    size_t held = gs_byte_input_available(input);
    memmove(input->buffer, input->buffer + input->position, held);
    input->bytes_offset += input->position;
    input->position = 0;
    input->end = held;
}

static int fill_buffer(struct gs_byte_input *input, size_t wanted, int64_t deadline_ns,
                       struct gs_error *error)
{
    while (input->discard_bytes > 0 || gs_byte_input_available(input) < wanted) {
        move_to_front(input);
        if (wanted > input->capacity)
            GS_RETURN_IF_ERROR(allocate_buffer(input, wanted + BUFFER_BYTES, error));
        GS_RETURN_IF_ERROR(wait_readable(input, deadline_ns, error));
        GS_RETURN_IF_ERROR(read_some(input, error));
    }
    return GS_OK;
}

/* ---- for the readers of formats ---- */

int gs_byte_input_need(struct gs_byte_input *input, size_t wanted, int64_t deadline_ns,
                       struct gs_error *error)
{
    if (gs_byte_input_is_mapped(input)) return extend_mapped_window(input, wanted, error);
    return fill_buffer(input, wanted, deadline_ns, error);
}

void gs_byte_input_skip(struct gs_byte_input *input, uint64_t count)
{
    size_t passable = gs_byte_input_is_mapped(input) ? input->capacity - input->position
                                                     : gs_byte_input_available(input);
    size_t passed = count < passable ? (size_t)count : passable;
    input->position += passed;
    if (input->position > input->end) input->end = input->position;
    input->discard_bytes = count - passed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a capture file as a window that slides forward: over the mapping of a plain file,
 * never copied, or over a buffer that read(2) fills from a pipe, stdin or a decompressor.
 *
 * What lies between `position` and `end` may be read; nothing moves or grows before
 * gs_byte_input_need is called, so packets of a burst may point into the window until then. */
#ifndef GS_CAPTURE_BYTE_INPUT_H
#define GS_CAPTURE_BYTE_INPUT_H

#include "capture.h"

struct gs_byte_input {
    const uint8_t *bytes;   /* the mapping or the buffer */
    size_t position;        /* of the next unread byte in `bytes` */
    size_t end;             /* of the window in `bytes` */
    uint64_t bytes_offset;  /* where bytes[0] is in the source */
    uint64_t discard_bytes; /* to be thrown away before the window goes on */
    uint64_t total_bytes;   /* of a regular file, else 0 */
    uint8_t *buffer;        /* NULL: mapped */
    size_t capacity;        /* of the mapping or the buffer */
    void *mapping;          /* what munmap wants */
    size_t mapping_bytes;
    int descriptor;
    bool owns_descriptor;
    bool waits; /* neither a regular file nor a mapping: poll before a read */
};

/* GS_ERROR where it cannot be opened; then there is nothing to close. */
int gs_byte_input_open(struct gs_byte_input *input, const struct gs_capture_config *config,
                       struct gs_error *error);
void gs_byte_input_close(struct gs_byte_input *input);

/* The time (CLOCK_MONOTONIC, ns) until which a call with this timeout may wait; negative: forever.
 */
int64_t gs_byte_input_deadline(int timeout_ms);

/* Makes at least `wanted` bytes lie in the window. GS_END: the source ends before that (what is
 * left of it is in the window); GS_AGAIN: the deadline has passed or a signal came; GS_DAMAGED: the
 * source cannot be read on; GS_ERROR: out of memory. Invalidates pointers into the window. */
int gs_byte_input_need(struct gs_byte_input *input, size_t wanted, int64_t deadline_ns,
                       struct gs_error *error);

/* Passes over bytes without ever holding more than a window of them. */
void gs_byte_input_skip(struct gs_byte_input *input, uint64_t count);

static inline const uint8_t *gs_byte_input_at(const struct gs_byte_input *input)
{
    return input->bytes + input->position;
}

static inline size_t gs_byte_input_available(const struct gs_byte_input *input)
{
    return input->end - input->position;
}

static inline bool gs_byte_input_is_mapped(const struct gs_byte_input *input)
{
    return input->buffer == NULL;
}

/* Of the next unread byte, from the beginning of the source. */
static inline uint64_t gs_byte_input_offset(const struct gs_byte_input *input)
{
    return input->bytes_offset + input->position;
}

#endif

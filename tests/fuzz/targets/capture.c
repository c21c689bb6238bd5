/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the capture readers. The first byte says how the others are read: 0 as a pipe, 1 by
 * read(2), 2 mapped, 3 looked at for a promise; and above these in what bursts, behind which frames
 * are taken where these are odd. */
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "memory_file.h"

enum { BY_PIPE, BY_READ, BY_MAP, PROMISE };

/* Every byte that is given out is read. */
static uint32_t sum_of(const struct gs_packet *packet)
{
    uint32_t sum = packet->len + packet->interface + packet->link;
    for (uint32_t i = 0; i < packet->caplen; i++)
        sum = sum * 31 + packet->bytes[i];
    return sum;
}

static uint32_t sum_of_frame(const struct gs_frame *frame, uint32_t sum)
{
    for (uint32_t at = 0; at < frame->caplen; at++)
        sum = sum * 31 + frame->bytes[at];
    return sum;
}

static const struct gs_frame_reach any = {INT64_MIN, INT64_MAX, UINT64_MAX};

/* What lies ready behind a burst, as frames. */
static uint32_t read_frames(const struct gs_capture_ops *ops, struct gs_capture *capture)
{
    struct gs_frame frames[16];
    uint32_t sum = 0, count;
    do {
        struct gs_frame_run run = gs_frame_run_of(INT64_MIN, INT64_MIN);
        count = ops->peek(capture, frames, sizeof frames / sizeof *frames, &any, &run);
        for (uint32_t i = 0; i < count; i++)
            sum = sum_of_frame(&frames[i], sum);
        if (count > 0) ops->pass(capture, count, &run);
    } while (count > 0);
    return sum;
}

/* The same by a walk, some records at a time. */
static uint32_t walk_records(const struct gs_capture_ops *ops, struct gs_capture *capture)
{
    struct gs_frame frame;
    uint32_t sum = 0, count;
    do {
        struct gs_walk walk = {
            .most = 5, .left = 5, .reach = any, .run = gs_frame_run_of(INT64_MIN, INT64_MIN)};
        if (!ops->walk(capture, &walk)) return sum;
        for (; gs_walk_see(&walk, &frame); gs_walk_pass(&walk, &frame))
            sum = sum_of_frame(&frame, sum);
        count = gs_walk_end(&walk);
        if (count > 0) ops->pass(capture, count, &walk.run);
    } while (count > 0);
    return sum;
}

static uint32_t read_all(const struct gs_capture_ops *ops, struct gs_capture *capture,
                         uint32_t capacity)
{
    struct gs_packet *packets = malloc(capacity * sizeof *packets);
    struct gs_error error;
    uint32_t sum = 0, count;
    int status = packets == NULL ? GS_END : GS_OK;
    while (status == GS_OK) {
        status = ops->next_burst(capture, packets, capacity, 0, &count, &error);
        for (uint32_t i = 0; i < count; i++)
            sum += sum_of(&packets[i]);
        if (status == GS_OK && capacity % 4 == 1) sum += read_frames(ops, capture);
        if (status == GS_OK && capacity % 4 == 3) sum += walk_records(ops, capture);
        ops->release(capture);
    }
    for (uint32_t i = 0; i < ops->interface_count(capture); i++)
        sum += (uint32_t)strlen(ops->interface(capture, i)->name);
    free(packets);
    return sum;
}

static uint32_t look(const struct gs_capture_config *config, unsigned how, uint32_t capacity)
{
    struct gs_error error;
    const struct gs_capture_ops *ops;
    struct gs_capture *capture;
    struct gs_scanned_promise promise;
    if (how == PROMISE)
        return (uint32_t)gs_capture_scan_promise(config, capacity * 16, &promise, &error);
    if (gs_capture_open_file(config, &ops, &capture, &error) != GS_OK) return 0;
    uint32_t sum = read_all(ops, capture, capacity);
    ops->close(capture);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > GS_PIPE_BYTES) return 0;
    unsigned how = data[0] % 4;
    int input = open_input(data + 1, size - 1, how == BY_PIPE);
    if (input < 0) return 0;
    char name[32];
    struct gs_capture_config config = {.descriptor = input, .use_mmap = how == BY_MAP};
    if (how != BY_PIPE) config.path = name_of(input, name, sizeof name);
    volatile uint32_t sum = look(&config, how, data[0] / 4 + 1u);
    (void)sum; /* or nothing would have to be read */
    close(input);
    return 0;
}

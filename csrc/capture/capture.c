/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include "source_time.h"

int gs_capture_open_file(const struct gs_capture_config *config, const struct gs_capture_ops **ops,
                         struct gs_capture **capture, struct gs_error *error)
{
    *ops = &gs_file_capture;
    return (*ops)->open(capture, config, error);
}

/* ---- what a file promises before it is opened ---- */

/* Few enough not to read far beyond the second block. */
#define SCAN_BURST 32

/* Until a third block begins: GS_OK. */
static int scan(struct gs_capture *capture, struct gs_source_time *time, struct gs_error *error)
{
    struct gs_packet packets[SCAN_BURST];
    for (;;) {
        uint32_t count;
        GS_RETURN_IF_ERROR(
            gs_file_capture.next_burst(capture, packets, SCAN_BURST, -1, &count, error));
        for (uint32_t i = 0; i < count; i++) {
            if (time->blocks_begun == 2 && packets[i].offset >= time->block_end_offset)
                return GS_OK;
            (void)gs_source_time_observe(time, &packets[i]);
        }
    }
}

static int64_t least_scanned(const struct gs_source_time *time)
{
    int64_t least = gs_source_time_least_of_two_blocks(time);
    bool only_timeless = time->blocks_begun > 0 && least == INT64_MAX;
    return only_timeless ? GS_BOUND_NONE : least;
}

int gs_capture_scan_promise(const struct gs_capture_config *config, uint64_t block_bytes,
                            struct gs_scanned_promise *promise, struct gs_error *error)
{
    struct gs_capture *capture;
    struct gs_source_time time = gs_source_time_by_blocks(block_bytes);
    GS_RETURN_IF_ERROR(gs_file_capture.open(&capture, config, error));
    int status = scan(capture, &time, error);
    gs_file_capture.close(capture);
    promise->least_ns = least_scanned(&time);
    promise->high_ns = status == GS_OK ? time.high_timestamp_ns : INT64_MAX;
    return status == GS_END || status == GS_DAMAGED ? GS_OK : status;
}

int gs_scan_promise(int descriptor, const struct gs_link_types *link_types, uint64_t block_bytes,
                    struct gs_scanned_promise *promise, struct gs_error *error)
{
    struct gs_capture_config config = {.descriptor = descriptor, .link_types = link_types};
    return gs_capture_scan_promise(&config, block_bytes, promise, error);
}

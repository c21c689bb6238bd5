/* SPDX-License-Identifier: Apache-2.0 */
/* The capture method for files, pipes and decompressors: finds the format by its magic, then lets
 * its reader give packets from the window and moves the window when the reader runs dry. */
#include "file_capture.h"

#include <stdlib.h>

#include "extent_reader.h"

/* ---- which format ---- */

static const struct gs_file_format *const formats[] = {&gs_pcap_format, &gs_pcapng_format};

static const struct foreign_magic {
    uint8_t bytes[4];
    const char *name;
    const char *advice;
} foreign_magics[] = {
    {{0x1f, 0x8b, 0x08, 0x00}, "gzip", "it must be decompressed first"},
    {{0x28, 0xb5, 0x2f, 0xfd}, "zstd", "it must be decompressed first"},
    {{0xfd, '7', 'z', 'X'}, "xz", "it must be decompressed first"},
    {{'B', 'Z', 'h', 0x00}, "bzip2", "it must be decompressed first"},
    {{0x04, 0x22, 0x4d, 0x18}, "lz4", "it must be decompressed first"},
    {{'P', 'K', 0x03, 0x04}, "zip", "it must be decompressed first"},
    {{'s', 'n', 'o', 'o'}, "snoop", "convert it, for example with editcap -F pcap"},
    {{'G', 'M', 'B', 'U'}, "Network Monitor", "convert it, for example with editcap -F pcap"},
};

static int refuse_magic(const uint8_t *bytes, struct gs_error *error)
{
    for (size_t i = 0; i < sizeof foreign_magics / sizeof *foreign_magics; i++) {
        const struct foreign_magic *foreign = &foreign_magics[i];
        /* gzip and bzip2 have a flag or level in the fourth byte, marked by a 0 here */
        size_t compared = foreign->bytes[3] == 0 ? 3 : 4;
        if (memcmp(bytes, foreign->bytes, compared) == 0)
            return gs_fail(error, GS_ERROR, "is %s data, not pcap or pcapng: %s", foreign->name,
                           foreign->advice);
    }
    return gs_fail(error, GS_ERROR,
                   "is neither pcap nor pcapng (it begins with the bytes %02x %02x %02x %02x)",
                   bytes[0], bytes[1], bytes[2], bytes[3]);
}

static int refuse_short(const struct gs_capture *capture, struct gs_error *error)
{
    size_t bytes = gs_byte_input_available(&capture->input);
    if (bytes == 0) return gs_fail(error, GS_ERROR, "is empty (0 bytes)");
    return gs_fail(error, GS_ERROR, "is too short to be pcap or pcapng (%zu bytes)", bytes);
}

static const struct gs_file_format *find_format(uint32_t magic)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i]->recognises(magic)) return formats[i];
    return NULL;
}

/* May be asked again after GS_AGAIN: it consumes nothing before all it wants is there. */
static int begin(struct gs_capture *capture, int64_t deadline_ns, struct gs_error *error)
{
    int status = gs_byte_input_need(&capture->input, 4, deadline_ns, error);
    if (status == GS_END) return refuse_short(capture, error);
    if (status != GS_OK) return status;
    const uint8_t *bytes = gs_byte_input_at(&capture->input);
    const struct gs_file_format *format = find_format(gs_load_u32(bytes, false));
    if (format == NULL) return refuse_magic(bytes, error);

    status = gs_byte_input_need(&capture->input, format->header_bytes, deadline_ns, error);
    if (status == GS_END) return refuse_short(capture, error);
    if (status != GS_OK) return status;
    GS_RETURN_IF_ERROR(format->start(capture, error));
    capture->format = format;
    return GS_OK;
}

/* ---- the operations ---- */

static void file_close(struct gs_capture *capture)
{
    if (capture == NULL) return;
    gs_extents_leave(capture);
    gs_byte_input_close(&capture->input);
    free(capture->walked);
    free(capture->place.interfaces);
    free(capture);
}

/* A pipe that is silent so far does not hold up the opening: the first next_burst looks again. */
static int start_or_wait(struct gs_capture *capture, const struct gs_capture_config *config,
                         struct gs_error *error)
{
    if (config->extents != NULL && gs_extents_has_begun(config))
        return gs_extents_join(capture, config, error);
    GS_RETURN_IF_ERROR(gs_byte_input_open(&capture->input, config, error));
    int status = begin(capture, gs_byte_input_deadline(0), error);
    if (status != GS_OK && status != GS_AGAIN) return GS_ERROR;
    return config->extents == NULL ? GS_OK : gs_extents_found(capture, config, error);
}

static int file_open(struct gs_capture **capture, const struct gs_capture_config *config,
                     struct gs_error *error)
{
    *capture = calloc(1, sizeof **capture);
    if (*capture == NULL) return gs_fail(error, GS_ERROR, "out of memory");
    (*capture)->input.descriptor = -1;
    (*capture)->is_records = config->is_records;
    (*capture)->link_types = config->link_types;
    int status = start_or_wait(*capture, config, error);
    if (status == GS_OK) return GS_OK;
    file_close(*capture);
    *capture = NULL;
    return status;
}

static int refuse_unsupported(const struct gs_capture *capture, struct gs_error *error)
{
    const char *name = gs_linktype_name(capture->place.unsupported_linktype);
    return gs_fail(error, GS_ERROR,
                   "none of its %llu packets has a supported link type (the last one's is %u, %s)",
                   (unsigned long long)capture->place.records, capture->place.unsupported_linktype,
                   name != NULL ? name : "unknown");
}

/* GS_END, or where in a record the source broke off. */
static int find_cut(const struct gs_capture *capture, struct gs_error *error)
{
    if (gs_byte_input_available(&capture->input) == 0 && capture->place.skipped_block_bytes == 0)
        return GS_END;
    return gs_fail(error, GS_DAMAGED,
                   "ends in the middle of %s at byte %llu, after %llu whole records",
                   capture->format->unit, (unsigned long long)gs_byte_input_offset(&capture->input),
                   (unsigned long long)capture->place.records);
}

/* The status that a source ends with: one of which nothing could be used is refused. Of readers
 * that divide a file, one has its end. */
static int conclude(const struct gs_capture *capture, int status, struct gs_error *error)
{
    if (capture->extents != NULL && !capture->has_last) return status;
    if (status == GS_END) status = find_cut(capture, error);
    if (status == GS_DAMAGED && gs_byte_input_offset(&capture->input) == 0) return GS_ERROR;
    if (capture->place.records > 0 && capture->place.records == capture->place.unsupported_records)
        return refuse_unsupported(capture, error);
    return status;
}

static int need(struct gs_capture *capture, int64_t deadline_ns, struct gs_error *error)
{
    if (capture->extents != NULL) return gs_extents_next(capture, error);
    return gs_byte_input_need(&capture->input, capture->needed_bytes, deadline_ns, error);
}

static int file_next_burst(struct gs_capture *capture, struct gs_packet *packets, uint32_t capacity,
                           int timeout_ms, uint32_t *count, struct gs_error *error)
{
    struct gs_file_burst burst = {packets, capacity, 0};
    int64_t deadline_ns = gs_byte_input_deadline(timeout_ms);
    *count = 0;
    if (capture->format == NULL) GS_RETURN_IF_ERROR(begin(capture, deadline_ns, error));
    for (;;) {
        int status = capture->read_records(capture, &burst, error);
        *count = burst.count;
        if (burst.count > 0) return GS_OK;
        if (status == GS_AGAIN) status = need(capture, deadline_ns, error);
        if (status == GS_END || status == GS_DAMAGED) return conclude(capture, status, error);
        if (status != GS_OK) return status;
    }
}

static uint32_t file_peek(const struct gs_capture *capture, struct gs_frame *frames,
                          uint32_t capacity, const struct gs_frame_reach *reach,
                          struct gs_frame_run *run)
{
    if (capture->peek_frames == NULL) return 0;
    if (capture->walked != NULL) return gs_extents_peek(capture, frames, capacity, reach, run);
    return capture->peek_frames(capture, frames, capacity, reach, run);
}

/* Of a mapping each record is asked for some records ahead, which a walk does not. */
static bool file_walk(const struct gs_capture *capture, struct gs_walk *walk)
{
    const struct gs_byte_input *input = &capture->input;
    if (capture->walked_tick_ns == 0 || capture->walked != NULL || gs_byte_input_is_mapped(input))
        return false;
    const size_t bytes = gs_byte_input_available(input);
    const size_t whole = bytes < GS_RECORD_HEADER_BYTES ? 0 : bytes - GS_RECORD_HEADER_BYTES + 1;
    walk->first = walk->at = gs_byte_input_at(input);
    walk->end = walk->first + bytes;
    walk->until =
        walk->first + gs_frame_reach_bytes(&walk->reach, gs_byte_input_offset(input), whole);
    walk->nanoseconds_per_tick = capture->walked_tick_ns;
    return true;
}

static void file_pass(struct gs_capture *capture, uint32_t count, const struct gs_frame_run *run)
{
    capture->place.records += count;
    capture->input.position += run->bytes;
}

/* The bytes stay where they are until the next burst is asked for. */
static void file_release(struct gs_capture *capture)
{
    (void)capture;
}

static void file_stats(const struct gs_capture *capture, struct gs_capture_stats *stats)
{
    *stats = (struct gs_capture_stats){
        .records = capture->place.records,
        .bytes = gs_byte_input_offset(&capture->input),
        .total_bytes = capture->input.total_bytes,
    };
}

/* ---- interfaces ---- */

int gs_file_add_interface(struct gs_capture *capture, const struct gs_file_interface *interface,
                          struct gs_error *error)
{
    if (capture->place.interface_count > UINT16_MAX)
        return gs_fail(error, GS_DAMAGED, "describes more than 65,536 interfaces in one section");
    if (capture->place.interface_count == capture->place.interface_room) {
        uint32_t room = capture->place.interface_room * 2 + 4;
        void *grown = realloc(capture->place.interfaces, room * sizeof *capture->place.interfaces);
        if (grown == NULL) return gs_fail(error, GS_ERROR, "out of memory");
        capture->place.interfaces = grown;
        capture->place.interface_room = room;
    }
    capture->place.interfaces[capture->place.interface_count++] = *interface;
    return GS_OK;
}

static uint64_t file_section(const struct gs_capture *capture)
{
    return capture->place.sections;
}

static uint32_t file_interface_count(const struct gs_capture *capture)
{
    return capture->place.interface_count;
}

static const struct gs_capture_interface *file_interface(const struct gs_capture *capture,
                                                         uint32_t index)
{
    return &capture->place.interfaces[index].shown;
}

const struct gs_capture_ops gs_file_capture = {
    .name = "file",
    .open = file_open,
    .next_burst = file_next_burst,
    .peek = file_peek,
    .walk = file_walk,
    .pass = file_pass,
    .release = file_release,
    .stats = file_stats,
    .section = file_section,
    .interface_count = file_interface_count,
    .interface = file_interface,
    .close = file_close,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Classic pcap: a file header of 24 bytes, then records with a header of 16 bytes each (24 in the
 * "modified" variant of A. Kuznetzov's libpcap patch). */
#include "file_capture.h"

#define NANOSECOND 1
#define MICROSECOND 1000

static __attribute__((noinline, cold)) int damaged_length(const struct gs_capture *capture,
                                                          uint32_t caplen, struct gs_error *error)
{
    return gs_fail(error, GS_DAMAGED,
                   "record %llu at byte %llu claims %u captured bytes, more than the %u allowed",
                   (unsigned long long)capture->place.records + 1,
                   (unsigned long long)gs_byte_input_offset(&capture->input), caplen,
                   GS_CAPTURED_BYTES_MAX);
}

/* How the records of a variant lie in the file; always a constant, so that each variant is compiled
 * for itself and the common one has no branch about byte order or resolution. */
struct record_shape {
    bool swapped;
    uint32_t nanoseconds_per_tick;
    uint32_t header_bytes;
};

static inline __attribute__((always_inline)) struct gs_frame
frame_of(const uint8_t *record, uint32_t caplen, struct record_shape shape)
{
    int64_t seconds = gs_load_u32(record, shape.swapped);
    int64_t fraction = gs_load_u32(record + 4, shape.swapped);
    return (struct gs_frame){.bytes = record + shape.header_bytes,
                             .timestamp_ns = seconds * GS_NANOSECONDS_PER_SECOND +
                                             fraction * shape.nanoseconds_per_tick,
                             .caplen = caplen,
                             .len = gs_load_u32(record + 12, shape.swapped)};
}

static inline __attribute__((always_inline)) void fill_packet(struct gs_packet *packet,
                                                              const uint8_t *record,
                                                              uint32_t caplen,
                                                              struct record_shape shape)
{
    const struct gs_frame frame = frame_of(record, caplen, shape);
    packet->bytes = frame.bytes;
    packet->timestamp_ns = frame.timestamp_ns;
    packet->caplen = caplen;
    packet->len = frame.len;
    packet->interface = 0;
    packet->flags = caplen < frame.len ? GS_FRAME_TRUNCATED : 0;
}

static inline __attribute__((always_inline)) int read_shape(struct gs_capture *capture,
                                                            struct gs_file_burst *burst,
                                                            struct gs_error *error,
                                                            struct record_shape shape)
{
    const uint8_t *const first = gs_byte_input_at(&capture->input);
    const uint8_t *const end = first + gs_byte_input_available(&capture->input);
    const uint64_t offset = gs_byte_input_offset(&capture->input);
    const uint8_t link = capture->place.interfaces[0].shown.link;
    const uint8_t *record = first;
    const bool is_mapped = gs_byte_input_is_mapped(&capture->input);
    uint32_t caplen = 0;
    size_t needed = 0;
    uint32_t count = 0;

    for (; count < burst->capacity; count++) {
        size_t left = (size_t)(end - record);
        needed = shape.header_bytes;
        if (left < needed) break;
        caplen = gs_load_u32(record + 8, shape.swapped);
        if (caplen > GS_CAPTURED_BYTES_MAX) break;
        needed += caplen;
        if (left < needed) break;
        if (is_mapped) gs_prefetch_ahead(record, needed);
        struct gs_packet *packet = &burst->packets[count];
        fill_packet(packet, record, caplen, shape);
        packet->packet_id = capture->place.records + count;
        packet->offset = offset + (uint64_t)(record - first);
        packet->link = link;
        record += needed;
    }
    burst->count = count;
    capture->place.records += count;
    capture->needed_bytes = needed;
    capture->input.position += (size_t)(record - first);
    if (count == burst->capacity) return GS_OK;
    return caplen > GS_CAPTURED_BYTES_MAX ? damaged_length(capture, caplen, error) : GS_AGAIN;
}

/* The same records, of which only the frames are written. */
static inline __attribute__((always_inline)) uint32_t
peek_shape(const struct gs_capture *capture, struct gs_frame *frames, uint32_t capacity,
           const struct gs_frame_reach *reach, struct gs_frame_run *result,
           struct record_shape shape, bool is_mapped)
{
    const uint8_t *const first = gs_byte_input_at(&capture->input);
    const size_t bytes = gs_byte_input_available(&capture->input);
    const uint64_t offset = gs_byte_input_offset(&capture->input);
    const size_t whole = bytes < shape.header_bytes ? 0 : bytes - shape.header_bytes + 1;
    const size_t until = gs_frame_reach_bytes(reach, offset, whole); /* a header begins before it */
    const struct gs_frame_reach within = *reach;
    struct gs_frame *next = frames, *const frames_end = frames + capacity;
    struct gs_frame_run run = *result;
    size_t at = 0;

    for (; next < frames_end && at < until; next++) {
        const uint8_t *const record = first + at;
        const uint32_t caplen = gs_load_u32(record + 8, shape.swapped);
        const size_t behind = at + shape.header_bytes + caplen;
        if (caplen > GS_CAPTURED_BYTES_MAX || behind > bytes) break;
        if (is_mapped) gs_prefetch_ahead(record, shape.header_bytes + caplen);
        const struct gs_frame frame = frame_of(record, caplen, shape);
        if (!gs_frame_is_within(&within, &run, frame.timestamp_ns)) break;
        *next = frame;
        gs_frame_run_see(&run, frame.timestamp_ns);
        run.truncated += caplen < frame.len;
        at = behind;
    }
    const uint32_t count = (uint32_t)(next - frames);
    const uint8_t *const last = count > 0 ? frames[count - 1].bytes - shape.header_bytes : first;
    run.last_offset = offset + (uint64_t)(last - first);
    run.bytes = at;
    *result = run;
    return count;
}

#define READER(name, swapped, nanoseconds_per_tick, header_bytes)                                  \
    static int read_##name(struct gs_capture *capture, struct gs_file_burst *burst,                \
                           struct gs_error *error)                                                 \
    {                                                                                              \
        const struct record_shape shape = {swapped, nanoseconds_per_tick, header_bytes};           \
        return read_shape(capture, burst, error, shape);                                           \
    }                                                                                              \
                                                                                                   \
    static uint32_t peek_##name(const struct gs_capture *capture, struct gs_frame *frames,         \
                                uint32_t capacity, const struct gs_frame_reach *reach,             \
                                struct gs_frame_run *run)                                          \
    {                                                                                              \
        const struct record_shape shape = {swapped, nanoseconds_per_tick, header_bytes};           \
        if (gs_byte_input_is_mapped(&capture->input))                                              \
            return peek_shape(capture, frames, capacity, reach, run, shape, true);                 \
        return peek_shape(capture, frames, capacity, reach, run, shape, false);                    \
    }

READER(microseconds, false, MICROSECOND, 16)
READER(swapped_microseconds, true, MICROSECOND, 16)
READER(nanoseconds, false, NANOSECOND, 16)
READER(swapped_nanoseconds, true, NANOSECOND, 16)
READER(modified, false, MICROSECOND, 24)
READER(swapped_modified, true, MICROSECOND, 24)

/* ---- the file header ---- */

#define MAGIC_MICROSECONDS 0xa1b2c3d4u
#define MAGIC_NANOSECONDS 0xa1b23c4du
#define MAGIC_MODIFIED 0xa1b2cd34u
/* The upper six bits say how long the frame check sequence is, if there is one; libpcap masks them
 * away too. */
#define LINKTYPE_MASK 0x03ffffffu

static const struct variant {
    uint32_t magic;
    gs_read_records *read_records, *read_swapped_records;
    gs_peek_frames *peek_frames, *peek_swapped_frames;
    uint32_t walked_tick_ns;
} variants[] = {
    {MAGIC_MICROSECONDS, read_microseconds, read_swapped_microseconds, peek_microseconds,
     peek_swapped_microseconds, MICROSECOND},
    {MAGIC_NANOSECONDS, read_nanoseconds, read_swapped_nanoseconds, peek_nanoseconds,
     peek_swapped_nanoseconds, NANOSECOND},
    {MAGIC_MODIFIED, read_modified, read_swapped_modified, peek_modified, peek_swapped_modified, 0},
};

static const struct variant *find_variant(uint32_t magic)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (variants[i].magic == magic || variants[i].magic == __builtin_bswap32(magic))
            return &variants[i];
    return NULL;
}

static bool recognises(uint32_t magic)
{
    return find_variant(magic) != NULL;
}

static int refuse_linktype(uint32_t linktype, struct gs_error *error)
{
    const char *name = gs_linktype_name(linktype);
    return gs_fail(error, GS_ERROR, "its link type %u (%s) is not supported", linktype,
                   name != NULL ? name : "unknown");
}

static int start(struct gs_capture *capture, struct gs_error *error)
{
    const uint8_t *header = gs_byte_input_at(&capture->input);
    uint32_t magic = gs_load_u32(header, false);
    const struct variant *variant = find_variant(magic);
    bool swapped = variant->magic != magic;
    unsigned major = gs_load_u16(header + 4, swapped), minor = gs_load_u16(header + 6, swapped);
    if (major != 2)
        return gs_fail(error, GS_ERROR, "pcap version %u.%u is not supported, only 2.x is", major,
                       minor);

    struct gs_file_interface interface = {0};
    interface.shown.snap_length = gs_load_u32(header + 16, swapped);
    interface.shown.link_type =
        gs_linktype_meant(capture->link_types, gs_load_u32(header + 20, swapped) & LINKTYPE_MASK);
    interface.shown.link = gs_link_of_linktype(interface.shown.link_type);
    if (interface.shown.link == GS_LINK_UNSUPPORTED)
        return refuse_linktype(interface.shown.link_type, error);

    GS_RETURN_IF_ERROR(gs_file_add_interface(capture, &interface, error));
    capture->read_records = swapped ? variant->read_swapped_records : variant->read_records;
    capture->peek_frames = swapped ? variant->peek_swapped_frames : variant->peek_frames;
    capture->walked_tick_ns = swapped ? 0 : variant->walked_tick_ns;
    gs_byte_input_skip(&capture->input, gs_pcap_format.header_bytes);
    return GS_OK;
}

const struct gs_file_format gs_pcap_format = {"a record", recognises, 24, start};

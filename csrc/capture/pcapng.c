/* SPDX-License-Identifier: Apache-2.0 */
/* pcapng (IETF draft-ietf-opsawg-pcapng): blocks of type, total length, body, total length again,
 * in sections that each have a byte order and interfaces of their own. */
#include "file_capture.h"

#define BLOCK_SECTION_HEADER 0x0a0d0d0au
#define BLOCK_ENHANCED_PACKET 6u
#define ENHANCED_PACKET_BYTES 32u /* without data and options */
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
/* Of a block that must lie in memory whole; others are passed over, whatever their length. */
#define BLOCK_BYTES_MAX (16u << 20)
#define BLOCK_HEADER_BYTES 8u
#define BLOCK_TRAILER_BYTES 4u

enum option_code {
    OPTION_END = 0,
    OPTION_IF_NAME = 2,
    OPTION_IF_TSRESOL = 9,
    OPTION_IF_TSOFFSET = 14
};

/* ---- damage ---- */

static __attribute__((cold)) int damaged(const struct gs_capture *capture, const char *what,
                                         struct gs_error *error)
{
    return gs_fail(error, GS_DAMAGED, "block at byte %llu, after %llu records: %s",
                   (unsigned long long)gs_byte_input_offset(&capture->input),
                   (unsigned long long)capture->place.records, what);
}

static int need(struct gs_capture *capture, size_t bytes)
{
    capture->needed_bytes = bytes;
    return gs_byte_input_available(&capture->input) < bytes ? GS_AGAIN : GS_OK;
}

/* ---- packets ---- */

/* What the three packet blocks have in common once they are read. */
struct packet_block {
    uint32_t interface; /* within the section */
    uint32_t caplen;
    uint32_t len;
    bool has_time; /* a simple packet has none, and counts as time 0 (GSQL section 8) */
    uint64_t ticks;
    uint32_t data_offset; /* from the block's beginning */
};

static int check_captured(const struct gs_capture *capture, const struct packet_block *block,
                          uint32_t total_length, struct gs_error *error)
{
    uint32_t room = total_length - BLOCK_TRAILER_BYTES - block->data_offset;
    if (block->caplen > GS_CAPTURED_BYTES_MAX)
        return damaged(capture, "it claims more than 262,144 captured bytes", error);
    if (block->caplen > room)
        return damaged(capture, "it claims more captured bytes than it has room for", error);
    return GS_OK;
}

static void fill_packet(struct gs_capture *capture, const struct gs_file_interface *interface,
                        const struct packet_block *block, struct gs_packet *packet)
{
    packet->bytes = gs_byte_input_at(&capture->input) + block->data_offset;
    packet->timestamp_ns = 0;
    packet->packet_id = capture->place.records++;
    packet->offset = gs_byte_input_offset(&capture->input);
    packet->caplen = block->caplen;
    packet->len = block->len;
    packet->interface = (uint16_t)(interface - capture->place.interfaces);
    packet->link = interface->shown.link;
    packet->flags = block->caplen < block->len ? GS_FRAME_TRUNCATED : 0;
    if (capture->is_records) packet->flags |= GS_FRAME_FILTERED; /* a filter is of packets */
    if (block->has_time &&
        !gs_tick_nanoseconds(&interface->tick, block->ticks, &packet->timestamp_ns))
        packet->flags |= GS_FRAME_NO_TIME;
    if (capture->is_records && packet->caplen == 0 && !(packet->flags & GS_FRAME_NO_TIME)) {
        packet->flags |= GS_FRAME_CLOCK;
        capture->place.records--;
    }
    if (interface->shown.link == GS_LINK_UNSUPPORTED) {
        packet->flags |= GS_FRAME_UNSUPPORTED;
        capture->place.unsupported_records++;
        capture->place.unsupported_linktype = interface->shown.link_type;
    }
}

/* NULL where the section has no such interface. */
static const struct gs_file_interface *find_interface(const struct gs_capture *capture,
                                                      uint32_t interface)
{
    return interface < capture->place.interface_count ? &capture->place.interfaces[interface]
                                                      : NULL;
}

static int give_packet(struct gs_capture *capture, const struct packet_block *block,
                       uint32_t total_length, struct gs_file_burst *burst, struct gs_error *error)
{
    GS_RETURN_IF_ERROR(check_captured(capture, block, total_length, error));
    const struct gs_file_interface *interface = find_interface(capture, block->interface);
    if (interface == NULL)
        return damaged(capture, "its interface is not described in this section", error);
    fill_packet(capture, interface, block, &burst->packets[burst->count++]);
    return GS_OK;
}

static uint64_t load_ticks(const uint8_t *bytes, bool swapped)
{
    return (uint64_t)gs_load_u32(bytes, swapped) << 32 | gs_load_u32(bytes + 4, swapped);
}

/* Both packet blocks with a time: they differ in how wide the interface's number is. */
static int read_timed_packet(struct gs_capture *capture, uint32_t interface, uint32_t total_length,
                             struct gs_file_burst *burst, struct gs_error *error)
{
    const uint8_t *block = gs_byte_input_at(&capture->input);
    bool swapped = capture->place.swapped;
    struct packet_block packet = {
        .interface = interface,
        .has_time = true,
        .ticks = load_ticks(block + 12, swapped),
        .caplen = gs_load_u32(block + 20, swapped),
        .len = gs_load_u32(block + 24, swapped),
        .data_offset = 28,
    };
    return give_packet(capture, &packet, total_length, burst, error);
}

static int read_enhanced_packet(struct gs_capture *capture, uint32_t total_length,
                                struct gs_file_burst *burst, struct gs_error *error)
{
    uint32_t interface = gs_load_u32(gs_byte_input_at(&capture->input) + 8, capture->place.swapped);
    return read_timed_packet(capture, interface, total_length, burst, error);
}

/* The obsolete one has a count of drops in the other half. */
static int read_obsolete_packet(struct gs_capture *capture, uint32_t total_length,
                                struct gs_file_burst *burst, struct gs_error *error)
{
    uint32_t interface = gs_load_u16(gs_byte_input_at(&capture->input) + 8, capture->place.swapped);
    return read_timed_packet(capture, interface, total_length, burst, error);
}

/* A simple packet is of interface 0, has no time, and leaves its captured length to be concluded.
 */
static int read_simple_packet(struct gs_capture *capture, uint32_t total_length,
                              struct gs_file_burst *burst, struct gs_error *error)
{
    const uint8_t *block = gs_byte_input_at(&capture->input);
    uint32_t len = gs_load_u32(block + 8, capture->place.swapped);
    struct packet_block packet = {.len = len, .caplen = len, .data_offset = 12};
    const struct gs_file_interface *interface = find_interface(capture, 0);
    uint32_t snap_length = interface != NULL ? interface->shown.snap_length : 0;
    if (snap_length != 0 && snap_length < len) packet.caplen = snap_length;
    return give_packet(capture, &packet, total_length, burst, error);
}

/* ---- packets of which only the frames are written ---- */

/* Bytes of an enhanced packet of the first interface, which is whole and has nothing wrong; 0: what
 * it is is for read_block to say. */
static inline __attribute__((always_inline)) uint32_t frame_of(const uint8_t *block, size_t left,
                                                               bool swapped,
                                                               const struct gs_tick *tick,
                                                               struct gs_frame *frame)
{
    if (left < ENHANCED_PACKET_BYTES || gs_load_u32(block, swapped) != BLOCK_ENHANCED_PACKET)
        return 0;
    uint32_t total_length = gs_load_u32(block + 4, swapped);
    if (total_length < ENHANCED_PACKET_BYTES || total_length > BLOCK_BYTES_MAX) return 0;
    if (total_length > left || total_length % 4 != 0) return 0;
    uint32_t trailer = gs_load_u32(block + total_length - BLOCK_TRAILER_BYTES, swapped);
    uint32_t interface = gs_load_u32(block + 8, swapped);
    if (trailer != total_length || interface != 0) return 0;
    frame->bytes = block + 28;
    frame->caplen = gs_load_u32(block + 20, swapped);
    frame->len = gs_load_u32(block + 24, swapped);
    if (frame->caplen > total_length - ENHANCED_PACKET_BYTES) return 0;
    if (frame->caplen > GS_CAPTURED_BYTES_MAX) return 0;
    uint64_t ticks = load_ticks(block + 12, swapped);
    return gs_tick_nanoseconds(tick, ticks, &frame->timestamp_ns) ? total_length : 0;
}

static inline __attribute__((always_inline)) uint32_t
peek_section(const struct gs_capture *capture, struct gs_frame *frames, uint32_t capacity,
             const struct gs_frame_reach *reach, struct gs_frame_run *result, bool swapped,
             bool is_mapped)
{
    const uint8_t *const first = gs_byte_input_at(&capture->input);
    const size_t bytes = gs_byte_input_available(&capture->input);
    const uint64_t offset = gs_byte_input_offset(&capture->input);
    const size_t until = gs_frame_reach_bytes(reach, offset, bytes);
    const struct gs_tick tick = capture->place.interfaces[0].tick;
    const struct gs_frame_reach within = *reach;
    struct gs_frame *next = frames, *const frames_end = frames + capacity;
    struct gs_frame_run run = *result;
    size_t at = 0, last = 0;

    for (; next < frames_end && at < until; next++) {
        struct gs_frame frame;
        const uint8_t *const block = first + at;
        const uint32_t block_bytes = frame_of(block, bytes - at, swapped, &tick, &frame);
        if (block_bytes == 0) break;
        if (is_mapped) gs_prefetch_ahead(block, block_bytes);
        if (!gs_frame_is_within(&within, &run, frame.timestamp_ns)) break;
        *next = frame;
        gs_frame_run_see(&run, frame.timestamp_ns);
        run.truncated += frame.caplen < frame.len;
        last = at;
        at += block_bytes;
    }
    run.last_offset = offset + last;
    run.bytes = at;
    *result = run;
    return (uint32_t)(next - frames);
}

/* Of a section with one interface, as nearly all have: a frame does not say of which it is. Packets
 * of a link that is not supported are counted, one by one. */
static uint32_t peek_blocks(const struct gs_capture *capture, struct gs_frame *frames,
                            uint32_t capacity, const struct gs_frame_reach *reach,
                            struct gs_frame_run *run)
{
    const struct gs_file_place *place = &capture->place;
    if (place->interface_count != 1 || capture->is_records || place->skipped_block_bytes != 0 ||
        place->interfaces[0].shown.link == GS_LINK_UNSUPPORTED)
        return 0;
    const bool is_mapped = gs_byte_input_is_mapped(&capture->input);
    if (capture->place.swapped)
        return peek_section(capture, frames, capacity, reach, run, true, is_mapped);
    if (is_mapped) return peek_section(capture, frames, capacity, reach, run, false, true);
    return peek_section(capture, frames, capacity, reach, run, false, false);
}

/* ---- interfaces ---- */

/* As much as there is room for, without half a UTF-8 character at the end. */
static void copy_name(char name[64], const uint8_t *bytes, uint16_t length)
{
    size_t kept = length < 63 ? length : 63;
    while (kept < length && kept > 0 && (bytes[kept] & 0xc0) == 0x80)
        kept--;
    memcpy(name, bytes, kept);
    name[kept] = '\0';
}

static int read_interface_option(const struct gs_capture *capture, uint16_t code,
                                 const uint8_t *value, uint16_t length,
                                 struct gs_file_interface *interface, struct gs_error *error)
{
    if (code == OPTION_IF_NAME) copy_name(interface->shown.name, value, length);
    if (code == OPTION_IF_TSRESOL) {
        if (length != 1) return damaged(capture, "its if_tsresol is not one byte long", error);
        int64_t offset_seconds = interface->tick.offset_seconds;
        interface->tick = gs_tick_of_resolution(value[0]);
        interface->tick.offset_seconds = offset_seconds;
    }
    if (code == OPTION_IF_TSOFFSET) {
        if (length != 8) return damaged(capture, "its if_tsoffset is not eight bytes long", error);
        interface->tick.offset_seconds = (int64_t)gs_load_u64(value, capture->place.swapped);
    }
    return GS_OK;
}

static int read_interface_options(const struct gs_capture *capture, const uint8_t *option,
                                  const uint8_t *end, struct gs_file_interface *interface,
                                  struct gs_error *error)
{
    while (end - option >= 4) {
        uint16_t code = gs_load_u16(option, capture->place.swapped);
        uint16_t length = gs_load_u16(option + 2, capture->place.swapped);
        if (code == OPTION_END) break;
        option += 4;
        size_t padded = ((size_t)length + 3) & ~(size_t)3;
        if ((size_t)(end - option) < padded)
            return damaged(capture, "an option in it is longer than the block", error);
        GS_RETURN_IF_ERROR(read_interface_option(capture, code, option, length, interface, error));
        option += padded;
    }
    return GS_OK;
}

static int read_interface_description(struct gs_capture *capture, uint32_t total_length,
                                      struct gs_file_burst *burst, struct gs_error *error)
{
    (void)burst;
    const uint8_t *block = gs_byte_input_at(&capture->input);
    struct gs_file_interface interface = {.tick = gs_tick_of_resolution(6)};
    interface.shown.link_type =
        gs_linktype_meant(capture->link_types, gs_load_u16(block + 8, capture->place.swapped));
    interface.shown.snap_length = gs_load_u32(block + 12, capture->place.swapped);
    interface.shown.link =
        capture->is_records ? GS_LINK_RECORD : gs_link_of_linktype(interface.shown.link_type);
    GS_RETURN_IF_ERROR(read_interface_options(
        capture, block + 16, block + total_length - BLOCK_TRAILER_BYTES, &interface, error));
    return gs_file_add_interface(capture, &interface, error);
}

/* ---- sections ---- */

/* False: these four bytes, behind a section header's total length, are no byte-order magic. */
static bool read_byte_order(const uint8_t *bytes, bool *swapped)
{
    uint32_t magic = gs_load_u32(bytes, false);
    *swapped = magic == __builtin_bswap32(BYTE_ORDER_MAGIC);
    return *swapped || magic == BYTE_ORDER_MAGIC;
}

/* At the beginning of a file another version is a refusal (GS_ERROR); later on, what came before it
 * is good (GS_DAMAGED). */
static int check_version(const struct gs_capture *capture, bool swapped, int code,
                         struct gs_error *error)
{
    const uint8_t *block = gs_byte_input_at(&capture->input);
    unsigned major = gs_load_u16(block + 12, swapped), minor = gs_load_u16(block + 14, swapped);
    if (major == 1 && (minor == 0 || minor == 2)) return GS_OK;
    return gs_fail(error, code,
                   "section at byte %llu is pcapng version %u.%u, only 1.0 and 1.2 are supported",
                   (unsigned long long)gs_byte_input_offset(&capture->input), major, minor);
}

static int read_section_header(struct gs_capture *capture, uint32_t total_length,
                               struct gs_file_burst *burst, struct gs_error *error)
{
    (void)total_length;
    (void)burst;
    capture->place.interface_count =
        0; /* there is room for those to come, and nobody asks for these */
    capture->place.sections++;
    return check_version(capture, capture->place.swapped, GS_DAMAGED, error);
}

/* ---- blocks ---- */

static const struct block_kind {
    uint32_t type;
    uint32_t bytes_min; /* of the whole block without options or data */
    int (*read)(struct gs_capture *capture, uint32_t total_length, struct gs_file_burst *burst,
                struct gs_error *error);
} block_kinds[] = {
    {BLOCK_ENHANCED_PACKET, ENHANCED_PACKET_BYTES, read_enhanced_packet},
    {3, 16, read_simple_packet},
    {2, 32, read_obsolete_packet},
    {1, 20, read_interface_description},
    {BLOCK_SECTION_HEADER, 28, read_section_header},
};

static const struct block_kind *find_kind(uint32_t type)
{
    for (size_t i = 0; i < sizeof block_kinds / sizeof *block_kinds; i++)
        if (block_kinds[i].type == type) return &block_kinds[i];
    return NULL;
}

/* What a burst has already is of the section before, whose interfaces must be there until it is
 * done with. The byte order of a section stands behind the first length that is written in it. */
static int enter_section(struct gs_capture *capture, const struct gs_file_burst *burst,
                         struct gs_error *error)
{
    if (burst->count > 0) return GS_AGAIN;
    GS_RETURN_IF_ERROR(need(capture, BLOCK_HEADER_BYTES + 4));
    const uint8_t *magic = gs_byte_input_at(&capture->input) + BLOCK_HEADER_BYTES;
    if (!read_byte_order(magic, &capture->place.swapped))
        return damaged(capture, "a section header without a byte-order magic", error);
    return GS_OK;
}

static int check_length(const struct gs_capture *capture, const struct block_kind *kind,
                        uint32_t total_length, struct gs_error *error)
{
    uint32_t least = kind != NULL ? kind->bytes_min : BLOCK_HEADER_BYTES + BLOCK_TRAILER_BYTES;
    if (total_length % 4 != 0)
        return damaged(capture, "its total length is not a multiple of 4", error);
    if (total_length < least) return damaged(capture, "it is too short for its type", error);
    if (kind != NULL && total_length > BLOCK_BYTES_MAX)
        return damaged(capture, "it is longer than 16 MiB", error);
    return GS_OK;
}

static int check_trailer(const struct gs_capture *capture, const uint8_t *trailer,
                         uint32_t total_length, struct gs_error *error)
{
    if (gs_load_u32(trailer, capture->place.swapped) == total_length) return GS_OK;
    return damaged(capture, "the total lengths at its two ends differ", error);
}

/* Blocks of other types may be of any length: they go by without ever being in memory whole. */
static int skip_block(struct gs_capture *capture, uint32_t total_length)
{
    gs_byte_input_skip(&capture->input, total_length - BLOCK_TRAILER_BYTES);
    capture->place.skipped_block_bytes = total_length;
    return GS_OK;
}

static int end_skipped_block(struct gs_capture *capture, struct gs_error *error)
{
    GS_RETURN_IF_ERROR(need(capture, BLOCK_TRAILER_BYTES));
    const uint8_t *trailer = gs_byte_input_at(&capture->input);
    GS_RETURN_IF_ERROR(check_trailer(capture, trailer, capture->place.skipped_block_bytes, error));
    gs_byte_input_skip(&capture->input, BLOCK_TRAILER_BYTES);
    capture->place.skipped_block_bytes = 0;
    return GS_OK;
}

static int read_block(struct gs_capture *capture, struct gs_file_burst *burst,
                      struct gs_error *error)
{
    if (capture->place.skipped_block_bytes != 0) return end_skipped_block(capture, error);
    GS_RETURN_IF_ERROR(need(capture, BLOCK_HEADER_BYTES));
    const uint8_t *block = gs_byte_input_at(&capture->input);
    uint32_t type = gs_load_u32(block, capture->place.swapped);
    if (type == BLOCK_SECTION_HEADER) GS_RETURN_IF_ERROR(enter_section(capture, burst, error));

    uint32_t total_length = gs_load_u32(block + 4, capture->place.swapped);
    const struct block_kind *kind = find_kind(type);
    GS_RETURN_IF_ERROR(check_length(capture, kind, total_length, error));
    if (kind == NULL) return skip_block(capture, total_length);

    GS_RETURN_IF_ERROR(need(capture, total_length));
    const uint8_t *trailer = block + total_length - BLOCK_TRAILER_BYTES;
    GS_RETURN_IF_ERROR(check_trailer(capture, trailer, total_length, error));
    if (gs_byte_input_is_mapped(&capture->input)) gs_prefetch_ahead(block, total_length);
    GS_RETURN_IF_ERROR(kind->read(capture, total_length, burst, error));
    capture->input.position += total_length;
    return GS_OK;
}

static int read_blocks(struct gs_capture *capture, struct gs_file_burst *burst,
                       struct gs_error *error)
{
    while (burst->count < burst->capacity)
        GS_RETURN_IF_ERROR(read_block(capture, burst, error));
    return GS_OK;
}

/* ---- the beginning of a file ---- */

static bool recognises(uint32_t magic)
{
    return magic == BLOCK_SECTION_HEADER;
}

/* Only what decides whether it is our format: the section header is read as a block afterwards. */
static int start(struct gs_capture *capture, struct gs_error *error)
{
    const uint8_t *block = gs_byte_input_at(&capture->input);
    bool swapped;
    if (!read_byte_order(block + BLOCK_HEADER_BYTES, &swapped))
        return gs_fail(error, GS_ERROR, "begins like pcapng but has no byte-order magic");
    GS_RETURN_IF_ERROR(check_version(capture, swapped, GS_ERROR, error));
    capture->read_records = read_blocks;
    capture->peek_frames = peek_blocks;
    return GS_OK;
}

const struct gs_file_format gs_pcapng_format = {"a block", recognises, 16, start};

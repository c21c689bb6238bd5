/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of file formats share: one open capture file, pcap or pcapng. */
#ifndef GS_CAPTURE_FILE_CAPTURE_H
#define GS_CAPTURE_FILE_CAPTURE_H

#include "byte_input.h"
#include "gs_walk.h"
#include "tick.h"

/* Where a format's reader puts packets. */
struct gs_file_burst {
    struct gs_packet *packets;
    uint32_t capacity;
    uint32_t count;
};

struct gs_file_interface {
    struct gs_capture_interface shown;
    struct gs_tick tick; /* pcapng: how its timestamps count */
};

/* What is known of a file behind all that was read of it: from here on it can be read by anyone. */
struct gs_file_place {
    uint64_t records;              /* given so far */
    uint64_t unsupported_records;  /* of these, with GS_FRAME_UNSUPPORTED */
    uint32_t unsupported_linktype; /* of the last of them */

    struct gs_file_interface *interfaces;
    uint32_t interface_count;
    uint32_t interface_room;

    /* pcapng */
    bool swapped;                 /* this section's byte order is not the host's */
    uint64_t sections;            /* begun so far; interfaces are those of the last */
    uint32_t skipped_block_bytes; /* total length of a block whose trailing length is next */
};

struct gs_capture;
struct gs_divided_file;

/* A file format: adding one is a file and a line in file_capture.c. */
struct gs_file_format {
    const char *unit;                   /* what it consists of, for messages: "a record" */
    bool (*recognises)(uint32_t magic); /* the first four bytes, in memory order */
    size_t header_bytes;                /* that `start` looks at */
    /* GS_OK with capture->read_records set, or GS_ERROR: what the file is not. */
    int (*start)(struct gs_capture *capture, struct gs_error *error);
};

/* Gives packets from the window alone, without waiting. GS_OK: the burst is full; GS_AGAIN: it
 * needs `needed_bytes` in the window; GS_DAMAGED. Before any of these it may have given some. */
typedef int gs_read_records(struct gs_capture *capture, struct gs_file_burst *burst,
                            struct gs_error *error);
typedef uint32_t gs_peek_frames(const struct gs_capture *capture, struct gs_frame *frames,
                                uint32_t capacity, const struct gs_frame_reach *reach,
                                struct gs_frame_run *run);

struct gs_capture {
    struct gs_byte_input input;
    const struct gs_file_format *format; /* NULL until enough of the file is there */
    gs_read_records *read_records;
    /* The same as gs_capture_ops has it; NULL: this format, or variant, does not. */
    gs_peek_frames *peek_frames;
    uint32_t walked_tick_ns; /* of records as struct gs_walk has them; 0: they are not */
    size_t needed_bytes;
    bool is_records; /* as its configuration says */
    struct gs_file_place place;

    struct gs_extents *extents;      /* NULL: it reads all of the file */
    struct gs_divided_file *divided; /* which of theirs it is, and who reads it: */
    uint32_t reader;
    struct gs_walked *walked;    /* what it has seen of its extent's records */
    struct gs_source_time *time; /* of its source, where it reads extents */
    size_t head_bytes;           /* room in front of an extent, for a record that reaches into it */
    bool has_last; /* its extent is the last: what the file ends with is its to tell */
    int failure;   /* errno behind the last extent; 0: none */
    bool was_cut;  /* behind it there were bytes that are no more */

    const struct gs_link_types *link_types; /* NULL: what files say is meant */
};

extern const struct gs_file_format gs_pcap_format;
extern const struct gs_file_format gs_pcapng_format;

/* Appends to the interfaces of the section; GS_DAMAGED beyond what a packet's 16 bits can name. */
int gs_file_add_interface(struct gs_capture *capture, const struct gs_file_interface *interface,
                          struct gs_error *error);

/* For a mapping: asks for as many bytes as this record has, some records ahead. Where the next one
 * begins is known only from this one's length, so a walk over packets of mixed sizes waits for
 * memory at each; sequential lines cost less than half of that (measured), and the decoder wants
 * them too. A long record, whose middle nobody may ever look at, is not worth its bandwidth. A
 * buffer has just been written and is in the cache. */
#define GS_PREFETCH_DISTANCE 4096
#define GS_PREFETCH_RECORD_MAX 2048

static inline void gs_prefetch_ahead(const uint8_t *record, size_t bytes)
{
    if (bytes > GS_PREFETCH_RECORD_MAX) return;
    const uint8_t *ahead = record + GS_PREFETCH_DISTANCE;
    for (size_t i = 0; i < bytes; i += GS_CACHE_LINE_BYTES)
        __builtin_prefetch(ahead + i);
}

static inline uint16_t gs_load_u16(const uint8_t *bytes, bool swapped)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t gs_load_u32(const uint8_t *bytes, bool swapped)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t gs_load_u64(const uint8_t *bytes, bool swapped)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return swapped ? __builtin_bswap64(value) : value;
}

#endif

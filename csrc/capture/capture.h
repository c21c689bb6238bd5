/* SPDX-License-Identifier: Apache-2.0 */
/* The capture stage: records in, packets with their capture part filled out.
 *
 * A capture method is a table of operations; adding one is a file and a line below. A
 * method never blocks for longer than it is told, never exits, and keeps its state in what it
 * gives out in `open`. */
#ifndef GS_CAPTURE_H
#define GS_CAPTURE_H

#include "../base/error.h"
#include "extents.h"
#include "gs_frame_run.h"
#include "gs_packet.h"
#include "gs_walk.h"
#include "link_types.h"
#include "live.h"
#include "scan.h"
#include "source_time.h"

struct gs_capture; /* each method's own */

struct gs_capture_config {
    const char *path; /* of a file; NULL: `descriptor` is read */
    int descriptor;   /* a pipe or stdin, or the reading end of a decompressor; owned by the caller,
                       * of   files that are divided by whoever reads them (extents_state.h) */
    bool use_mmap;    /* plain files only */
    struct gs_extents *extents;  /* of files that are divided among readers; or NULL */
    uint32_t divided_file;       /* which of theirs it is, from 0 */
    uint32_t reader;             /* who reads it here, from 0 */
    struct gs_source_time *time; /* then: of the source, which is told where an extent begins */
    bool is_records; /* its frames are records of a STREAM, and nothing else's ever are */
    const uint8_t *first_bytes;             /* of a pipe, which have been read already */
    uint32_t first_byte_count;              /* a few */
    const struct gs_link_types *link_types; /* of a file, as long as it is read; NULL: none */
    const struct gs_live_config *live; /* of a live link only: then there is neither of these */
};

/* Whether packets can come in. */
enum gs_link_state {
    GS_LINK_STATE_NONE = 0, /* no link: a file */
    GS_LINK_STATE_UP,
    GS_LINK_STATE_DOWN,
    GS_LINK_STATE_GONE, /* the device has been removed; one of its name is awaited */
    GS_LINK_STATE_LOST  /* the same, and none can be taken up: nothing more comes */
};

/* What a person wants to know of one interface of a source. */
struct gs_capture_interface {
    char name[64];      /* pcapng if_name, else "" */
    uint32_t link_type; /* the number in the file */
    uint32_t snap_length;
    uint8_t link; /* enum gs_link */
};

struct gs_capture_stats {
    uint64_t records;     /* records given out */
    uint64_t bytes;       /* bytes of the source consumed so far */
    uint64_t total_bytes; /* of a regular file, else 0 */
    /* of a live link, as the kernel counted them since it was opened */
    uint64_t kernel_received; /* that passed the filter; those dropped among them */
    uint64_t kernel_dropped;  /* for want of room in the ring */
    uint64_t freezes;         /* how often the ring was full */
    uint64_t oversized;       /* longer than the device sends and takes: joined from several */
    uint64_t nic_dropped;     /* by the device or its driver: nobody has seen them */
    uint64_t taken_before;    /* of a ring that was adopted: by all readers before */
    uint64_t dropped_before;  /* the same: drops that they have heard of */
    uint32_t ring_blocks, ring_used; /* used: handed over by the kernel and not given back */
    uint8_t link_state;              /* enum gs_link_state */
};

struct gs_capture_ops {
    const char *name;
    int (*open)(struct gs_capture **capture, const struct gs_capture_config *config,
                struct gs_error *error);
    /* Gives up to `capacity` records in the capture part of `packets`; their bytes stay valid
     * until `release`. GS_OK with *count > 0; GS_AGAIN: none came within timeout_ms (or a signal
     * came); GS_END; GS_DAMAGED with a message that says where: records given before it are good,
     * nothing comes after it; GS_ERROR. With GS_OK the call never waits once it has a record. */
    int (*next_burst)(struct gs_capture *capture, struct gs_packet *packets, uint32_t capacity,
                      int timeout_ms, uint32_t *count, struct gs_error *error);
    /* Records that lie ready, as frames, at most so many and within reach: none is given out before
     * they are passed over, all of them. 0: the next one is outside, or next_burst has to look at
     * it. NULL: never. */
    uint32_t (*peek)(const struct gs_capture *capture, struct gs_frame *frames, uint32_t capacity,
                     const struct gs_frame_reach *reach, struct gs_frame_run *run);
    /* The same records as they lie there, to be walked over; false: they are not of that kind, or
     * not to be had so. NULL: never. Then as many are passed over as were walked over. */
    bool (*walk)(const struct gs_capture *capture, struct gs_walk *walk);
    void (*pass)(struct gs_capture *capture, uint32_t count, const struct gs_frame_run *run);
    /* The bytes of the last burst are needed no more. */
    void (*release)(struct gs_capture *capture);
    void (*stats)(const struct gs_capture *capture, struct gs_capture_stats *stats);
    /* The interfaces seen so far; index < count. What `interface` returns is good until the next
     * burst is asked for. Where `section` changes they are numbered anew: those before are
     * forgotten, and a burst is of one section. */
    uint64_t (*section)(const struct gs_capture *capture);
    uint32_t (*interface_count)(const struct gs_capture *capture);
    const struct gs_capture_interface *(*interface)(const struct gs_capture *capture,
                                                    uint32_t index);
    void (*close)(struct gs_capture *capture);

    /* Of live links; NULL elsewhere. */
    /* Records are there that next_burst would give without waiting. */
    bool (*has_unread)(const struct gs_capture *capture);
    /* All that has come so far has been read: neither does the kernel hold anything back that it
     * has not handed over yet. NULL, too, where that cannot be known. */
    bool (*is_empty)(const struct gs_capture *capture);
    /* Once a timer period: counters and the state of the link are looked at again, a link that has
     * come back is taken up. */
    void (*refresh)(struct gs_capture *capture);
    /* From now on the kernel rejects what this program of classic BPF does, which knows no tags; of
     * no instructions: nothing. Links that do not take it pass everything. NULL: none does. */
    int (*prefilter)(struct gs_capture *capture, const struct sock_filter *instructions,
                     uint32_t length, struct gs_error *error);
    /* Goes on with another ring (ring.h); NULL: it has none. */
    int (*renew)(struct gs_capture *capture, int socket, struct gs_error *error);
    /* Nothing more comes in; next_burst gives what is still there, then GS_END. */
    void (*finish)(struct gs_capture *capture);
    /* Readable, or in error, when next_burst may have something; -1: none. */
    int (*descriptor)(const struct gs_capture *capture);
};

/* The methods. */
extern const struct gs_capture_ops gs_file_capture; /* file_capture.c */
extern const struct gs_capture_ops gs_ring_capture; /* ring.c */
extern const struct gs_capture_ops gs_pcap_capture; /* pcap_capture.c */

/* Opens a capture file, pipe or decompressor; pcap or pcapng is found out from the first bytes.
 * GS_ERROR with a message where it is refused: 0 bytes, unknown magic, unsupported version,
 * unsupported link type of a classic pcap. A pipe that has not said enough yet opens at once; then
 * it is the first next_burst that refuses. next_burst also gives GS_ERROR, in the place of GS_END,
 * for a file all of whose records (one at least) had GS_FRAME_UNSUPPORTED. Messages do not name the
 * source and read on from it: "x.pcap: is empty (0 bytes)". */
int gs_capture_open_file(const struct gs_capture_config *config, const struct gs_capture_ops **ops,
                         struct gs_capture **capture, struct gs_error *error);

/* What a file promises before it is opened (OPERATORS section 2, several sources): by the rule of
 * blocks the least timestamp; by that of slack what is no less than that, nor than H - slack, where
 * it goes on. A damaged file promises what it has before the damage. GS_ERROR where it is refused,
 * GS_AGAIN where a signal came. */
int gs_capture_scan_promise(const struct gs_capture_config *config, uint64_t block_bytes,
                            struct gs_scanned_promise *promise, struct gs_error *error);

/* The LINKTYPE_ number that is meant by one; types may be NULL. */
uint32_t gs_linktype_meant(const struct gs_link_types *types, uint32_t linktype);
/* enum gs_link of a LINKTYPE_ number; GS_LINK_UNSUPPORTED for the rest. */
uint8_t gs_link_of_linktype(uint32_t linktype);
/* "EN10MB", "LINUX_SLL", … or NULL for a number without a name here. */
const char *gs_linktype_name(uint32_t linktype);

#endif

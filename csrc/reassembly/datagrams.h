/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams that are put together of their fragments: the packet that completes one becomes the
 * whole. Memory is that of gs_datagrams_open, and nothing waits for longer than
 * GS_DATAGRAM_WAIT_NS of the packets' time; what has to go for either is counted. */
#ifndef GS_DATAGRAMS_H
#define GS_DATAGRAMS_H

#include "block_pool.h"
#include "fragment.h"
#include "gs_reassembly.h"
#include "packet_clock.h"

#define GS_DATAGRAM_WAIT_NS 30000000000 /* as Linux has it */
#define GS_DATAGRAM_PIECES 128          /* fragments of one */
#define GS_DATAGRAM_HEADERS 4096        /* bytes before the payload of a whole, at most */
#define GS_DATAGRAM_BYTES (GS_DATAGRAM_HEADERS + 65535)

/* What waits: a fragment's bytes and its place among the others of the datagram. */
struct gs_piece {
    uint32_t next;
    uint32_t begin, end;
    uint32_t captured; /* bytes of these, in the chain */
    uint32_t chain;
};

struct gs_datagram {
    struct gs_datagram_key key;
    uint32_t next;         /* of the same bucket */
    uint32_t older, newer; /* by when they began */
    int64_t since_ns;      /* INT64_MIN: time has not reached it yet */
    uint32_t first_piece;  /* by `begin` */
    uint32_t piece_count;
    uint32_t present, total; /* bytes; UINT32_MAX: the last fragment has not come */
    uint64_t len;            /* of the records */
    bool is_dead;            /* contradictory: whatever comes of it is dropped */
    /* of the first fragment: what becomes of the whole but for its payload */
    struct gs_packet head;
    uint32_t head_chain; /* GS_NO_BLOCK: it has not come */
    struct gs_fragment head_fragment;
};

struct gs_datagrams {
    struct gs_datagram *entries;
    struct gs_piece *pieces;
    uint32_t *buckets;
    struct gs_block_pool pool;
    uint32_t free_entry, free_piece; /* chains of what is not in use */
    uint32_t oldest, newest;
    uint64_t hash_key[2];
    struct gs_reassembled counts;
};

/* Bytes that gs_datagrams_open takes. */
uint64_t gs_datagrams_bytes(void);
/* NULL: there is no memory. */
struct gs_datagrams *gs_datagrams_open(const uint64_t *hash_key);
void gs_datagrams_close(struct gs_datagrams *datagrams);

/* Time is this, with a packet that is yet to be taken. */
void gs_datagrams_expire(struct gs_datagrams *datagrams, const struct gs_packet_clock *clock);

enum gs_whole {
    GS_WHOLE_ALREADY, /* the packet is no fragment */
    GS_WHOLE_NOW,     /* it was the last to come: it is the whole datagram now, decoded */
    GS_WHOLE_WAITING  /* there is no packet: it waits, or was dropped */
};

/* `room` is for GS_DATAGRAM_BYTES, of which a whole takes what it has as caplen. */
enum gs_whole gs_datagrams_take(struct gs_datagrams *datagrams, struct gs_packet *packet,
                                uint32_t depth, uint8_t *room);
/* All is over: what still waits is incomplete. */
void gs_datagrams_end(struct gs_datagrams *datagrams);

#endif

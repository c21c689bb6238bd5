/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of TCP in the order of their sequence, each direction of a connection for itself. One
 * that comes before those that it follows is held until they are there. Memory is that of
 * gs_segments_open, and nothing is held for longer than GS_SEGMENT_WAIT_NS of the packets' time:
 * where either is over, what is missing is given up, counted, and what was held goes on. No packet
 * is dropped, none is given twice. */
#ifndef GS_SEGMENTS_H
#define GS_SEGMENTS_H

#include "block_pool.h"
#include "gs_reassembly.h"
#include "packet_clock.h"
#include "segment.h"

#define GS_SEGMENT_WAIT_NS 2000000000
#define GS_SEGMENT_BYTES (256u * 1024) /* of one that is held, with what it was in */

/* A segment that waits, or that goes on. Its bytes are in the pool. */
struct gs_held {
    struct gs_packet packet, outer;
    struct gs_string name; /* of its interface in its source */
    uint32_t chain, outer_chain, name_chain;
    uint32_t begin, end;
    uint32_t direction;
    uint32_t previous,
        next; /* in the direction, by `begin`; `next` also of what goes on, is free */
    uint32_t heap_at;
    int64_t since_ns; /* no more than its own time */
    uint64_t number;  /* among all that were held */
};

struct gs_direction {
    struct gs_direction_key key;
    uint32_t next;         /* of the same bucket */
    uint32_t older, newer; /* by when something of it came */
    uint32_t first;        /* the sequence number with which the stream began, as far as known */
    uint32_t expected;     /* the next one */
    uint32_t first_held, last_held;
    uint32_t held_count;
};

struct gs_segments {
    struct gs_direction *directions;
    struct gs_held *held;
    uint32_t *buckets;
    uint32_t *heap; /* of what is held, but for `fresh`: held_heap.h */
    uint32_t heap_count;
    uint32_t fresh; /* the last one that was held, until there is a time to which it is held */
    struct gs_block_pool pool;
    uint32_t free_direction, free_held; /* chains of what is not in use */
    uint32_t oldest, newest;
    uint32_t first_ready, last_ready; /* what goes on */
    uint64_t hash_key[2];
    struct gs_sequenced counts;
};

/* Bytes that gs_segments_open takes. */
uint64_t gs_segments_bytes(void);
/* NULL: there is no memory. */
struct gs_segments *gs_segments_open(const uint64_t *hash_key);
void gs_segments_close(struct gs_segments *segments);

enum gs_turn {
    GS_TURN_NOW,  /* it is the packet's turn, and then that of what goes on */
    GS_TURN_NEXT, /* once all that goes on is taken, the same packet is to be given again */
    GS_TURN_HELD
};

/* A packet, in an interface of its source of this name; `own_name` outlives the segments. The time
 * with it has been told (gs_segments_expire), and what goes on is taken. */
enum gs_turn gs_segments_take(struct gs_segments *segments, const struct gs_packet *packet,
                              uint32_t depth, const struct gs_string *name,
                              const struct gs_string *own_name);
/* What is promised of what it gives, where so much is promised of what it is given. */
int64_t gs_segments_promise(int64_t promise_ns);
/* The least time at which something has been held for too long; INT64_MAX: nothing is held. */
int64_t gs_segments_due(const struct gs_segments *segments);
/* Time is this: what has been held for too long goes on. */
void gs_segments_expire(struct gs_segments *segments, const struct gs_packet_clock *clock);
/* All is over: all goes on. */
void gs_segments_end(struct gs_segments *segments);

/* What goes on, one by one; `bytes`: how many of the room, which is for GS_SEGMENT_BYTES. `outer`
 * becomes the packet that it was in, if in one. False: no more. */
bool gs_segments_next(struct gs_segments *segments, struct gs_packet *packet,
                      struct gs_packet *outer, struct gs_string *name, uint8_t *room,
                      size_t *bytes);

#endif

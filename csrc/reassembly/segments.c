/* SPDX-License-Identifier: Apache-2.0 */
/* A segment that is ahead of its direction's sequence is held among the others of that, by where
 * it begins; one that is not goes on, and with it all that it had kept. What lies further away than
 * a window can be is of another stream (RFC 7323 section 2.3), as is a SYN that did not begin this
 * one. Each costs a walk over at most DIRECTION_HELD others, from the last one backwards. */
#include "segments.h"

#include <stdlib.h>

#include "gs_hash.h"
#include "held_heap.h"

#define DIRECTIONS 32768
#define HELD 16384
#define BUCKETS 65536 /* a power of two */
#define BLOCKS 32768
#define DIRECTION_HELD 2048
#define WINDOW (1 << 30)
#define NONE UINT32_MAX

/* ---- memory ---- */

uint64_t gs_segments_bytes(void)
{
    return sizeof(struct gs_segments) + DIRECTIONS * sizeof(struct gs_direction) +
           HELD * (sizeof(struct gs_held) + sizeof(uint32_t)) + BUCKETS * sizeof(uint32_t) +
           BLOCKS * sizeof(struct gs_block);
}

static void link_all(struct gs_segments *segments)
{
    for (uint32_t i = 0; i < DIRECTIONS; i++)
        segments->directions[i].next = i + 1 < DIRECTIONS ? i + 1 : NONE;
    for (uint32_t i = 0; i < HELD; i++)
        segments->held[i].next = i + 1 < HELD ? i + 1 : NONE;
    for (uint32_t i = 0; i < BUCKETS; i++)
        segments->buckets[i] = NONE;
    segments->oldest = segments->newest = NONE;
    segments->first_ready = segments->last_ready = segments->fresh = NONE;
}

struct gs_segments *gs_segments_open(const uint64_t *hash_key)
{
    struct gs_segments *segments = calloc(1, sizeof *segments);

    if (segments == NULL) return NULL;
    segments->directions = calloc(DIRECTIONS, sizeof *segments->directions);
    segments->held = calloc(HELD, sizeof *segments->held);
    segments->buckets = calloc(BUCKETS, sizeof *segments->buckets);
    segments->heap = calloc(HELD, sizeof *segments->heap);
    memcpy(segments->hash_key, hash_key, sizeof segments->hash_key);
    if (gs_block_pool_open(&segments->pool, BLOCKS) && segments->directions != NULL &&
        segments->held != NULL && segments->buckets != NULL && segments->heap != NULL) {
        link_all(segments);
        return segments;
    }
    gs_segments_close(segments);
    return NULL;
}

void gs_segments_close(struct gs_segments *segments)
{
    if (segments == NULL) return;
    gs_block_pool_close(&segments->pool);
    free(segments->directions);
    free(segments->held);
    free(segments->buckets);
    free(segments->heap);
    free(segments);
}

/* ---- what goes on ---- */

/* What is expected then; a segment that takes part in the sequence, and not for the first time, is
 * repeated. */
static void pass(struct gs_segments *segments, struct gs_direction *direction, uint32_t begin,
                 uint32_t end)
{
    if (gs_sequence_distance(end, direction->expected) > 0)
        direction->expected = end;
    else
        segments->counts.repeated += begin != end;
}

/* The first one held of a direction. */
static void make_ready(struct gs_segments *segments, struct gs_direction *direction)
{
    uint32_t at = direction->first_held;
    struct gs_held *held = &segments->held[at];

    direction->first_held = held->next;
    if (held->next == NONE)
        direction->last_held = NONE;
    else
        segments->held[held->next].previous = NONE;
    direction->held_count--;
    if (segments->fresh == at)
        segments->fresh = NONE;
    else
        gs_held_heap_remove(segments, at);
    pass(segments, direction, held->begin, held->end);
    held->next = NONE;
    if (segments->last_ready == NONE)
        segments->first_ready = at;
    else
        segments->held[segments->last_ready].next = at;
    segments->last_ready = at;
}

/* All behind which nothing is missing. */
static void release(struct gs_segments *segments, struct gs_direction *direction)
{
    while (direction->first_held != NONE &&
           gs_sequence_distance(segments->held[direction->first_held].begin, direction->expected) <=
               0)
        make_ready(segments, direction);
}

/* What is missing before the first one that is held will not come. */
static void give_up(struct gs_segments *segments, struct gs_direction *direction, uint64_t *cause)
{
    ++*cause;
    direction->expected = segments->held[direction->first_held].begin;
    release(segments, direction);
}

static void give_up_all(struct gs_segments *segments, struct gs_direction *direction,
                        uint64_t *cause)
{
    while (direction->first_held != NONE)
        give_up(segments, direction, cause);
}

static struct gs_direction *first_that_waits(struct gs_segments *segments)
{
    return &segments->directions[segments->held[segments->heap[0]].direction];
}

int64_t gs_segments_promise(int64_t promise_ns)
{
    int64_t less_ns;

    if (promise_ns == INT64_MAX) return promise_ns;
    return __builtin_sub_overflow(promise_ns, GS_SEGMENT_WAIT_NS, &less_ns) ? INT64_MIN : less_ns;
}

int64_t gs_segments_due(const struct gs_segments *segments)
{
    int64_t since_ns = INT64_MAX, due_ns;

    if (segments->heap_count > 0) since_ns = segments->held[segments->heap[0]].since_ns;
    if (segments->fresh != NONE && segments->held[segments->fresh].since_ns < since_ns)
        since_ns = segments->held[segments->fresh].since_ns;
    if (__builtin_add_overflow(since_ns, GS_SEGMENT_WAIT_NS + 1, &due_ns)) return INT64_MAX;
    return due_ns;
}

/* A silence before it came is no part of its waiting: that begins at the time that is reached with
 * what comes next, but no later than its own. */
static void begin_to_wait(struct gs_segments *segments, int64_t now_ns)
{
    uint32_t at = segments->fresh;

    if (at == NONE) return;
    if (now_ns < segments->held[at].since_ns) segments->held[at].since_ns = now_ns;
    segments->fresh = NONE;
    gs_held_heap_add(segments, at);
}

void gs_segments_expire(struct gs_segments *segments, const struct gs_packet_clock *clock)
{
    begin_to_wait(segments, clock->now_ns);
    while (segments->heap_count > 0 &&
           gs_packet_clock_passed(clock, segments->held[segments->heap[0]].since_ns,
                                  GS_SEGMENT_WAIT_NS))
        give_up(segments, first_that_waits(segments), &segments->counts.waited);
}

void gs_segments_end(struct gs_segments *segments)
{
    begin_to_wait(segments, INT64_MAX);
    while (segments->heap_count > 0)
        give_up(segments, first_that_waits(segments), &segments->counts.ended);
}

/* Bytes behind those that are in use. */
static const uint8_t *load(struct gs_segments *segments, uint32_t chain, uint32_t length,
                           uint8_t *room, size_t *bytes)
{
    uint8_t *to = room + *bytes;

    gs_block_pool_load(&segments->pool, chain, to, length);
    gs_block_pool_free(&segments->pool, chain);
    *bytes += length;
    return to;
}

bool gs_segments_next(struct gs_segments *segments, struct gs_packet *packet,
                      struct gs_packet *outer, struct gs_string *name, uint8_t *room, size_t *bytes)
{
    uint32_t at = segments->first_ready;
    struct gs_held *held = &segments->held[at];

    if (at == NONE) return false;
    *bytes = 0;
    *packet = held->packet;
    *name = held->name;
    packet->bytes = load(segments, held->chain, packet->caplen, room, bytes);
    if (held->name_chain != GS_NO_BLOCK)
        name->bytes = load(segments, held->name_chain, name->length, room, bytes);
    if (packet->outer != NULL) {
        *outer = held->outer;
        outer->bytes = load(segments, held->outer_chain, outer->caplen, room, bytes);
        packet->outer = outer;
    }
    segments->first_ready = held->next;
    if (held->next == NONE) segments->last_ready = NONE;
    held->next = segments->free_held;
    segments->free_held = at;
    return true;
}

/* ---- directions ---- */

static uint32_t *bucket_of(struct gs_segments *segments, const struct gs_direction_key *key)
{
    struct gs_string bytes = {(const uint8_t *)key, sizeof *key};
    uint64_t hash = gs_hash_bytes(segments->hash_key[0], bytes, segments->hash_key);

    return &segments->buckets[hash & (BUCKETS - 1)];
}

static void leave_ages(struct gs_segments *segments, const struct gs_direction *direction)
{
    uint32_t *newer = direction->older == NONE ? &segments->oldest
                                               : &segments->directions[direction->older].newer;
    uint32_t *older = direction->newer == NONE ? &segments->newest
                                               : &segments->directions[direction->newer].older;

    *newer = direction->newer;
    *older = direction->older;
}

static void become_newest(struct gs_segments *segments, uint32_t at)
{
    struct gs_direction *direction = &segments->directions[at];

    direction->older = segments->newest;
    direction->newer = NONE;
    if (segments->newest == NONE)
        segments->oldest = at;
    else
        segments->directions[segments->newest].newer = at;
    segments->newest = at;
}

static void forget_oldest(struct gs_segments *segments)
{
    uint32_t at = segments->oldest;
    struct gs_direction *direction = &segments->directions[at];
    uint32_t *to = bucket_of(segments, &direction->key);

    segments->counts.forgotten++;
    give_up_all(segments, direction, &segments->counts.no_room);
    while (*to != at)
        to = &segments->directions[*to].next;
    *to = direction->next;
    leave_ages(segments, direction);
    direction->next = segments->free_direction;
    segments->free_direction = at;
}

static uint32_t add(struct gs_segments *segments, const struct gs_segment *segment)
{
    uint32_t *bucket = bucket_of(segments, &segment->key);
    uint32_t at;

    if (segments->free_direction == NONE) forget_oldest(segments);
    at = segments->free_direction;
    segments->free_direction = segments->directions[at].next;
    segments->directions[at] = (struct gs_direction){.key = segment->key,
                                                     .next = *bucket,
                                                     .first = segment->begin + segment->is_syn,
                                                     .expected = segment->begin,
                                                     .first_held = NONE,
                                                     .last_held = NONE};
    *bucket = at;
    become_newest(segments, at);
    return at;
}

static uint32_t find(struct gs_segments *segments, const struct gs_segment *segment)
{
    uint32_t at = *bucket_of(segments, &segment->key);

    while (at != NONE &&
           memcmp(&segments->directions[at].key, &segment->key, sizeof segment->key) != 0)
        at = segments->directions[at].next;
    if (at == NONE) return add(segments, segment);
    leave_ages(segments, &segments->directions[at]);
    become_newest(segments, at);
    return at;
}

/* ---- one more segment ---- */

static bool is_of_another(const struct gs_direction *direction, const struct gs_segment *segment)
{
    int32_t distance = gs_sequence_distance(segment->begin, direction->expected);

    if (segment->is_syn && segment->begin + 1 != direction->first) return true;
    return distance > WINDOW || distance < -WINDOW;
}

static void begin_anew(struct gs_segments *segments, struct gs_direction *direction,
                       const struct gs_segment *segment)
{
    give_up_all(segments, direction, &segments->counts.ended);
    direction->first = segment->begin + segment->is_syn;
    direction->expected = segment->begin;
}

/* What is to be kept of a packet. */
struct kept {
    const struct gs_packet *packet;
    struct gs_string name; /* of its interface in its source */
    uint32_t name_length;  /* that has to be kept: 0 for the interface's own */
    uint32_t outer_length;
};

static struct kept what_to_keep(const struct gs_packet *packet, const struct gs_string *name,
                                const struct gs_string *own_name)
{
    bool is_own =
        name->length == own_name->length && memcmp(name->bytes, own_name->bytes, name->length) == 0;

    return (struct kept){.packet = packet,
                         .name = is_own ? *own_name : *name,
                         .name_length = is_own ? 0 : name->length,
                         .outer_length = packet->outer == NULL ? 0 : packet->outer->caplen};
}

static uint32_t blocks_of(const struct kept *kept)
{
    return gs_blocks_for(kept->packet->caplen) + gs_blocks_for(kept->name_length) +
           gs_blocks_for(kept->outer_length);
}

/* Whose first gap has to be given up for it; NULL: there is room. */
static struct gs_direction *find_giver(struct gs_segments *segments, struct gs_direction *own,
                                       const struct kept *kept)
{
    uint64_t bytes = (uint64_t)kept->packet->caplen + kept->name_length + kept->outer_length;

    if (bytes > GS_SEGMENT_BYTES || own->held_count == DIRECTION_HELD) return own;
    if (segments->free_held != NONE && segments->pool.left >= blocks_of(kept)) return NULL;
    return first_that_waits(segments);
}

/* Behind all that begin before it or where it does. */
static void insert(struct gs_segments *segments, struct gs_direction *direction, uint32_t at)
{
    struct gs_held *held = &segments->held[at];

    held->previous = direction->last_held;
    while (held->previous != NONE &&
           gs_sequence_distance(held->begin, segments->held[held->previous].begin) < 0)
        held->previous = segments->held[held->previous].previous;
    uint32_t *to =
        held->previous == NONE ? &direction->first_held : &segments->held[held->previous].next;
    held->next = *to;
    *to = at;
    if (held->next == NONE)
        direction->last_held = at;
    else
        segments->held[held->next].previous = at;
    direction->held_count++;
}

static void hold(struct gs_segments *segments, uint32_t direction, const struct gs_segment *segment,
                 const struct kept *kept)
{
    struct gs_block_pool *pool = &segments->pool;
    const struct gs_packet *packet = kept->packet;
    uint32_t at = segments->free_held;
    struct gs_held *held = &segments->held[at];

    segments->free_held = held->next;
    *held = (struct gs_held){.packet = *packet,
                             .name = kept->name,
                             .chain = gs_block_pool_store(pool, packet->bytes, packet->caplen),
                             .name_chain =
                                 gs_block_pool_store(pool, kept->name.bytes, kept->name_length),
                             .outer_chain = GS_NO_BLOCK,
                             .begin = segment->begin,
                             .end = segment->end,
                             .direction = direction,
                             .since_ns = packet->timestamp_ns,
                             .number = segments->counts.held++};
    if (packet->outer != NULL) {
        held->outer = *packet->outer;
        held->outer_chain = gs_block_pool_store(pool, packet->outer->bytes, kept->outer_length);
    }
    insert(segments, &segments->directions[direction], at);
    segments->fresh = at;
}

/* Where nothing of it is held it is no use to wait: the packet itself would be too much. */
static enum gs_turn make_room(struct gs_segments *segments, struct gs_direction *own,
                              struct gs_direction *giver, uint32_t begin)
{
    if (giver->first_held != NONE) {
        give_up(segments, giver, &segments->counts.no_room);
        return GS_TURN_NEXT;
    }
    segments->counts.no_room++;
    own->expected = begin;
    return GS_TURN_NOW;
}

enum gs_turn gs_segments_take(struct gs_segments *segments, const struct gs_packet *packet,
                              uint32_t depth, const struct gs_string *name,
                              const struct gs_string *own_name)
{
    struct gs_segment segment;
    struct gs_direction *direction;
    uint32_t at;

    if (!gs_segment_read(packet, depth, &segment)) return GS_TURN_NOW;
    direction = &segments->directions[at = find(segments, &segment)];
    if (is_of_another(direction, &segment)) begin_anew(segments, direction, &segment);
    if (segments->first_ready != NONE) return GS_TURN_NEXT;
    if (gs_sequence_distance(segment.begin, direction->expected) > 0) {
        struct kept kept = what_to_keep(packet, name, own_name);
        struct gs_direction *giver = find_giver(segments, direction, &kept);

        if (giver == NULL) {
            hold(segments, at, &segment, &kept);
            segments->counts.segments++;
            return GS_TURN_HELD;
        }
        if (make_room(segments, direction, giver, segment.begin) == GS_TURN_NEXT)
            return GS_TURN_NEXT;
    }
    segments->counts.segments++;
    pass(segments, direction, segment.begin, segment.end);
    release(segments, direction);
    return GS_TURN_NOW;
}

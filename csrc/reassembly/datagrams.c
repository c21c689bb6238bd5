/* SPDX-License-Identifier: Apache-2.0 */
/* Fragments that overlap with different ends kill their datagram, in IPv6 (RFC 5722) and in IPv4
 * alike: which of two readings the receiver takes nobody knows here. One that is there already is
 * dropped alone. Each costs a walk over at most GS_DATAGRAM_PIECES others. */
#include "datagrams.h"

#include <stdlib.h>

#include "gs_hash.h"
#include "whole.h"

#define ENTRIES 4096
#define PIECES 16384
#define BUCKETS 8192 /* a power of two */
#define BLOCKS 16384
#define NONE UINT32_MAX

/* ---- memory ---- */

uint64_t gs_datagrams_bytes(void)
{
    return sizeof(struct gs_datagrams) + ENTRIES * sizeof(struct gs_datagram) +
           PIECES * sizeof(struct gs_piece) + BUCKETS * sizeof(uint32_t) +
           BLOCKS * sizeof(struct gs_block);
}

static void link_all(struct gs_datagrams *datagrams)
{
    for (uint32_t i = 0; i < ENTRIES; i++)
        datagrams->entries[i].next = i + 1 < ENTRIES ? i + 1 : NONE;
    for (uint32_t i = 0; i < PIECES; i++)
        datagrams->pieces[i].next = i + 1 < PIECES ? i + 1 : NONE;
    for (uint32_t i = 0; i < BUCKETS; i++)
        datagrams->buckets[i] = NONE;
    datagrams->oldest = datagrams->newest = NONE;
}

struct gs_datagrams *gs_datagrams_open(const uint64_t *hash_key)
{
    struct gs_datagrams *datagrams = calloc(1, sizeof *datagrams);

    if (datagrams == NULL) return NULL;
    datagrams->entries = calloc(ENTRIES, sizeof *datagrams->entries);
    datagrams->pieces = calloc(PIECES, sizeof *datagrams->pieces);
    datagrams->buckets = calloc(BUCKETS, sizeof *datagrams->buckets);
    memcpy(datagrams->hash_key, hash_key, sizeof datagrams->hash_key);
    if (gs_block_pool_open(&datagrams->pool, BLOCKS) && datagrams->entries != NULL &&
        datagrams->pieces != NULL && datagrams->buckets != NULL) {
        link_all(datagrams);
        return datagrams;
    }
    gs_datagrams_close(datagrams);
    return NULL;
}

void gs_datagrams_close(struct gs_datagrams *datagrams)
{
    if (datagrams == NULL) return;
    gs_block_pool_close(&datagrams->pool);
    free(datagrams->entries);
    free(datagrams->pieces);
    free(datagrams->buckets);
    free(datagrams);
}

/* ---- which are there ---- */

static uint32_t *bucket_of(struct gs_datagrams *datagrams, const struct gs_datagram_key *key)
{
    struct gs_string bytes = {(const uint8_t *)key, sizeof *key};
    uint64_t hash = gs_hash_bytes(datagrams->hash_key[0], bytes, datagrams->hash_key);

    return &datagrams->buckets[hash & (BUCKETS - 1)];
}

static uint32_t find(struct gs_datagrams *datagrams, const struct gs_datagram_key *key)
{
    uint32_t at = *bucket_of(datagrams, key);

    while (at != NONE && memcmp(&datagrams->entries[at].key, key, sizeof *key) != 0)
        at = datagrams->entries[at].next;
    return at;
}

static void free_pieces(struct gs_datagrams *datagrams, struct gs_datagram *datagram)
{
    uint32_t at = datagram->first_piece;

    while (at != NONE) {
        struct gs_piece *piece = &datagrams->pieces[at];
        uint32_t next = piece->next;

        gs_block_pool_free(&datagrams->pool, piece->chain);
        piece->next = datagrams->free_piece;
        datagrams->free_piece = at;
        at = next;
    }
    gs_block_pool_free(&datagrams->pool, datagram->head_chain);
    datagram->first_piece = NONE;
    datagram->head_chain = GS_NO_BLOCK;
    datagram->piece_count = 0;
}

static void leave_ages(struct gs_datagrams *datagrams, const struct gs_datagram *datagram)
{
    uint32_t *newer =
        datagram->older == NONE ? &datagrams->oldest : &datagrams->entries[datagram->older].newer;
    uint32_t *older =
        datagram->newer == NONE ? &datagrams->newest : &datagrams->entries[datagram->newer].older;

    *newer = datagram->newer;
    *older = datagram->older;
}

static void forget(struct gs_datagrams *datagrams, uint32_t at)
{
    struct gs_datagram *datagram = &datagrams->entries[at];
    uint32_t *to = bucket_of(datagrams, &datagram->key);

    free_pieces(datagrams, datagram);
    while (*to != at)
        to = &datagrams->entries[*to].next;
    *to = datagram->next;
    leave_ages(datagrams, datagram);
    datagram->next = datagrams->free_entry;
    datagrams->free_entry = at;
}

/* What it had of fragments counts as `cause`. */
static void drop_oldest(struct gs_datagrams *datagrams, uint64_t *cause)
{
    *cause += datagrams->entries[datagrams->oldest].piece_count;
    forget(datagrams, datagrams->oldest);
}

static void kill(struct gs_datagrams *datagrams, struct gs_datagram *datagram)
{
    datagrams->counts.overlapping += datagram->piece_count;
    free_pieces(datagrams, datagram);
    datagram->is_dead = true;
}

static uint32_t add(struct gs_datagrams *datagrams, const struct gs_datagram_key *key)
{
    uint32_t *bucket = bucket_of(datagrams, key);
    uint32_t at = datagrams->free_entry;
    struct gs_datagram *datagram = &datagrams->entries[at];

    datagrams->free_entry = datagram->next;
    *datagram = (struct gs_datagram){.key = *key,
                                     .next = *bucket,
                                     .older = datagrams->newest,
                                     .newer = NONE,
                                     .since_ns = INT64_MIN,
                                     .first_piece = NONE,
                                     .total = UINT32_MAX,
                                     .head_chain = GS_NO_BLOCK};
    *bucket = at;
    if (datagrams->newest == NONE)
        datagrams->oldest = at;
    else
        datagrams->entries[datagrams->newest].newer = at;
    datagrams->newest = at;
    return at;
}

/* What the packet before this one began, which time has reached by now: a silence before it is no
 * part of its waiting. */
static void begin_waiting(struct gs_datagrams *datagrams, int64_t now_ns)
{
    for (uint32_t at = datagrams->newest; at != NONE; at = datagrams->entries[at].older) {
        if (datagrams->entries[at].since_ns != INT64_MIN) return;
        datagrams->entries[at].since_ns = now_ns;
    }
}

void gs_datagrams_expire(struct gs_datagrams *datagrams, const struct gs_packet_clock *clock)
{
    begin_waiting(datagrams, clock->now_ns);
    while (datagrams->oldest != NONE) {
        const struct gs_datagram *oldest = &datagrams->entries[datagrams->oldest];

        if (!gs_packet_clock_passed(clock, oldest->since_ns, GS_DATAGRAM_WAIT_NS)) return;
        drop_oldest(datagrams, &datagrams->counts.incomplete);
    }
}

void gs_datagrams_end(struct gs_datagrams *datagrams)
{
    while (datagrams->oldest != NONE)
        drop_oldest(datagrams, &datagrams->counts.incomplete);
}

/* ---- one more fragment ---- */

enum place { NEW_PIECE, KNOWN_PIECE, CONTRADICTORY_PIECE };

/* `to` becomes the link at which the piece belongs. */
static enum place find_place(struct gs_datagrams *datagrams, struct gs_datagram *datagram,
                             const struct gs_fragment *fragment, uint32_t **to)
{
    bool is_beyond = fragment->end > datagram->total;
    bool is_other_end = fragment->is_last && datagram->total != UINT32_MAX;

    if (is_beyond || (is_other_end && fragment->end != datagram->total)) return CONTRADICTORY_PIECE;
    for (*to = &datagram->first_piece; **to != NONE; *to = &datagrams->pieces[**to].next) {
        const struct gs_piece *piece = &datagrams->pieces[**to];

        if (piece->begin == fragment->begin && piece->end == fragment->end)
            return fragment->is_last == (piece->end == datagram->total) ? KNOWN_PIECE
                                                                        : CONTRADICTORY_PIECE;
        if (piece->begin >= fragment->end)
            return fragment->is_last ? CONTRADICTORY_PIECE : NEW_PIECE;
        if (piece->end > fragment->begin) return CONTRADICTORY_PIECE;
    }
    return NEW_PIECE;
}

static uint32_t blocks_of(const struct gs_fragment *fragment)
{
    uint32_t head = fragment->begin == 0 ? gs_blocks_for(fragment->header_length) : 0;
    return head + gs_blocks_for(fragment->captured);
}

/* The oldest go for it; none that is newer than its own datagram. */
static bool make_room(struct gs_datagrams *datagrams, const struct gs_fragment *fragment,
                      uint32_t own)
{
    while (datagrams->free_piece == NONE || datagrams->pool.left < blocks_of(fragment)) {
        if (datagrams->oldest == own) return false;
        drop_oldest(datagrams, &datagrams->counts.no_room);
    }
    return true;
}

static void insert(struct gs_datagrams *datagrams, struct gs_datagram *datagram, uint32_t *to,
                   const struct gs_packet *packet, const struct gs_fragment *fragment)
{
    uint32_t at = datagrams->free_piece;
    struct gs_piece *piece = &datagrams->pieces[at];
    const uint8_t *bytes = packet->bytes + fragment->offset;

    datagrams->free_piece = piece->next;
    *piece = (struct gs_piece){*to, fragment->begin, fragment->end, fragment->captured,
                               gs_block_pool_store(&datagrams->pool, bytes, fragment->captured)};
    *to = at;
    datagram->piece_count++;
    datagram->present += fragment->end - fragment->begin;
    datagram->len += packet->len;
    if (fragment->is_last) datagram->total = fragment->end;
    if (fragment->begin > 0) return;
    datagram->head = *packet;
    datagram->head_fragment = *fragment;
    datagram->head_chain =
        gs_block_pool_store(&datagrams->pool, packet->bytes, fragment->header_length);
}

/* Its first fragment may have more options than the one that was measured for its length. */
static enum gs_whole put_together(struct gs_datagrams *datagrams, uint32_t at,
                                  struct gs_packet *packet, uint8_t *room)
{
    struct gs_datagram *datagram = &datagrams->entries[at];
    bool is_whole = gs_whole_make(datagrams, datagram, packet, room);

    if (is_whole)
        datagrams->counts.datagrams++;
    else
        datagrams->counts.malformed += datagram->piece_count;
    forget(datagrams, at);
    return is_whole ? GS_WHOLE_NOW : GS_WHOLE_WAITING;
}

static void take_part(struct gs_datagrams *datagrams, uint32_t at, const struct gs_packet *packet,
                      const struct gs_fragment *fragment)
{
    struct gs_datagram *datagram = &datagrams->entries[at];
    enum place place = CONTRADICTORY_PIECE;
    uint32_t *to = NULL;

    if (!datagram->is_dead) place = find_place(datagrams, datagram, fragment, &to);
    if (place == KNOWN_PIECE) {
        datagrams->counts.repeated++;
    } else if (place == CONTRADICTORY_PIECE) {
        kill(datagrams, datagram);
        datagrams->counts.overlapping++;
    } else if (datagram->piece_count == GS_DATAGRAM_PIECES ||
               fragment->header_length > GS_DATAGRAM_HEADERS ||
               !make_room(datagrams, fragment, at)) {
        datagrams->counts.no_room++;
    } else {
        insert(datagrams, datagram, to, packet, fragment);
    }
}

enum gs_whole gs_datagrams_take(struct gs_datagrams *datagrams, struct gs_packet *packet,
                                uint32_t depth, uint8_t *room)
{
    struct gs_fragment fragment;
    enum gs_fragment_kind kind = gs_fragment_read(packet, depth, &fragment);
    uint32_t at;

    if (kind == GS_FRAGMENT_NONE) return GS_WHOLE_ALREADY;
    datagrams->counts.fragments++;
    if (kind == GS_FRAGMENT_MALFORMED) {
        datagrams->counts.malformed++;
        return GS_WHOLE_WAITING;
    }
    at = find(datagrams, &fragment.key);
    if (at == NONE && datagrams->free_entry == NONE)
        drop_oldest(datagrams, &datagrams->counts.no_room);
    if (at == NONE) at = add(datagrams, &fragment.key);
    take_part(datagrams, at, packet, &fragment);
    if (datagrams->entries[at].present != datagrams->entries[at].total) return GS_WHOLE_WAITING;
    return put_together(datagrams, at, packet, room);
}

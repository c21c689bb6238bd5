/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that may be segments of TCP are put in order: each comes out once, as it was, and no byte
 * beyond those that were captured is read for it. */
#ifndef GS_TEST_TURNS_H
#define GS_TEST_TURNS_H

#include "../../csrc/reassembly/segments.h"
#include "wholes.h"

struct turns {
    struct gs_segments *segments;
    struct gs_packet_clock clock;
    uint8_t *room;
    uint64_t given, taken;
};

static struct turns open_turns(void)
{
    const uint64_t hash_key[2] = {1, 2};
    struct turns turns = {.segments = gs_segments_open(hash_key),
                          .clock = {INT64_MIN, INT64_MIN},
                          .room = allocate(GS_SEGMENT_BYTES)};

    if (turns.segments == NULL) exit(1);
    return turns;
}

static void take_ready(struct turns *turns)
{
    struct gs_packet packet, outer;
    struct gs_string name;
    size_t bytes;

    while (gs_segments_next(turns->segments, &packet, &outer, &name, turns->room, &bytes)) {
        uint8_t *exactly = allocate(packet.caplen);

        if (bytes < packet.caplen || bytes > GS_SEGMENT_BYTES) abort();
        if (name.length != 4 || memcmp(name.bytes, "eth0", 4) != 0) abort();
        memcpy(exactly, packet.bytes, packet.caplen);
        packet.bytes = exactly;
        packet.outer = NULL;
        check_alone(&packet);
        free(exactly);
        turns->taken++;
    }
}

static void check_turn(struct turns *turns, const struct gs_packet *packet, uint32_t depth)
{
    const struct gs_string name = {(const uint8_t *)"eth0", 4}, other = {(const uint8_t *)"eth", 3};
    enum gs_turn turn = GS_TURN_NEXT;

    gs_packet_clock_see(&turns->clock, packet->timestamp_ns);
    gs_segments_expire(turns->segments, &turns->clock);
    take_ready(turns);
    while (turn == GS_TURN_NEXT) {
        turn = gs_segments_take(turns->segments, packet, depth, &name, &other);
        turns->taken += turn == GS_TURN_NOW;
        take_ready(turns);
    }
    turns->given++;
}

static void end_turns(struct turns *turns)
{
    gs_segments_end(turns->segments);
    take_ready(turns);
    if (turns->given != turns->taken) abort();
    if (turns->segments->pool.left != turns->segments->pool.count) abort();
}

static void close_turns(struct turns *turns)
{
    end_turns(turns);
    gs_segments_close(turns->segments);
    free(turns->room);
}

#endif

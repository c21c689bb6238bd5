/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that may be fragments are put together: what comes of it is a packet as any other, and no
 * byte beyond those that were captured is read for it, nor beyond the whole. */
#ifndef GS_TEST_WHOLES_H
#define GS_TEST_WHOLES_H

#include "../../csrc/reassembly/datagrams.h"
#include "checks.h"

static struct gs_datagrams *open_datagrams(void)
{
    const uint64_t hash_key[2] = {1, 2};
    struct gs_datagrams *datagrams = gs_datagrams_open(hash_key);

    if (datagrams == NULL) exit(1);
    return datagrams;
}

static uint8_t *allocate(size_t bytes)
{
    uint8_t *memory = malloc(bytes > 0 ? bytes : 1);

    if (memory == NULL) exit(1);
    return memory;
}

static void check_whole(struct gs_datagrams *datagrams, struct gs_packet packet, uint32_t depth)
{
    uint8_t *room = allocate(GS_DATAGRAM_BYTES);

    if (gs_datagrams_take(datagrams, &packet, depth, room) == GS_WHOLE_NOW) {
        uint8_t *exactly = allocate(packet.caplen);

        memcpy(exactly, room, packet.caplen);
        packet.bytes = exactly;
        packet.outer = NULL;
        check_alone(&packet);
        free(exactly);
    }
    free(room);
}

/* Each fragment has one end: in a datagram, or counted. Nothing is left of them. */
static void end_datagrams(struct gs_datagrams *datagrams)
{
    const struct gs_reassembled *counts = &datagrams->counts;
    uint64_t dropped;

    gs_datagrams_end(datagrams);
    dropped = counts->incomplete + counts->no_room + counts->overlapping + counts->malformed +
              counts->repeated;
    if (dropped + 2 * counts->datagrams > counts->fragments) abort();
    if (datagrams->pool.left != datagrams->pool.count) abort();
    datagrams->counts = (struct gs_reassembled){0};
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Packet sockets that outlive who reads them: somebody who may has opened them with their rings,
 * and keeps them; readers map a ring, one after another, and go on where the one before was. */
#ifndef GS_CAPTURE_PACKET_RING_H
#define GS_CAPTURE_PACKET_RING_H

#include "ring.h"

/* The ring of a socket that has none, as the configuration says. It is not mapped. */
int gs_packet_ring_make(int descriptor, const struct gs_live_config *config,
                        struct gs_error *error);

/* Maps the ring that a socket has. */
int gs_packet_ring_map(struct gs_ring_device *device, const struct gs_live_config *config,
                       struct gs_error *error);

/* What lies in a ring that another process has read. */
struct gs_packet_ring_rest {
    uint32_t block;    /* to go on at */
    uint64_t packets;  /* from there on */
    uint64_t given_up; /* of a block that was begun: how many of them were read nobody knows */
};

/* Finds it and gives back what was begun. Waits at most two retire timeouts, mostly not at all. */
struct gs_packet_ring_rest gs_packet_ring_adopt(const struct gs_ring_device *device,
                                                int64_t retire_timeout_ns);

#endif

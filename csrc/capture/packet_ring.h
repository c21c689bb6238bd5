/* SPDX-License-Identifier: Apache-2.0 */
/* Packet sockets that outlive who reads them: somebody who may has opened them with their rings,
 * and keeps them; readers map a ring, one after another, and go on where the one before was. */
#ifndef GS_CAPTURE_PACKET_RING_H
#define GS_CAPTURE_PACKET_RING_H

#include "ring.h"

/* Newer than some C libraries. */
#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

/* The ring of a socket that has none, as the configuration says. It is not mapped. */
int gs_packet_ring_make(int descriptor, const struct gs_live_config *config,
                        struct gs_error *error);

/* Maps the ring that a socket has. */
int gs_packet_ring_map(struct gs_ring_device *device, const struct gs_live_config *config,
                       struct gs_error *error);

/* Where to go on in a ring that another process has read: at the oldest block that was not given
 * back. Waits at most two retire timeouts, mostly not at all. */
uint32_t gs_packet_ring_next(const struct gs_ring_device *device, int64_t retire_timeout_ns);

/* Packets in the ring from a block on that no reader has taken. */
uint64_t gs_packet_ring_rest(const struct gs_ring_device *device, uint32_t block);

#endif

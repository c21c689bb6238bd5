/* SPDX-License-Identifier: Apache-2.0 */
/* Packet sockets that outlive who reads them: somebody who may has opened them with their rings,
 * and keeps them; readers map a ring, one after another, and go on where the one before was. */
#ifndef GS_CAPTURE_PACKET_RING_H
#define GS_CAPTURE_PACKET_RING_H

#include "ring.h"

/* Newer than some C libraries. */
#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
bool gs_is_raw_packet_socket(int descriptor);
/* Whether a packet socket has a ring: whose it is would get nothing more once its filter is closed.
 */
bool gs_packet_ring_is_there(int descriptor);

#endif

/* The ring of a socket that has none, as the configuration says. It is not mapped. */
int gs_packet_ring_make(int descriptor, const struct gs_live_config *config,
                        struct gs_error *error);

/* Maps the ring that a socket has. */
int gs_packet_ring_map(struct gs_ring_device *device, const struct gs_live_config *config,
                       struct gs_error *error);

/* Goes on in a ring that another process has read: at the oldest block that was not given back.
 * What lies there was received, and what found no room since it was asked is dropped. Waits at most
 * two retire timeouts, mostly not at all. */
void gs_packet_ring_go_on(struct gs_ring_device *device, int64_t retire_timeout_ns);

/* Brings the kernel's counters up to date, and writes down what it has dropped. */
void gs_packet_ring_count(struct gs_ring_device *device);

/* And its socket. */
void gs_packet_ring_close(const struct gs_ring_device *device);

bool gs_is_raw_packet_socket(int descriptor);
/* Whether a packet socket has a ring: whose it is would get nothing more once its filter is closed.
 */
bool gs_packet_ring_is_there(int descriptor);

#endif

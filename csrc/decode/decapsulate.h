/* SPDX-License-Identifier: Apache-2.0 */
/* Decapsulation: the packets of a burst as a query sees them that opens tunnels. */
#ifndef GS_DECAPSULATE_H
#define GS_DECAPSULATE_H

#include "gs_packet.h"
#include "gs_tunnels.h"

/* Packets, by what became of them. */
struct gs_decapsulated {
    uint64_t opened;   /* an inner packet took their place */
    uint64_t unopened; /* of these and of others: a tunnel with no packet in it that can be read */
    uint64_t too_deep; /* the same: a tunnel further in than the query goes */
};

/* The packet becomes the one that is in it, if it is a tunnel of these that can be opened; `depth`
 * counts how often that was so. False: it stays what it is, and is counted if it is a tunnel. */
bool gs_decapsulate_once(const struct gs_tunnels *tunnels, struct gs_packet *packet,
                         uint32_t *depth, struct gs_decapsulated *counts);

/* `opened` gets as many as `packets`: the innermost that is reached, which knows the packet that
 * was captured (outer), or that one itself. Packets are decoded as deep as GS_DEPTH_TRANSPORT; the
 * result is good as long as they are. */
void gs_decapsulate(const struct gs_tunnels *tunnels, const struct gs_packet *packets,
                    uint32_t count, struct gs_packet *opened, struct gs_decapsulated *counts);

#endif

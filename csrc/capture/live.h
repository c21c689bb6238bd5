/* SPDX-License-Identifier: Apache-2.0 */
/* How a live link is to be captured. */
#ifndef GS_CAPTURE_LIVE_H
#define GS_CAPTURE_LIVE_H

#include "../base/error.h"
#include "gs_types.h"

struct gs_ring_device; /* ring.h */
struct gs_fanout_group;
struct sock_filter; /* linux/filter.h */

/* A classic BPF program for devices of one link type. */
struct gs_link_filter {
    uint32_t link_type; /* LINKTYPE_ number */
    uint32_t length;    /* instructions */
    const struct sock_filter *instructions;
};

/* A live link. */
struct gs_live_config {
    const char *device;   /* "eth0" */
    uint32_t block_bytes; /* of the ring; a power of two, at least a page */
    uint32_t block_count;
    uint32_t retire_timeout_ms; /* after which the kernel hands over a block that is not full */
    uint32_t snap_length;       /* bytes of a packet that are captured */
    bool promiscuous;           /* frames for others, too */
    bool outgoing;              /* frames that this host sends, too */
    bool takes_prefilter;       /* gs_engine_set_prefilter is of it, too */
    const struct gs_link_filter *filters; /* needed only while it is opened */
    uint32_t filter_count;
    /* Of one of several rings that share the device's packets by flow (fanout.h); owned by the
     * caller. NULL: it takes all packets. */
    struct gs_fanout_group *fanout_group;
    uint32_t spare_sockets; /* of such a ring: how often the device may come back */
    /* `socket` is a packet socket that somebody who may has opened, and bound to the device: it is
     * duplicated, and its ring is made here, which needs no capability. Not of a group. */
    bool has_socket;
    int socket;
    /* Of gs_packet_sockets_open: its ring may have had a reader before, where we go on. */
    bool is_adopted;
    bool is_shared; /* such a one shares the link's packets with others, whose group it is of */
    bool counts_for_device; /* it is the first of these, or alone */
    bool is_renewed; /* of these: one that loses its device is handed another (gs_engine_renew) */
    const char *libpcap; /* its shared object, where it is to read the device; NULL: a ring does.
                          * Needed only while it is opened */
    struct gs_ring_device *ring_device; /* read in the place of the device's own; NULL, but for
                                         * tests. Owned by the caller */
};

/* Packet sockets on a device, each with its ring, which take nothing yet: `count` of them share its
 * packets by flow. Needs CAP_NET_RAW; whoever reads them (is_adopted) does not. GS_ERROR with a
 * message that does not name the device; none is open then. */
int gs_packet_sockets_open(const struct gs_live_config *config, uint32_t count, int *descriptors,
                           struct gs_error *error);

/* Rings may come to it from different threads. */
struct gs_fanout_group *gs_fanout_group_new(void);
void gs_fanout_group_free(struct gs_fanout_group *group);

#endif

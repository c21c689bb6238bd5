/* SPDX-License-Identifier: Apache-2.0 */
/* A TPACKET_V3 ring: blocks of memory that the kernel fills with packets and hands over, one after
 * the other, when they are full or the retire timeout has passed. Where they come from is a device:
 * a packet socket, or whatever a live link's configuration gives in its place. How they are walked
 * (ring.c) is the same for all. */
#ifndef GS_CAPTURE_RING_H
#define GS_CAPTURE_RING_H

#include <linux/if_packet.h>

#include "capture.h"

/* Room in front of each packet for the tag that the kernel has taken out of it. */
#define GS_RING_TAG_BYTES 4
/* Our own, in a block's status: how many of its packets a reader has taken, so that none takes them
 * again that comes after it. The kernel looks at TP_STATUS_USER alone, and writes all of it when it
 * hands the block over the next time. */
#define GS_RING_TAKEN_SHIFT 8

/* Since the device was opened. */
struct gs_ring_counts {
    uint64_t received; /* dropped ones among them, as the kernel counts */
    uint64_t dropped;
    uint64_t freezes;
    uint64_t nic_dropped;
    uint64_t given_up;       /* of a block that the reader before has begun */
    uint64_t taken_before;   /* by all readers before, since the ring was made */
    uint64_t dropped_before; /* the kernel's drops that they have heard of */
};

/* Our own, in the room that the kernel leaves us in each block: what a reader that is killed has
 * counted is there for the next one. */
struct gs_ring_tally {
    uint64_t taken; /* packets of all blocks up to this one */
    /* in the first block alone: */
    uint64_t dropped;   /* all that the kernel has told of */
    uint64_t link_type; /* LINKTYPE_ number of all that is in the ring; 0: nobody has read it */
};

struct gs_ring_device;

struct gs_ring_device_ops {
    /* Until a block may have been handed over: GS_OK; GS_AGAIN: not within timeout_ms, or a signal
     * came; GS_ERROR. Negative: forever. */
    int (*wait)(struct gs_ring_device *device, int timeout_ms, struct gs_error *error);
    /* Brings counts and link_state up to date; takes up a link that has come back. */
    void (*refresh)(struct gs_ring_device *device);
    /* With is_back, when all that the ring has is read: it begins anew. */
    void (*take_up)(struct gs_ring_device *device);
    /* The device is gone or has another name: goes on with the ring of this socket, of
     * gs_packet_sockets_open, whose counters go on, too; -1: asks whether it could. GS_AGAIN: what
     * was captured before is not read out yet. NULL where there is no other ring. */
    int (*renew)(struct gs_ring_device *device, int socket, struct gs_error *error);
    /* From now on the kernel asks this program first; of no instructions: none. NULL where there
     * is no kernel to ask. */
    int (*prefilter)(struct gs_ring_device *device, const struct sock_filter *instructions,
                     uint32_t length, struct gs_error *error);
    /* Nothing more comes in. */
    void (*finish)(struct gs_ring_device *device);
    /* After finish: no block will be handed over any more. */
    bool (*is_drained)(const struct gs_ring_device *device);
    /* Brings `longest` up to date. */
    void (*measure)(struct gs_ring_device *device);
    void (*close)(struct gs_ring_device *device);
};

/* What all devices have; the first member of each. */
struct gs_ring_device {
    const struct gs_ring_device_ops *ops;
    uint8_t *blocks;
    uint32_t block_bytes, block_count;
    uint32_t first_block; /* that is read */
    uint32_t link_type;   /* LINKTYPE_ number */
    uint32_t snap_length;
    uint32_t longest;    /* frame that the device sends and takes */
    uint8_t link;        /* enum gs_link */
    uint8_t link_state;  /* enum gs_link_state */
    bool is_back;        /* the link was gone, and can be taken up with another ring */
    bool kernel_filters; /* packets without a tag have passed the filter */
    bool has_tallies;    /* the ring has room for them */
    uint64_t taken;      /* with tallies: of all blocks before the one that is next, or held */
    int descriptor;      /* to wait on; -1: none */
    struct gs_ring_counts counts;
};

/* packet_socket.c: an AF_PACKET socket on a device of this host. GS_ERROR with a message that does
 * not name the device. */
int gs_packet_socket_open(const struct gs_live_config *config, struct gs_ring_device **device,
                          struct gs_error *error);

static inline struct tpacket_block_desc *gs_ring_block(const struct gs_ring_device *device,
                                                       uint32_t index)
{
    return (struct tpacket_block_desc *)(device->blocks + (size_t)index * device->block_bytes);
}

/* The kernel writes a block, then its status; whoever sees the status sees the block. */
static inline bool gs_ring_is_handed_over(struct tpacket_block_desc *block)
{
    return __atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER;
}

/* The kernel begins what is ours behind its header, at a multiple of 8. */
static inline struct gs_ring_tally *gs_ring_tally(const struct gs_ring_device *device,
                                                  uint32_t index)
{
    size_t header = (sizeof(struct tpacket_block_desc) + 7) / 8 * 8;
    return (struct gs_ring_tally *)((uint8_t *)gs_ring_block(device, index) + header);
}

static inline uint32_t gs_ring_taken(struct tpacket_block_desc *block)
{
    return __atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) >> GS_RING_TAKEN_SHIFT;
}

/* Before they are touched. */
static inline void gs_ring_take(struct tpacket_block_desc *block, uint32_t packets)
{
    __atomic_fetch_add(&block->hdr.bh1.block_status, packets << GS_RING_TAKEN_SHIFT,
                       __ATOMIC_RELEASE);
}

static inline void gs_ring_give_back(struct tpacket_block_desc *block)
{
    __atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}

#endif

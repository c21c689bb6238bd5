/* SPDX-License-Identifier: Apache-2.0 */
/* A ring without a kernel: tests write packets into blocks as af_packet.c does, and the code that
 * walks a real ring walks this one. It does what the kernel does where it matters: a block is
 * handed over when it is full or retired, packets are dropped while the next block is held. */
#ifndef GS_CAPTURE_MOCK_RING_H
#define GS_CAPTURE_MOCK_RING_H

#include "gs_types.h"

struct gs_mock_ring;
struct gs_ring_device;

struct gs_mock_packet {
    int64_t timestamp_ns;
    const uint8_t *bytes; /* caplen of them, without the outer VLAN tag if has_tag */
    uint32_t caplen, len;
    bool has_tag;
    uint16_t tag_type, tag_control;
};

/* NULL: no memory. `link_type` is a LINKTYPE_ number. */
struct gs_mock_ring *gs_mock_ring_new(uint32_t block_bytes, uint32_t block_count,
                                      uint32_t link_type);
void gs_mock_ring_free(struct gs_mock_ring *ring);
/* A packet comes in; false: it was dropped, and counted. */
bool gs_mock_ring_receive(struct gs_mock_ring *ring, const struct gs_mock_packet *packet);
/* The retire timeout passes: a block that is not empty is handed over. */
void gs_mock_ring_retire(struct gs_mock_ring *ring);
void gs_mock_ring_set_link_state(struct gs_mock_ring *ring, uint8_t link_state);
/* The open block's memory, for tests that damage it. */
uint8_t *gs_mock_ring_open_block(struct gs_mock_ring *ring);

/* For struct gs_live_config: the ring, as whoever reads it sees it. */
struct gs_ring_device *gs_mock_ring_device(struct gs_mock_ring *ring);

#endif

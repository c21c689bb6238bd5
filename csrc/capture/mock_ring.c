/* SPDX-License-Identifier: Apache-2.0 */
#include "mock_ring.h"

#include <stdlib.h>
#include <string.h>

#include "ring.h"

#define ALIGN(size) (((uint32_t)(size) + 15u) & ~15u)
/* Where the kernel puts the link header: behind its own header and the address, aligned so that
 * the network header of Ethernet is. */
#define HEADERS_BYTES (sizeof(struct tpacket3_hdr) + sizeof(struct sockaddr_ll))
#define FRAME_OFFSET ((uint16_t)(ALIGN(HEADERS_BYTES + 16) - 14 + GS_RING_TAG_BYTES))
#define FIRST_PACKET_OFFSET ALIGN(sizeof(struct tpacket_block_desc))

struct gs_mock_ring {
    struct gs_ring_device device; /* first: gs_ring_capture is given a pointer to it */
    uint32_t open_block;
    uint32_t filled_bytes; /* of it; 0: it is still held, the ring is frozen */
    uint64_t sequence;
    bool is_finished;
    struct gs_ring_counts counts; /* told at the next refresh, as the kernel's are */
    uint8_t link_state;
};

static struct tpacket_block_desc *current(const struct gs_mock_ring *ring)
{
    return gs_ring_block(&ring->device, ring->open_block);
}

/* False: it has not been given back. */
static bool open_block(struct gs_mock_ring *ring)
{
    struct tpacket_block_desc *block = current(ring);
    ring->filled_bytes = 0;
    if (gs_ring_is_handed_over(block)) return false;
    memset(block, 0, sizeof *block);
    block->version = TPACKET_V3;
    block->hdr.bh1.offset_to_first_pkt = FIRST_PACKET_OFFSET;
    block->hdr.bh1.seq_num = ++ring->sequence;
    ring->filled_bytes = FIRST_PACKET_OFFSET;
    return true;
}

static void hand_over(struct gs_mock_ring *ring)
{
    struct tpacket_block_desc *block = current(ring);
    block->hdr.bh1.blk_len = ring->filled_bytes;
    __atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_USER, __ATOMIC_RELEASE);
    ring->open_block = (ring->open_block + 1) % ring->device.block_count;
    if (!open_block(ring)) ring->counts.freezes++;
}

void gs_mock_ring_retire(struct gs_mock_ring *ring)
{
    if (ring->filled_bytes > FIRST_PACKET_OFFSET) hand_over(ring);
}

static bool drop(struct gs_mock_ring *ring)
{
    ring->counts.dropped++;
    return false;
}

static void write_packet(struct gs_mock_ring *ring, const struct gs_mock_packet *packet,
                         uint32_t size)
{
    uint8_t *at = (uint8_t *)current(ring) + ring->filled_bytes;
    struct tpacket3_hdr *header = (struct tpacket3_hdr *)at;
    *header = (struct tpacket3_hdr){
        .tp_next_offset = size,
        .tp_sec = (uint32_t)(packet->timestamp_ns / 1000000000),
        .tp_nsec = (uint32_t)(packet->timestamp_ns % 1000000000),
        .tp_snaplen = packet->caplen,
        .tp_len = packet->len,
        .tp_mac = FRAME_OFFSET,
        .tp_status = packet->has_tag ? TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID : 0,
        .hv1 = {.tp_vlan_tci = packet->tag_control, .tp_vlan_tpid = packet->tag_type}};
    memcpy(at + FRAME_OFFSET, packet->bytes, packet->caplen);
    ring->filled_bytes += size;
    current(ring)->hdr.bh1.num_pkts++;
}

bool gs_mock_ring_receive(struct gs_mock_ring *ring, const struct gs_mock_packet *packet)
{
    uint32_t size = ALIGN(FRAME_OFFSET + packet->caplen);
    if (ring->is_finished) return false;
    ring->counts.received++;
    if (size > ring->device.block_bytes - FIRST_PACKET_OFFSET) return drop(ring);
    if (ring->filled_bytes > ring->device.block_bytes - size) hand_over(ring);
    if (ring->filled_bytes == 0 && !open_block(ring)) return drop(ring);
    write_packet(ring, packet, size);
    return true;
}

void gs_mock_ring_set_link_state(struct gs_mock_ring *ring, uint8_t link_state)
{
    ring->link_state = link_state;
}

uint8_t *gs_mock_ring_open_block(struct gs_mock_ring *ring)
{
    return (uint8_t *)current(ring);
}

/* ---- the device ---- */

/* Nothing comes while somebody waits: the test goes on when it is told so. */
static int mock_wait(struct gs_ring_device *device, int timeout_ms, struct gs_error *error)
{
    (void)device, (void)timeout_ms, (void)error;
    return GS_AGAIN;
}

static void mock_refresh(struct gs_ring_device *device)
{
    struct gs_mock_ring *ring = (struct gs_mock_ring *)device;
    device->counts = ring->counts;
    device->link_state = ring->link_state;
}

static void mock_finish(struct gs_ring_device *device)
{
    struct gs_mock_ring *ring = (struct gs_mock_ring *)device;
    gs_mock_ring_retire(ring);
    ring->is_finished = true;
}

static bool mock_is_drained(const struct gs_ring_device *device)
{
    (void)device;
    return true;
}

/* It is as long as it was made. */
static void mock_measure(struct gs_ring_device *device)
{
    (void)device;
}

/* It is its owner's. */
static void mock_close(struct gs_ring_device *device)
{
    (void)device;
}

static const struct gs_ring_device_ops mock_ops = {
    .wait = mock_wait,
    .refresh = mock_refresh,
    .finish = mock_finish,
    .is_drained = mock_is_drained,
    .measure = mock_measure,
    .close = mock_close,
};

struct gs_mock_ring *gs_mock_ring_new(uint32_t block_bytes, uint32_t block_count,
                                      uint32_t link_type)
{
    struct gs_mock_ring *ring = calloc(1, sizeof *ring);
    if (ring == NULL) return NULL;
    ring->device = (struct gs_ring_device){.ops = &mock_ops,
                                           .block_bytes = block_bytes,
                                           .block_count = block_count,
                                           .link_type = link_type,
                                           .longest = UINT32_MAX,
                                           .link = gs_link_of_linktype(link_type),
                                           .link_state = GS_LINK_STATE_UP,
                                           .descriptor = -1};
    ring->link_state = GS_LINK_STATE_UP;
    ring->device.blocks = calloc(block_count, block_bytes);
    if (ring->device.blocks == NULL) {
        free(ring);
        return NULL;
    }
    (void)open_block(ring);
    return ring;
}

void gs_mock_ring_free(struct gs_mock_ring *ring)
{
    if (ring == NULL) return;
    free(ring->device.blocks);
    free(ring);
}

struct gs_ring_device *gs_mock_ring_device(struct gs_mock_ring *ring)
{
    return &ring->device;
}

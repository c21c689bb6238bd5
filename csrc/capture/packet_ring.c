/* SPDX-License-Identifier: Apache-2.0 */
#include "packet_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../base/clocks.h"

#define FRAME_BYTES 2048 /* TPACKET_V3 packs packets by their size; the kernel wants a number */
#define LOOK_NS 1000000
#define NONE UINT32_MAX

static int set(int descriptor, int option, int value, struct gs_error *error)
{
    if (setsockopt(descriptor, SOL_PACKET, option, &value, sizeof value) == 0) return GS_OK;
    return gs_fail(error, GS_ERROR, "packet socket option %d: %s", option, strerror(errno));
}

int gs_packet_ring_make(int descriptor, const struct gs_live_config *config, struct gs_error *error)
{
    struct tpacket_req3 request = {
        .tp_block_size = config->block_bytes,
        .tp_block_nr = config->block_count,
        .tp_frame_size = FRAME_BYTES,
        .tp_frame_nr = config->block_bytes / FRAME_BYTES * config->block_count,
        .tp_retire_blk_tov = config->retire_timeout_ms,
        .tp_sizeof_priv = sizeof(struct gs_ring_tally),
    };
    GS_RETURN_IF_ERROR(set(descriptor, PACKET_VERSION, TPACKET_V3, error));
    GS_RETURN_IF_ERROR(set(descriptor, PACKET_RESERVE, GS_RING_TAG_BYTES, error));
    if (setsockopt(descriptor, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) == 0)
        return GS_OK;
    return gs_fail(error, GS_ERROR, "a ring of %u blocks of %u bytes: %s", config->block_count,
                   config->block_bytes, strerror(errno));
}

int gs_packet_ring_map(struct gs_ring_device *device, const struct gs_live_config *config,
                       struct gs_error *error)
{
    size_t size = (size_t)config->block_bytes * config->block_count;
    void *blocks =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, device->descriptor, 0);
    if (blocks == MAP_FAILED && errno == EINVAL)
        return gs_fail(error, GS_ERROR, "the ring that it has is not of %u blocks of %u bytes",
                       config->block_count, config->block_bytes);
    if (blocks == MAP_FAILED)
        return gs_fail(error, GS_ERROR, "mapping the ring: %s", strerror(errno));
    device->blocks = blocks;
    device->block_bytes = config->block_bytes;
    device->block_count = config->block_count;
    device->has_tallies = true;
    return GS_OK;
}

void gs_packet_ring_close(const struct gs_ring_device *device)
{
    if (device->blocks != NULL)
        munmap(device->blocks, (size_t)device->block_bytes * device->block_count);
    if (device->descriptor >= 0) close(device->descriptor);
}

/* ---- where the reader before was ---- */

static struct tpacket_hdr_v1 *header(const struct gs_ring_device *device, uint32_t index)
{
    return &gs_ring_block(device, index)->hdr.bh1;
}

static uint64_t number(const struct gs_ring_device *device, uint32_t index)
{
    return __atomic_load_n((uint64_t *)&header(device, index)->seq_num, __ATOMIC_ACQUIRE);
}

static uint32_t packets_of(const struct gs_ring_device *device, uint32_t index)
{
    return __atomic_load_n(&header(device, index)->num_pkts, __ATOMIC_ACQUIRE);
}

/* The kernel numbers blocks when it opens them. */
static uint32_t newest(const struct gs_ring_device *device)
{
    uint32_t found = 0;
    for (uint32_t i = 1; i < device->block_count; i++)
        if (number(device, i) > number(device, found)) found = i;
    return found;
}

static uint32_t least_handed_over(const struct gs_ring_device *device)
{
    uint32_t found = NONE;
    for (uint32_t i = 0; i < device->block_count; i++)
        if (gs_ring_is_handed_over(gs_ring_block(device, i)) &&
            (found == NONE || number(device, i) < number(device, found)))
            found = i;
    return found;
}

/* While we look the kernel hands over more, which a look may pass by; what is older than the block
 * found was handed over before it, so that a second look sees it. */
static uint32_t oldest(const struct gs_ring_device *device)
{
    uint32_t first = least_handed_over(device);
    return first == NONE ? NONE : least_handed_over(device);
}

/* Where nothing is handed over, the newest block is the open one, or all were given back after the
 * ring was full, and the kernel has not yet opened the one behind it. It tells when a packet comes,
 * or with its timer. */
static uint32_t find_next(const struct gs_ring_device *device, int64_t retire_timeout_ns)
{
    const struct timespec a_look = {.tv_nsec = LOOK_NS};
    int64_t ends_ns = gs_monotonic_ns() + 2 * retire_timeout_ns + 20 * LOOK_NS;
    uint64_t number_before = number(device, newest(device));
    uint32_t packets_before = packets_of(device, newest(device));
    for (;;) {
        uint32_t open = newest(device), packets = packets_of(device, open);
        bool is_known = packets == 0 || packets != packets_before ||
                        number(device, open) != number_before || gs_monotonic_ns() >= ends_ns;
        uint32_t first = oldest(device); /* after all else was seen: or one was handed over since */
        if (first != NONE) return first;
        if (is_known) return open;
        (void)nanosleep(&a_look, NULL);
    }
}

static uint64_t rest_from(const struct gs_ring_device *device, uint32_t block)
{
    uint64_t found = 0, before = number(device, block) - 1;
    for (uint32_t i = 0; i < device->block_count; i++) {
        uint32_t at = (block + i) % device->block_count;
        if (number(device, at) != ++before) break; /* not opened yet since */
        found += packets_of(device, at) - gs_ring_taken(gs_ring_block(device, at));
        if (!gs_ring_is_handed_over(gs_ring_block(device, at))) break;
    }
    return found;
}

static uint64_t taken_before(const struct gs_ring_device *device, uint32_t block)
{
    uint32_t before = (block + device->block_count - 1) % device->block_count;
    return gs_ring_tally(device, before)->taken;
}

/* Reading them sets the kernel's counters to zero: who is killed before they are written down,
 * which comes next, takes along the drops since they were read before. */
void gs_packet_ring_count(struct gs_ring_device *device)
{
    struct tpacket_stats_v3 counts;
    socklen_t size = sizeof counts;
    if (getsockopt(device->descriptor, SOL_PACKET, PACKET_STATISTICS, &counts, &size) != 0) return;
    device->counts.received += counts.tp_packets;
    device->counts.dropped += counts.tp_drops;
    device->counts.freezes += counts.tp_freeze_q_cnt;
    gs_ring_tally(device, 0)->dropped = device->counts.dropped_before + device->counts.dropped;
}

/* What is in the ring was received by us, and what found no room was lost to us: the reader before
 * may have told of neither. The kernel's counters are read after the ring, so that no packet is
 * said to be unread that is not there. */
void gs_packet_ring_go_on(struct gs_ring_device *device, int64_t retire_timeout_ns)
{
    struct gs_ring_counts *counts = &device->counts;
    uint32_t block = find_next(device, retire_timeout_ns);
    uint64_t rest = rest_from(device, block);
    device->first_block = block;
    device->taken = taken_before(device, block);
    counts->taken_before = device->taken + gs_ring_taken(gs_ring_block(device, block));
    counts->dropped_before = gs_ring_tally(device, 0)->dropped;
    gs_packet_ring_count(device);
    counts->received = counts->dropped + rest;
}

bool gs_is_raw_packet_socket(int descriptor)
{
    int type = 0, domain = 0;
    socklen_t type_size = sizeof type, domain_size = sizeof domain;
    return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 &&
           getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) == 0 &&
           type == SOCK_RAW && domain == AF_PACKET;
}

/* Its version can be chosen until it is made. */
bool gs_packet_ring_is_there(int descriptor)
{
    int version = TPACKET_V3;
    return setsockopt(descriptor, SOL_PACKET, PACKET_VERSION, &version, sizeof version) &&
           errno == EBUSY;
}

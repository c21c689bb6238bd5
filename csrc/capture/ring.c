/* SPDX-License-Identifier: Apache-2.0 */
/* The capture method for live links: walks the blocks of a ring and gives their packets where they
 * lie. A block goes back to the kernel when its last burst has been released; until then nothing of
 * it is copied, but for the twelve bytes of addresses that make room for a VLAN tag. */
#include "ring.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESSES_BYTES 12 /* of an Ethernet frame: destination and source */
#define DEFAULT_TAG_TYPE 0x8100
#define PREFETCH_BYTES 256 /* as far as headers go, mostly */

struct gs_capture {
    struct gs_ring_device *device;
    struct gs_capture_interface interface;
    uint32_t block;         /* which is next, or held */
    uint32_t packets_left;  /* in the block that is held */
    uint32_t packet_offset; /* of the next of them in the block */
    bool holds_block;
    bool is_finished;
    bool is_measured; /* the device, since the block was taken */
    uint64_t records;
    uint64_t bytes; /* of packets, as captured */
    uint64_t oversized;
};

/* ---- blocks ---- */

static bool ring_has_unread(const struct gs_capture *capture)
{
    return capture->packets_left > 0 ||
           (!capture->holds_block &&
            gs_ring_is_handed_over(gs_ring_block(capture->device, capture->block)));
}

/* The kernel counts the packets of the block that it fills where we can see it, and sets the count
 * back when it opens the block, which it does as soon as the one before is handed over: it counts a
 * packet before it stamps it. A count that is old says that there is something, which is never
 * wrong. */
static bool ring_is_empty(const struct gs_capture *capture)
{
    if (capture->packets_left > 0 || capture->holds_block || ring_has_unread(capture)) return false;
    struct tpacket_block_desc *open = gs_ring_block(capture->device, capture->block);
    return __atomic_load_n(&open->hdr.bh1.num_pkts, __ATOMIC_ACQUIRE) == 0;
}

/* Before the block is given back: who is killed in between leaves one whose packets are all taken,
 * and the next reader writes the same again. */
static void tally(struct gs_ring_device *device, uint32_t index)
{
    device->taken += gs_ring_block(device, index)->hdr.bh1.num_pkts;
    gs_ring_tally(device, index)->taken = device->taken;
}

static void give_back(struct gs_capture *capture)
{
    if (capture->device->has_tallies) tally(capture->device, capture->block);
    gs_ring_give_back(gs_ring_block(capture->device, capture->block));
    capture->block = (capture->block + 1) % capture->device->block_count;
    capture->holds_block = false;
}

/* The next packet's header, which lies in the block with all that it describes, or NULL. */
static inline struct tpacket3_hdr *header_at(uint8_t *block, uint32_t size, uint32_t offset,
                                             bool has_next)
{
    if (offset > size || size - offset < sizeof(struct tpacket3_hdr) || offset % 8 != 0)
        return NULL;
    struct tpacket3_hdr *header = (struct tpacket3_hdr *)(block + offset);
    uint32_t room = size - offset;
    if (header->tp_mac > room || header->tp_snaplen > room - header->tp_mac) return NULL;
    /* or a walk would not end */
    if (has_next && (header->tp_next_offset < sizeof *header || header->tp_next_offset > size))
        return NULL;
    return header;
}

static struct tpacket3_hdr *next_header(const struct gs_capture *capture)
{
    return header_at((uint8_t *)gs_ring_block(capture->device, capture->block),
                     capture->device->block_bytes, capture->packet_offset,
                     capture->packets_left > 1);
}

/* Those that the reader before us has taken; where the block is damaged, the next burst says it. */
static void skip_taken(struct gs_capture *capture, uint32_t taken)
{
    struct tpacket3_hdr *header;
    while (taken-- > 0 && capture->packets_left > 0 && (header = next_header(capture)) != NULL) {
        capture->packet_offset += header->tp_next_offset;
        capture->packets_left--;
    }
}

static void take_block(struct gs_capture *capture)
{
    struct tpacket_block_desc *block = gs_ring_block(capture->device, capture->block);
    const struct tpacket_hdr_v1 *header = &block->hdr.bh1;
    capture->holds_block = true;
    capture->is_measured = false;
    capture->packets_left = header->num_pkts;
    capture->packet_offset = header->offset_to_first_pkt;
    skip_taken(capture, gs_ring_taken(block));
}

/* The link was gone and is back, and nothing is left that was captured before. */
static void take_up(struct gs_capture *capture)
{
    capture->device->ops->take_up(capture->device);
    capture->block = 0;
}

/* Nothing comes, and nothing will. */
static bool is_over(const struct gs_capture *capture)
{
    if (capture->is_finished && capture->device->ops->is_drained(capture->device)) return true;
    return capture->device->link_state == GS_LINK_STATE_LOST;
}

/* GS_OK: a block is held that has packets left. */
static int need_block(struct gs_capture *capture, int timeout_ms, struct gs_error *error)
{
    while (capture->packets_left == 0) {
        if (capture->holds_block) give_back(capture);
        bool ends = is_over(capture); /* asked before what is unread is looked for */
        if (!ring_has_unread(capture)) {
            if (ends) return GS_END;
            if (capture->device->is_back && !capture->is_finished) take_up(capture);
            GS_RETURN_IF_ERROR(capture->device->ops->wait(capture->device, timeout_ms, error));
            if (!ring_has_unread(capture)) return GS_AGAIN;
        }
        take_block(capture);
    }
    return GS_OK;
}

/* ---- packets ---- */

/* The frame as it was on the wire: the kernel has room before it for the tag that it took out. */
static void put_tag_back(struct gs_packet *packet, uint8_t *bytes,
                         const struct tpacket3_hdr *header)
{
    uint16_t type =
        header->tp_status & TP_STATUS_VLAN_TPID_VALID ? header->hv1.tp_vlan_tpid : DEFAULT_TAG_TYPE;
    uint16_t tag[2] = {__builtin_bswap16(type),
                       __builtin_bswap16((uint16_t)header->hv1.tp_vlan_tci)};
    memmove(bytes - sizeof tag, bytes, ADDRESSES_BYTES);
    memcpy(bytes - sizeof tag + ADDRESSES_BYTES, tag, sizeof tag);
    packet->bytes = bytes - sizeof tag;
    packet->caplen += (uint32_t)sizeof tag;
    packet->len += (uint32_t)sizeof tag;
}

static bool has_tag(const struct gs_capture *capture, const struct tpacket3_hdr *header)
{
    return header->tp_status & TP_STATUS_VLAN_VALID && capture->device->link == GS_LINK_ETHERNET &&
           header->tp_snaplen >= ADDRESSES_BYTES &&
           header->tp_mac >= sizeof *header + GS_RING_TAG_BYTES;
}

/* Nobody tells us of a greater MTU: the device is asked before a packet is called too long. */
static bool is_oversized(struct gs_capture *capture, const struct gs_packet *packet)
{
    struct gs_ring_device *device = capture->device;
    if (packet->len <= device->longest) return false;
    if (!capture->is_measured) device->ops->measure(device);
    capture->is_measured = true;
    return packet->len > device->longest;
}

static int64_t timestamp_ns(const struct tpacket3_hdr *header)
{
    return (int64_t)header->tp_sec * 1000000000 + header->tp_nsec;
}

static void read_packet(struct gs_capture *capture, struct tpacket3_hdr *header,
                        struct gs_packet *packet)
{
    packet->bytes = (uint8_t *)header + header->tp_mac;
    packet->timestamp_ns = timestamp_ns(header);
    packet->packet_id = capture->records++;
    packet->offset = capture->bytes;
    packet->caplen = header->tp_snaplen;
    packet->len = header->tp_len;
    packet->interface = 0;
    packet->link = capture->device->link;
    packet->flags = capture->device->kernel_filters ? GS_FRAME_FILTERED : 0;
    if (packet->caplen < packet->len) packet->flags |= GS_FRAME_TRUNCATED;
    if (has_tag(capture, header)) {
        put_tag_back(packet, (uint8_t *)header + header->tp_mac, header);
        packet->flags &= (uint8_t)~GS_FRAME_FILTERED; /* the kernel saw another frame */
    }
    capture->bytes += packet->caplen;
    capture->oversized += is_oversized(capture, packet);
}

/* The rest of a packet whose header has come: the kernel wrote on another core, and what is asked
 * for together comes together. Packets further ahead are better left to the processor, which sees
 * that one follows the other (measured: 3, 8, 24 and 64 KiB ahead took longer). */
static void prefetch_rest(const struct tpacket3_hdr *header)
{
    const uint8_t *packet = (const uint8_t *)header;
    for (uint32_t i = GS_CACHE_LINE_BYTES; i < header->tp_next_offset && i < PREFETCH_BYTES;
         i += GS_CACHE_LINE_BYTES)
        __builtin_prefetch(packet + i);
}

static void take_packets(struct gs_capture *capture, uint32_t capacity)
{
    uint32_t count = capture->packets_left < capacity ? capture->packets_left : capacity;
    gs_ring_take(gs_ring_block(capture->device, capture->block), count);
}

static int ring_next_burst(struct gs_capture *capture, struct gs_packet *packets, uint32_t capacity,
                           int timeout_ms, uint32_t *count, struct gs_error *error)
{
    *count = 0;
    GS_RETURN_IF_ERROR(need_block(capture, timeout_ms, error));
    take_packets(capture, capacity);
    while (*count < capacity && capture->packets_left > 0) {
        struct tpacket3_hdr *header = next_header(capture);
        if (header == NULL && *count > 0) return GS_OK; /* the next call says what is wrong */
        if (header == NULL)
            return gs_fail(error, GS_ERROR, "the ring's block %u is damaged", capture->block);
        prefetch_rest(header);
        read_packet(capture, header, &packets[(*count)++]);
        capture->packet_offset += header->tp_next_offset;
        capture->packets_left--;
    }
    return GS_OK;
}

/* Of the block that is held. One with a tag is to get it back, and of one that is too long the
 * device is to be asked, once it is given out. */
static uint32_t ring_peek(const struct gs_capture *capture, struct gs_frame *frames,
                          uint32_t capacity, const struct gs_frame_reach *reach,
                          struct gs_frame_run *result)
{
    const struct gs_ring_device *device = capture->device;
    uint8_t *const block = (uint8_t *)gs_ring_block(device, capture->block);
    const uint32_t size = device->block_bytes, longest = device->longest;
    const uint32_t left = capture->packets_left, most = left < capacity ? left : capacity;
    const struct gs_frame_reach within = *reach;
    struct gs_frame_run run = *result;
    uint32_t offset = capture->packet_offset, count = 0;

    for (; count < most; count++) {
        const struct tpacket3_hdr *header = header_at(block, size, offset, count + 1 < left);
        if (header == NULL || header->tp_status & TP_STATUS_VLAN_VALID || header->tp_len > longest)
            break;
        prefetch_rest(header);
        const struct gs_frame frame = {(const uint8_t *)header + header->tp_mac,
                                       timestamp_ns(header), header->tp_snaplen, header->tp_len};
        if (!gs_frame_is_within(&within, &run, frame.timestamp_ns)) break;
        frames[count] = frame;
        gs_frame_run_see(&run, frame.timestamp_ns);
        run.captured += frame.caplen;
        run.truncated += frame.caplen < frame.len;
        offset += header->tp_next_offset;
    }
    run.bytes = offset - capture->packet_offset;
    *result = run;
    return count;
}

static void ring_pass(struct gs_capture *capture, uint32_t count, const struct gs_frame_run *run)
{
    take_packets(capture, count);
    capture->records += count;
    capture->bytes += run->captured;
    capture->packet_offset += (uint32_t)run->bytes;
    capture->packets_left -= count;
}

static void ring_release(struct gs_capture *capture)
{
    if (capture->holds_block && capture->packets_left == 0) give_back(capture);
}

/* ---- the other operations ---- */

static void ring_close(struct gs_capture *capture)
{
    if (capture == NULL) return;
    if (capture->device != NULL) capture->device->ops->close(capture->device);
    free(capture);
}

static int open_device(struct gs_capture *capture, const struct gs_live_config *config,
                       struct gs_error *error)
{
    capture->device = config->ring_device;
    if (capture->device != NULL) return GS_OK;
    return gs_packet_socket_open(config, &capture->device, error);
}

static int ring_open(struct gs_capture **result, const struct gs_capture_config *config,
                     struct gs_error *error)
{
    struct gs_capture *capture = calloc(1, sizeof *capture);
    *result = capture;
    if (capture == NULL) return gs_fail(error, GS_ERROR, "out of memory");
    int status = open_device(capture, config->live, error);
    if (status != GS_OK) {
        ring_close(capture);
        *result = NULL;
        return status;
    }
    capture->block = capture->device->first_block;
    capture->interface.link_type = capture->device->link_type;
    capture->interface.snap_length = capture->device->snap_length;
    capture->interface.link = capture->device->link;
    return GS_OK;
}

/* They follow each other; the walk ends with the first that is the kernel's. */
static uint32_t blocks_used(const struct gs_capture *capture)
{
    const struct gs_ring_device *device = capture->device;
    uint32_t used = 0;
    while (used < device->block_count &&
           gs_ring_is_handed_over(
               gs_ring_block(device, (capture->block + used) % device->block_count)))
        used++;
    return used;
}

static void ring_stats(const struct gs_capture *capture, struct gs_capture_stats *stats)
{
    const struct gs_ring_device *device = capture->device;
    *stats = (struct gs_capture_stats){.records = capture->records,
                                       .bytes = capture->bytes,
                                       .kernel_received = device->counts.received,
                                       .kernel_dropped = device->counts.dropped,
                                       .freezes = device->counts.freezes,
                                       .nic_dropped = device->counts.nic_dropped,
                                       .oversized = capture->oversized,
                                       .taken_before = device->counts.taken_before,
                                       .dropped_before = device->counts.dropped_before,
                                       .ring_blocks = device->block_count,
                                       .ring_used = blocks_used(capture),
                                       .link_state = device->link_state};
}

static void ring_refresh(struct gs_capture *capture)
{
    capture->device->ops->refresh(capture->device);
}

static int ring_prefilter(struct gs_capture *capture, const struct sock_filter *instructions,
                          uint32_t length, struct gs_error *error)
{
    const struct gs_ring_device_ops *ops = capture->device->ops;
    if (ops->prefilter == NULL || capture->is_finished) return GS_OK;
    return ops->prefilter(capture->device, instructions, length, error);
}

/* Between two bursts. */
static int ring_renew(struct gs_capture *capture, int socket, struct gs_error *error)
{
    const struct gs_ring_device_ops *ops = capture->device->ops;
    if (ops->renew == NULL || capture->is_finished)
        return gs_fail(error, GS_ERROR, "it takes no other ring");
    GS_RETURN_IF_ERROR(ops->renew(capture->device, -1, error));
    if (capture->packets_left > 0 || ring_has_unread(capture)) return GS_AGAIN;
    if (socket < 0) return GS_OK;
    if (capture->holds_block) give_back(capture);
    GS_RETURN_IF_ERROR(ops->renew(capture->device, socket, error));
    capture->block = 0;
    return GS_OK;
}

static void ring_finish(struct gs_capture *capture)
{
    if (!capture->is_finished) capture->device->ops->finish(capture->device);
    capture->is_finished = true;
}

static int ring_descriptor(const struct gs_capture *capture)
{
    return capture->device->descriptor;
}

static uint64_t ring_section(const struct gs_capture *capture)
{
    (void)capture;
    return 0;
}

static uint32_t ring_interface_count(const struct gs_capture *capture)
{
    (void)capture;
    return 1;
}

static const struct gs_capture_interface *ring_interface(const struct gs_capture *capture,
                                                         uint32_t index)
{
    (void)index;
    return &capture->interface;
}

const struct gs_capture_ops gs_ring_capture = {
    .name = "ring",
    .open = ring_open,
    .next_burst = ring_next_burst,
    .peek = ring_peek,
    .pass = ring_pass,
    .release = ring_release,
    .stats = ring_stats,
    .section = ring_section,
    .interface_count = ring_interface_count,
    .interface = ring_interface,
    .close = ring_close,
    .has_unread = ring_has_unread,
    .is_empty = ring_is_empty,
    .refresh = ring_refresh,
    .prefilter = ring_prefilter,
    .renew = ring_renew,
    .finish = ring_finish,
    .descriptor = ring_descriptor,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* The device behind a real ring: an AF_PACKET socket. It is bound only when everything is set, so
 * that no packet comes in that the filter has not seen. What it does after it is open needs no
 * capability: a device that comes back is bound again by an unprivileged process. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "kernel_filter.h"
#include "link.h"
#include "ring.h"

#define FRAME_BYTES 2048 /* TPACKET_V3 packs packets by their size; the kernel wants a number */
#define DRAIN_MARGIN_NS 20000000
#define GROUP_NUMBER_MASK 0xffff
/* Newer than some C libraries. */
#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif
#ifndef PACKET_FANOUT_FLAG_IGNORE_OUTGOING
#define PACKET_FANOUT_FLAG_IGNORE_OUTGOING 0x4000
#endif

struct packet_socket {
    struct gs_ring_device device; /* first: ring.c is given a pointer to it */
    char name[64];
    int index;
    int64_t retire_timeout_ns;
    int64_t drained_at_ns; /* monotonic */
    bool promiscuous, ignores_outgoing;
    bool is_in_group;
    bool counts_for_device; /* of the rings of a device one does */
    uint64_t nic_dropped_before;
    size_t mapped_bytes;
};

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int failed(struct gs_error *error, const char *what)
{
    return gs_fail(error, GS_ERROR, "%s: %s", what, strerror(errno));
}

static int set(const struct packet_socket *s, int option, int value, struct gs_error *error)
{
    if (setsockopt(s->device.descriptor, SOL_PACKET, option, &value, sizeof value) == 0)
        return GS_OK;
    return gs_fail(error, GS_ERROR, "packet socket option %d: %s", option, strerror(errno));
}

/* ---- opening ---- */

static int open_socket(struct packet_socket *s, struct gs_error *error)
{
    s->device.descriptor = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (s->device.descriptor >= 0) return GS_OK;
    if (errno != EPERM && errno != EACCES) return failed(error, "packet socket");
    return gs_fail(error, GS_ERROR, "capturing needs the capability CAP_NET_RAW");
}

static int find_link(struct packet_socket *s, const struct gs_live_config *config,
                     struct gs_error *error)
{
    unsigned hardware_type = 0;
    s->index = gs_link_index(s->device.descriptor, config->device);
    if (s->index == 0) return gs_fail(error, GS_ERROR, "there is no such network interface");
    strncpy(s->name, config->device, sizeof s->name - 1);
    int64_t link_type = gs_link_type(s->device.descriptor, s->name, &hardware_type);
    if (link_type < 0)
        return gs_fail(error, GS_ERROR, "its link type is not supported (hardware type %u)",
                       hardware_type);
    s->device.link_type = (uint32_t)link_type;
    s->device.link = gs_link_of_linktype(s->device.link_type);
    s->device.snap_length = config->snap_length;
    s->nic_dropped_before = gs_link_dropped(s->name);
    return GS_OK;
}

/* The kernel shows what is sent on the loopback device twice; as libpcap does, we look once. */
static int choose_directions(struct packet_socket *s, const struct gs_live_config *config,
                             struct gs_error *error)
{
    s->ignores_outgoing = !config->outgoing || gs_link_is_loopback(s->device.descriptor, s->name);
    return s->ignores_outgoing ? set(s, PACKET_IGNORE_OUTGOING, 1, error) : GS_OK;
}

static int attach_filter(struct packet_socket *s, const struct gs_live_config *config,
                         struct gs_error *error)
{
    return gs_kernel_filter_attach(s->device.descriptor, config, s->device.link_type,
                                   &s->device.kernel_filters, error);
}

static int make_ring(struct packet_socket *s, const struct gs_live_config *config,
                     struct gs_error *error)
{
    struct tpacket_req3 request = {
        .tp_block_size = config->block_bytes,
        .tp_block_nr = config->block_count,
        .tp_frame_size = FRAME_BYTES,
        .tp_frame_nr = config->block_bytes / FRAME_BYTES * config->block_count,
        .tp_retire_blk_tov = config->retire_timeout_ms,
    };
    GS_RETURN_IF_ERROR(set(s, PACKET_VERSION, TPACKET_V3, error));
    GS_RETURN_IF_ERROR(set(s, PACKET_RESERVE, GS_RING_TAG_BYTES, error));
    if (setsockopt(s->device.descriptor, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0)
        return gs_fail(error, GS_ERROR, "a ring of %u blocks of %u bytes: %s", config->block_count,
                       config->block_bytes, strerror(errno));
    s->mapped_bytes = (size_t)config->block_bytes * config->block_count;
    void *blocks = mmap(NULL, s->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        s->device.descriptor, 0);
    if (blocks == MAP_FAILED) return failed(error, "mapping the ring");
    s->device.blocks = blocks;
    s->device.block_bytes = config->block_bytes;
    s->device.block_count = config->block_count;
    s->retire_timeout_ns = (int64_t)config->retire_timeout_ms * 1000000;
    return GS_OK;
}

/* The device forgets the membership when it goes, the socket when it is closed. */
static void be_promiscuous(const struct packet_socket *s)
{
    struct packet_mreq request = {.mr_ifindex = s->index, .mr_type = PACKET_MR_PROMISC};
    (void)setsockopt(s->device.descriptor, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request,
                     sizeof request);
}

static int bind_to_link(struct packet_socket *s)
{
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = s->index};
    if (bind(s->device.descriptor, (struct sockaddr *)&address, sizeof address) != 0) return -1;
    if (s->promiscuous) be_promiscuous(s);
    s->device.link_state = gs_link_state(s->device.descriptor, s->name, s->index);
    return 0;
}

/* The founder is told the number of the group, which no other process has (or two captures of a
 * device would share its packets), and the others join. */
static int join_group(const struct packet_socket *s, int32_t *group, struct gs_error *error)
{
    uint32_t flags = PACKET_FANOUT_HASH;
    if (s->ignores_outgoing) flags |= PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
    if (*group < 0) flags |= PACKET_FANOUT_FLAG_UNIQUEID;
    uint32_t wanted = flags << 16 | (*group < 0 ? 0 : (uint32_t)*group);
    GS_RETURN_IF_ERROR(set(s, PACKET_FANOUT, (int)wanted, error));
    socklen_t size = sizeof *group;
    if (getsockopt(s->device.descriptor, SOL_PACKET, PACKET_FANOUT, group, &size) != 0)
        return failed(error, "the number of a fanout group");
    *group &= GROUP_NUMBER_MASK;
    return GS_OK;
}

static int bind_opened(struct packet_socket *s, struct gs_error *error)
{
    return bind_to_link(s) == 0 ? GS_OK : failed(error, "binding to it");
}

/* A socket joins when it is bound, and until it has joined gets the other rings' packets as well:
 * so it takes none before. */
static int bind_in_group(struct packet_socket *s, const struct gs_live_config *config,
                         struct gs_error *error)
{
    if (gs_kernel_filter_close(s->device.descriptor) != 0) return failed(error, "its filter");
    s->is_in_group = true;
    s->counts_for_device = *config->fanout_group < 0;
    GS_RETURN_IF_ERROR(bind_opened(s, error));
    GS_RETURN_IF_ERROR(join_group(s, config->fanout_group, error));
    return attach_filter(s, config, error);
}

static int open_all(struct packet_socket *s, const struct gs_live_config *config,
                    struct gs_error *error)
{
    GS_RETURN_IF_ERROR(open_socket(s, error));
    GS_RETURN_IF_ERROR(find_link(s, config, error));
    GS_RETURN_IF_ERROR(choose_directions(s, config, error));
    GS_RETURN_IF_ERROR(make_ring(s, config, error));
    s->promiscuous = config->promiscuous;
    if (config->fanout_group != NULL) return bind_in_group(s, config, error);
    s->counts_for_device = true;
    GS_RETURN_IF_ERROR(attach_filter(s, config, error));
    return bind_opened(s, error);
}

/* ---- the device ---- */

/* A link that goes down is an error of the socket's, which is told once. */
static void take_error(const struct packet_socket *s)
{
    int code;
    socklen_t size = sizeof code;
    (void)getsockopt(s->device.descriptor, SOL_SOCKET, SO_ERROR, &code, &size);
}

static int socket_wait(struct gs_ring_device *device, int timeout_ms, struct gs_error *error)
{
    struct packet_socket *s = (struct packet_socket *)device;
    struct pollfd wanted = {.fd = device->descriptor, .events = POLLIN};
    int ready = poll(&wanted, 1, timeout_ms);
    if (ready == 0 || (ready < 0 && errno == EINTR)) return GS_AGAIN;
    if (ready < 0) return failed(error, "waiting for packets");
    if (wanted.revents & POLLERR) take_error(s);
    return GS_OK;
}

/* Reading them sets the kernel's counters to zero. */
static void read_counts(struct packet_socket *s)
{
    struct tpacket_stats_v3 counts;
    socklen_t size = sizeof counts;
    if (getsockopt(s->device.descriptor, SOL_PACKET, PACKET_STATISTICS, &counts, &size) != 0)
        return;
    s->device.counts.received += counts.tp_packets;
    s->device.counts.dropped += counts.tp_drops;
    s->device.counts.freezes += counts.tp_freeze_q_cnt;
}

/* A device that has come back under its name is another one to the kernel; its counters, too,
 * begin anew. */
static void look_for_link(struct packet_socket *s)
{
    int index = gs_link_index(s->device.descriptor, s->name), gone = s->index;
    if (index == 0) return;
    s->index = index;
    if (bind_to_link(s) == 0)
        s->nic_dropped_before = gs_link_dropped(s->name) - s->device.counts.nic_dropped;
    else
        s->index = gone; /* nothing comes of the new one: it must not be told that it is up */
}

static void socket_refresh(struct gs_ring_device *device)
{
    struct packet_socket *s = (struct packet_socket *)device;
    read_counts(s);
    device->link_state = gs_link_state(device->descriptor, s->name, s->index);
    if (device->link_state == GS_LINK_STATE_GONE && s->is_in_group)
        device->link_state = GS_LINK_STATE_LOST; /* the kernel binds none again that is in one */
    else if (device->link_state == GS_LINK_STATE_GONE)
        look_for_link(s);
    else if (s->counts_for_device)
        device->counts.nic_dropped = gs_link_dropped(s->name) - s->nic_dropped_before;
}

/* What has come in before is handed over when the retire timeout has passed. */
static void socket_finish(struct gs_ring_device *device)
{
    struct packet_socket *s = (struct packet_socket *)device;
    (void)gs_kernel_filter_close(device->descriptor);
    s->drained_at_ns = monotonic_ns() + 2 * s->retire_timeout_ns + DRAIN_MARGIN_NS;
}

static bool socket_is_drained(const struct gs_ring_device *device)
{
    return monotonic_ns() >= ((const struct packet_socket *)device)->drained_at_ns;
}

static void socket_close(struct gs_ring_device *device)
{
    struct packet_socket *s = (struct packet_socket *)device;
    if (device->blocks != NULL) munmap(device->blocks, s->mapped_bytes);
    if (device->descriptor >= 0) close(device->descriptor);
    free(s);
}

static const struct gs_ring_device_ops socket_ops = {
    .wait = socket_wait,
    .refresh = socket_refresh,
    .finish = socket_finish,
    .is_drained = socket_is_drained,
    .close = socket_close,
};

int gs_packet_socket_open(const struct gs_live_config *config, struct gs_ring_device **device,
                          struct gs_error *error)
{
    struct packet_socket *s = calloc(1, sizeof *s);
    if (s == NULL) return gs_fail(error, GS_ERROR, "out of memory");
    s->device.ops = &socket_ops;
    s->device.descriptor = -1;
    int status = open_all(s, config, error);
    *device = &s->device;
    if (status == GS_OK) return GS_OK;
    *device = NULL;
    socket_close(&s->device);
    return status;
}

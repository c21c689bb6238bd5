/* SPDX-License-Identifier: Apache-2.0 */
/* The device behind a real ring: an AF_PACKET socket. It is bound only when everything is set, so
 * that no packet comes in that the filter has not seen. What it does after it is open needs no
 * capability: a device that comes back is bound again by an unprivileged process. A ring of a group
 * needs another socket then, since the kernel lets none out of its group: it has some made before,
 * or is handed one by who may open it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/clocks.h"
#include "fanout.h"
#include "kernel_filter.h"
#include "link.h"
#include "packet_ring.h"
#include "ring.h"

#define ETHERNET 1 /* LINKTYPE_ number */
#define DRAIN_MARGIN_NS 20000000
#define SPARES_MAX 16

struct packet_socket {
    struct gs_ring_device device; /* first: ring.c is given a pointer to it */
    char name[64];
    int index;
    int64_t retire_timeout_ns;
    int64_t drained_at_ns;  /* monotonic */
    int64_t read_out_at_ns; /* the same, of a device that is gone; else 0 */
    bool ignores_outgoing;
    bool counts_for_device; /* of the rings of a device one does */
    bool has_left;          /* a device that has another name now: its packets are not taken */
    uint64_t nic_dropped_before;
    struct gs_live_config config; /* but for its filters */
    struct gs_kernel_filter filter;
    int spares[SPARES_MAX]; /* sockets that are nothing yet */
    uint32_t spare_count;
};

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

/* The kernel lets a socket go whose device is removed or leaves the namespace; a device that has
 * come back, even under its name and its index, is none that the socket is bound to. */
static bool is_bound(const struct packet_socket *s)
{
    struct sockaddr_ll address = {0};
    socklen_t size = sizeof address;
    return getsockname(s->device.descriptor, (struct sockaddr *)&address, &size) == 0 &&
           address.sll_ifindex == s->index;
}

static enum gs_link_state state_of_link(const struct packet_socket *s)
{
    if (!is_bound(s)) return GS_LINK_STATE_GONE;
    return gs_link_state(s->device.descriptor, s->name, s->index);
}

/* ---- opening ---- */

static int make_socket(void)
{
    return socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
}

static int duplicate(struct packet_socket *s, struct gs_error *error)
{
    s->device.descriptor = fcntl(s->config.socket, F_DUPFD_CLOEXEC, 0);
    return s->device.descriptor >= 0 ? GS_OK : failed(error, "the socket that was handed over");
}

static int open_socket(struct packet_socket *s, struct gs_error *error)
{
    if (s->config.has_socket) return duplicate(s, error);
    s->device.descriptor = make_socket();
    if (s->device.descriptor >= 0) return GS_OK;
    if (errno != EPERM && errno != EACCES) return failed(error, "packet socket");
    return gs_fail(error, GS_ERROR, "capturing needs the capability CAP_NET_RAW");
}

/* Where there are no more descriptors, the device can come back less often. */
static void make_spares(struct packet_socket *s)
{
    uint32_t wanted = s->config.spare_sockets;
    while (s->spare_count < wanted && s->spare_count < SPARES_MAX) {
        int spare = make_socket();
        if (spare < 0) return;
        s->spares[s->spare_count++] = spare;
    }
}

static void socket_measure(struct gs_ring_device *device)
{
    const struct packet_socket *s = (const struct packet_socket *)device;
    device->longest = gs_link_longest_frame(device->descriptor, s->name);
}

static int find_link(struct packet_socket *s, struct gs_error *error)
{
    unsigned hardware_type = 0;
    s->index = gs_link_index(s->device.descriptor, s->name);
    if (s->index == 0) return gs_fail(error, GS_ERROR, "there is no such network interface");
    int64_t link_type = gs_link_type(s->device.descriptor, s->name, &hardware_type);
    if (link_type < 0)
        return gs_fail(error, GS_ERROR, "its link type is not supported (hardware type %u)",
                       hardware_type);
    s->device.link_type = (uint32_t)link_type;
    s->device.link = gs_link_of_linktype(s->device.link_type);
    s->device.snap_length = s->config.snap_length;
    socket_measure(&s->device);
    s->nic_dropped_before = gs_link_dropped(s->name);
    return GS_OK;
}

/* The kernel shows what is sent on the loopback device twice; as libpcap does, we look once. */
static int choose_directions(struct packet_socket *s, struct gs_error *error)
{
    s->ignores_outgoing = !s->config.outgoing || gs_link_is_loopback(s->device.descriptor, s->name);
    return s->ignores_outgoing ? set(s, PACKET_IGNORE_OUTGOING, 1, error) : GS_OK;
}

static int attach_filter(const struct packet_socket *s, struct gs_error *error)
{
    return gs_kernel_filter_attach(s->device.descriptor, &s->filter, error);
}

static int bind_to_link(struct packet_socket *s)
{
    if (gs_link_bind(s->device.descriptor, s->index, s->config.promiscuous) != 0) return -1;
    s->device.link_state = gs_link_state(s->device.descriptor, s->name, s->index);
    return 0;
}

static int bind_opened(struct packet_socket *s, struct gs_error *error)
{
    return bind_to_link(s) == 0 ? GS_OK : failed(error, "binding to it");
}

/* A socket joins when it is bound, and until it has joined gets the other rings' packets as well:
 * so it takes none before. */
static int bind_in_group(struct packet_socket *s, struct gs_error *error)
{
    int descriptor = s->device.descriptor;
    if (gs_kernel_filter_close(descriptor) != 0) return failed(error, "its filter");
    GS_RETURN_IF_ERROR(bind_opened(s, error));
    GS_RETURN_IF_ERROR(
        gs_fanout_join(s->config.fanout_group, descriptor, s->index, s->ignores_outgoing, error));
    return attach_filter(s, error);
}

static bool is_in_group(const struct packet_socket *s)
{
    return s->config.fanout_group != NULL || s->config.is_shared;
}

static int set_up(struct packet_socket *s, struct gs_error *error)
{
    GS_RETURN_IF_ERROR(choose_directions(s, error));
    GS_RETURN_IF_ERROR(gs_packet_ring_make(s->device.descriptor, &s->config, error));
    return gs_packet_ring_map(&s->device, &s->config, error);
}

/* One that takes packets already: what is refused is left as it was. From here on it takes none
 * until all is ready; the making of its ring throws away what it has, and so do we what the kernel
 * has counted of that. */
static int set_up_bound(struct packet_socket *s, struct gs_error *error)
{
    if (!is_bound(s))
        return gs_fail(error, GS_ERROR, "the socket that was handed over is not bound to it");
    if (gs_packet_ring_is_there(s->device.descriptor))
        return gs_fail(error, GS_ERROR, "the socket that was handed over is captured already");
    if (gs_kernel_filter_close(s->device.descriptor) != 0) return failed(error, "its filter");
    GS_RETURN_IF_ERROR(set_up(s, error));
    gs_packet_ring_count(&s->device);
    memset(&s->device.counts, 0, sizeof s->device.counts);
    return GS_OK;
}

static int go(struct packet_socket *s, struct gs_error *error)
{
    s->device.kernel_filters = s->filter.filters;
    if (s->config.fanout_group != NULL) return bind_in_group(s, error);
    GS_RETURN_IF_ERROR(attach_filter(s, error));
    return bind_opened(s, error);
}

/* ---- a ring that is adopted ---- */

/* Frames of another kind would be read as what they are not. */
static bool is_of_our_type(const struct packet_socket *s)
{
    return gs_link_is_of_type(s->device.descriptor, s->name, s->device.link_type);
}

/* A link that is gone is awaited, as is one whose name a device of another type has meanwhile: its
 * frames are what they were for the reader before, or else Ethernet's. */
static int find_link_or_wait(struct packet_socket *s, struct gs_error *error)
{
    uint32_t before = (uint32_t)gs_ring_tally(&s->device, 0)->link_type;
    s->device.link_type = before == 0 ? ETHERNET : before;
    if (gs_link_index(s->device.descriptor, s->name) != 0 && (before == 0 || is_of_our_type(s)))
        return find_link(s, error);
    s->device.link = gs_link_of_linktype(s->device.link_type);
    s->device.snap_length = s->config.snap_length;
    s->device.longest = UINT32_MAX;
    s->device.link_state = GS_LINK_STATE_GONE;
    return GS_OK;
}

/* The socket takes packets, or will when it has a filter. One that is alone is bound again, where
 * its device has come back meanwhile; one of a group stays where it is. */
static int bind_adopted(struct packet_socket *s, struct gs_error *error)
{
    GS_RETURN_IF_ERROR(attach_filter(s, error));
    if (s->index == 0) return GS_OK;
    if (!s->config.is_shared) return bind_opened(s, error);
    s->device.link_state = state_of_link(s);
    return GS_OK;
}

static void write_link_type(struct gs_ring_device *device)
{
    gs_ring_tally(device, 0)->link_type = device->link_type;
}

/* What is in the ring has passed another filter than ours. */
static int adopt(struct packet_socket *s, const struct gs_live_config *config,
                 struct gs_error *error)
{
    s->counts_for_device = s->config.counts_for_device;
    GS_RETURN_IF_ERROR(gs_packet_ring_map(&s->device, &s->config, error));
    GS_RETURN_IF_ERROR(find_link_or_wait(s, error));
    GS_RETURN_IF_ERROR(gs_kernel_filter_make(&s->filter, config, s->device.link_type, error));
    if (s->index != 0) write_link_type(&s->device);
    gs_packet_ring_go_on(&s->device, s->retire_timeout_ns);
    return bind_adopted(s, error);
}

static int open_all(struct packet_socket *s, const struct gs_live_config *config,
                    struct gs_error *error)
{
    s->config = *config;
    s->config.filters = NULL;
    s->config.filter_count = 0;
    s->config.device = NULL;
    snprintf(s->name, sizeof s->name, "%s", config->device);
    s->retire_timeout_ns = (int64_t)config->retire_timeout_ms * 1000000;
    s->counts_for_device = config->fanout_group == NULL || gs_fanout_is_first(config->fanout_group);
    GS_RETURN_IF_ERROR(open_socket(s, error));
    if (config->has_socket && !gs_is_raw_packet_socket(s->device.descriptor))
        return gs_fail(error, GS_ERROR, "what was handed over is no raw packet socket");
    if (config->is_adopted && gs_packet_ring_is_there(s->device.descriptor))
        return adopt(s, config, error);
    GS_RETURN_IF_ERROR(find_link(s, error));
    GS_RETURN_IF_ERROR(config->has_socket ? set_up_bound(s, error) : set_up(s, error));
    GS_RETURN_IF_ERROR(gs_kernel_filter_make(&s->filter, config, s->device.link_type, error));
    GS_RETURN_IF_ERROR(go(s, error));
    if (is_in_group(s)) make_spares(s);
    return GS_OK;
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

/* A device that has come back under its name is another one to the kernel; its counters, too,
 * begin anew. */
static void look_for_link(struct packet_socket *s)
{
    int index = gs_link_index(s->device.descriptor, s->name), gone = s->index;
    if (index == 0 || !is_of_our_type(s)) return;
    s->index = index;
    if (bind_to_link(s) == 0)
        s->nic_dropped_before = gs_link_dropped(s->name) - s->device.counts.nic_dropped;
    else
        s->index = gone; /* nothing comes of the new one: it must not be told that it is up */
}

/* When what was captured before the device went has been handed over, which is read first. */
static bool is_read_out(struct packet_socket *s)
{
    if (s->read_out_at_ns == 0)
        s->read_out_at_ns = gs_monotonic_ns() + 2 * s->retire_timeout_ns + DRAIN_MARGIN_NS;
    return gs_monotonic_ns() >= s->read_out_at_ns;
}

/* A device that is renamed is captured on, until another one has its name. */
static void leave_renamed(struct packet_socket *s)
{
    if (s->has_left || !is_bound(s)) return;
    (void)gs_kernel_filter_close(s->device.descriptor);
    s->has_left = true;
    s->read_out_at_ns = 0;
}

/* A socket joins the group of a device that is up, and no other. */
static void look_for_group(struct packet_socket *s)
{
    struct gs_ring_device *device = &s->device;
    int index = gs_link_index(device->descriptor, s->name);
    bool is_up = index != 0 && is_of_our_type(s) &&
                 gs_link_state(device->descriptor, s->name, index) == GS_LINK_STATE_UP;
    if (is_up && s->spare_count > 0) leave_renamed(s);
    if (!is_read_out(s)) return;
    device->is_back = is_up && s->spare_count > 0;
    bool may_return = s->spare_count > 0 || s->config.is_renewed;
    if (!may_return && !is_bound(s)) device->link_state = GS_LINK_STATE_LOST;
}

static void look_at_link(struct packet_socket *s)
{
    struct gs_error ignored;
    s->read_out_at_ns = 0;
    if (s->has_left) (void)attach_filter(s, &ignored);
    s->has_left = false;
    socket_measure(&s->device);
    if (s->counts_for_device)
        s->device.counts.nic_dropped = gs_link_dropped(s->name) - s->nic_dropped_before;
}

static void socket_refresh(struct gs_ring_device *device)
{
    struct packet_socket *s = (struct packet_socket *)device;
    gs_packet_ring_count(&s->device);
    device->is_back = false;
    device->link_state = state_of_link(s);
    if (device->link_state != GS_LINK_STATE_GONE)
        look_at_link(s);
    else if (is_in_group(s))
        look_for_group(s);
    else
        look_for_link(s);
}

/* The counters go on; those of the device began anew with it. */
static void keep_counts(struct packet_socket *fresh, const struct packet_socket *s)
{
    fresh->device.counts = s->device.counts;
    fresh->nic_dropped_before -= s->device.counts.nic_dropped;
}

static struct packet_socket with(struct packet_socket *s, int descriptor)
{
    s->device.is_back = false;
    struct packet_socket fresh = *s;
    fresh.device.descriptor = descriptor;
    fresh.device.blocks = NULL;
    fresh.read_out_at_ns = 0;
    fresh.has_left = false;
    return fresh;
}

static void exchange(struct packet_socket *s, struct packet_socket *fresh)
{
    gs_packet_ring_count(&s->device);
    keep_counts(fresh, s);
    gs_packet_ring_close(&s->device);
    *s = *fresh;
}

/* With another ring; where that fails the next spare is tried when the link is looked at again. */
static void socket_take_up(struct gs_ring_device *device)
{
    struct packet_socket *s = (struct packet_socket *)device;
    struct gs_error ignored;
    struct packet_socket fresh = with(s, s->spares[--s->spare_count]);
    fresh.spare_count = s->spare_count;
    if (find_link(&fresh, &ignored) == GS_OK && set_up(&fresh, &ignored) == GS_OK &&
        go(&fresh, &ignored) == GS_OK)
        exchange(s, &fresh);
    else
        gs_packet_ring_close(&fresh.device);
}

/* It has its device, its group and its ring (open_sockets.c), in which the tallies go on: so that
 * who reads it next knows what all before have taken. */
static int set_up_handed(struct packet_socket *s, struct gs_error *error)
{
    GS_RETURN_IF_ERROR(find_link(s, error));
    if (!is_bound(s))
        return gs_fail(error, GS_ERROR, "the socket that was handed over is not bound to it");
    GS_RETURN_IF_ERROR(gs_packet_ring_map(&s->device, &s->config, error));
    gs_ring_tally(&s->device, s->device.block_count - 1)->taken = s->device.taken;
    write_link_type(&s->device);
    s->device.link_state = state_of_link(s);
    return attach_filter(s, error);
}

static int socket_renew(struct gs_ring_device *device, int socket, struct gs_error *error)
{
    struct packet_socket *s = (struct packet_socket *)device;
    if (!s->config.is_renewed || state_of_link(s) != GS_LINK_STATE_GONE)
        return gs_fail(error, GS_ERROR, "its ring is in use: it takes no other");
    if (!is_of_our_type(s))
        return gs_fail(error, GS_ERROR, "what has its name now is a link of another type");
    leave_renamed(s);
    if (!is_read_out(s)) return GS_AGAIN;
    if (socket < 0) return GS_OK;
    struct packet_socket fresh = with(s, fcntl(socket, F_DUPFD_CLOEXEC, 0));
    if (fresh.device.descriptor < 0) return failed(error, "the socket that was handed over");
    int status = set_up_handed(&fresh, error);
    if (status != GS_OK) {
        gs_packet_ring_close(&fresh.device);
        return status;
    }
    exchange(s, &fresh);
    gs_packet_ring_count(&s->device); /* written down in the new ring */
    return GS_OK;
}

/* It knows frames of Ethernet alone. */
static int socket_prefilter(struct gs_ring_device *device, const struct sock_filter *instructions,
                            uint32_t length, struct gs_error *error)
{
    struct packet_socket *s = (struct packet_socket *)device;
    if (!s->config.takes_prefilter || device->link_type != ETHERNET) return GS_OK;
    GS_RETURN_IF_ERROR(gs_kernel_filter_prefilter(&s->filter, instructions, length, error));
    return s->has_left ? GS_OK : attach_filter(s, error);
}

/* What has come in before is handed over when the retire timeout has passed. */
static void socket_finish(struct gs_ring_device *device)
{
    struct packet_socket *s = (struct packet_socket *)device;
    (void)gs_kernel_filter_close(device->descriptor);
    s->drained_at_ns = gs_monotonic_ns() + 2 * s->retire_timeout_ns + DRAIN_MARGIN_NS;
}

static bool socket_is_drained(const struct gs_ring_device *device)
{
    return gs_monotonic_ns() >= ((const struct packet_socket *)device)->drained_at_ns;
}

static void socket_close(struct gs_ring_device *device)
{
    struct packet_socket *s = (struct packet_socket *)device;
    gs_packet_ring_close(&s->device);
    for (uint32_t i = 0; i < s->spare_count; i++)
        close(s->spares[i]);
    gs_kernel_filter_free(&s->filter);
    free(s);
}

static const struct gs_ring_device_ops socket_ops = {
    .wait = socket_wait,
    .refresh = socket_refresh,
    .take_up = socket_take_up,
    .renew = socket_renew,
    .prefilter = socket_prefilter,
    .finish = socket_finish,
    .is_drained = socket_is_drained,
    .measure = socket_measure,
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

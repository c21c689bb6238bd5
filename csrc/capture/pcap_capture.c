/* SPDX-License-Identifier: Apache-2.0 */
/* The capture method for what is no network device of its own, such as `any`: libpcap reads it.
 * Its packets are good until the next is asked for, so a burst of them is copied; the ring (ring.c)
 * is for all that can be captured without. Filters are asked by the engine, as of a file. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clocks.h"
#include "capture.h"
#include "kernel_filter.h"
#include "libpcap.h"
#include "link.h"

#define BUFFER_BYTES (1u << 20) /* of a burst, beside the greatest packet */
/* Of libpcap's own (pcap/pcap.h). */
#define PRECISION_NANO 1
#define DIRECTION_IN 1
#define DLT_RAW 12
#define DLT_LINUX_SLL 113
#define DLT_LINUX_SLL2 276
#define STATUS_ERROR (-1)
#define STATUS_BREAK (-2)
#define STATUS_NO_PERMISSION (-8)
#define STATUS_NOT_PROMISCUOUS (-11)
#define LINKTYPE_RAW 101
#define NS_PER_SECOND 1000000000
#define DEVICES_MAX 1024 /* that are told apart; packets of further ones have no device */
#define SLL2_INDEX_OFFSET 4
#define FINISH_MARGIN_NS 20000000
#define NO_INDEX UINT32_MAX

struct device {
    uint32_t index;
    struct gs_capture_interface interface;
};

struct gs_capture {
    struct gs_libpcap libpcap;
    pcap_t *pcap;
    struct gs_capture_interface interface;
    struct device *devices; /* of `any`, whose packets say which they passed; else NULL */
    uint32_t device_count, last_device;
    int descriptor;
    uint8_t *bytes; /* of the burst */
    uint32_t filled, room;
    struct gs_packet *packets; /* that are being filled */
    uint32_t count, capacity;
    bool may_have_more; /* the last burst was full */
    bool is_finished;
    bool is_lost;   /* libpcap can give no more of it, as where the device is gone */
    bool is_closed; /* nothing more comes in; where that cannot be had, timestamps must tell: */
    bool is_past;   /* a packet has come that is later than the end */
    int64_t retire_timeout_ns;
    int64_t end_ns;        /* by the wall clock */
    int64_t drained_at_ns; /* by the monotonic one: what has come in by the end is read by then */
    uint64_t records, captured_bytes, dropped, interface_dropped;
    struct gs_libpcap_stats before;
};

/* ---- opening ---- */

static int set_options(struct gs_capture *capture, const struct gs_live_config *config)
{
    const struct gs_libpcap *p = &capture->libpcap;
    uint64_t buffer = (uint64_t)config->block_bytes * config->block_count;
    p->set_snaplen(capture->pcap, (int)config->snap_length);
    p->set_promisc(capture->pcap, config->promiscuous);
    p->set_timeout(capture->pcap, (int)config->retire_timeout_ms);
    p->set_buffer_size(capture->pcap, buffer < INT32_MAX ? (int)buffer : INT32_MAX);
    return p->set_tstamp_precision(capture->pcap, PRECISION_NANO);
}

static int failed(const struct gs_capture *capture, int status, struct gs_error *error)
{
    const char *more = capture->libpcap.geterr(capture->pcap);
    if (status == STATUS_NO_PERMISSION || status == STATUS_NOT_PROMISCUOUS)
        return gs_fail(error, GS_ERROR, "capturing needs the capability CAP_NET_RAW");
    return gs_fail(error, GS_ERROR, "%s%s%.300s", capture->libpcap.statustostr(status),
                   *more != '\0' ? ": " : "", more);
}

static int activate(struct gs_capture *capture, const struct gs_live_config *config,
                    struct gs_error *error)
{
    const struct gs_libpcap *p = &capture->libpcap;
    char message[GS_LIBPCAP_ERROR_BYTES] = "";
    capture->pcap = p->create(config->device, message);
    if (capture->pcap == NULL) return gs_fail(error, GS_ERROR, "%.300s", message);
    int status = set_options(capture, config);
    if (status == 0) status = p->activate(capture->pcap);
    if (status < 0) return failed(capture, status, error);
    if (!config->outgoing && p->setdirection(capture->pcap, DIRECTION_IN) != 0)
        return failed(capture, STATUS_ERROR, error);
    if (p->setnonblock(capture->pcap, 1, message) != 0)
        return gs_fail(error, GS_ERROR, "%.300s", message);
    capture->descriptor = p->get_selectable_fd(capture->pcap);
    if (capture->descriptor >= 0) return GS_OK;
    return gs_fail(error, GS_ERROR, "libpcap cannot wait for packets of this device");
}

/* The newer form of what `any` gives has the device in it. */
static int tell_devices_apart(struct gs_capture *capture, int *link_type, struct gs_error *error)
{
    if (*link_type != DLT_LINUX_SLL ||
        capture->libpcap.set_datalink(capture->pcap, DLT_LINUX_SLL2) != 0)
        return GS_OK;
    *link_type = DLT_LINUX_SLL2;
    capture->devices = calloc(DEVICES_MAX, sizeof *capture->devices);
    return capture->devices != NULL ? GS_OK : gs_fail(error, GS_ERROR, "out of memory");
}

static int describe(struct gs_capture *capture, const struct gs_live_config *config,
                    struct gs_error *error)
{
    int link_type = capture->libpcap.datalink(capture->pcap);
    GS_RETURN_IF_ERROR(tell_devices_apart(capture, &link_type, error));
    capture->interface.link_type = link_type == DLT_RAW ? LINKTYPE_RAW : (uint32_t)link_type;
    capture->interface.snap_length = config->snap_length;
    capture->interface.link = gs_link_of_linktype(capture->interface.link_type);
    if (capture->interface.link != GS_LINK_UNSUPPORTED) return GS_OK;
    return gs_fail(error, GS_ERROR, "its link type is not supported (%u)",
                   capture->interface.link_type);
}

static int open_all(struct gs_capture *capture, const struct gs_live_config *config,
                    struct gs_error *error)
{
    GS_RETURN_IF_ERROR(gs_libpcap_load(&capture->libpcap, config->libpcap, error));
    GS_RETURN_IF_ERROR(activate(capture, config, error));
    GS_RETURN_IF_ERROR(describe(capture, config, error));
    capture->retire_timeout_ns = (int64_t)config->retire_timeout_ms * 1000000;
    capture->room = BUFFER_BYTES + config->snap_length;
    capture->bytes = malloc(capture->room);
    return capture->bytes != NULL ? GS_OK : gs_fail(error, GS_ERROR, "out of memory");
}

static void libpcap_close(struct gs_capture *capture)
{
    if (capture == NULL) return;
    if (capture->pcap != NULL) capture->libpcap.close(capture->pcap);
    gs_libpcap_unload(&capture->libpcap);
    free(capture->bytes);
    free(capture->devices);
    free(capture);
}

static int libpcap_open(struct gs_capture **result, const struct gs_capture_config *config,
                        struct gs_error *error)
{
    struct gs_capture *capture = calloc(1, sizeof *capture);
    *result = NULL;
    if (capture == NULL) return gs_fail(error, GS_ERROR, "out of memory");
    int status = open_all(capture, config->live, error);
    if (status == GS_OK)
        *result = capture;
    else
        libpcap_close(capture);
    return status;
}

/* ---- packets ---- */

static int64_t timestamp_ns(const struct gs_libpcap_header *header)
{
    return (int64_t)header->time.tv_sec * NS_PER_SECOND + header->time.tv_usec;
}

/* The ordinal of the interface of a device, the first of which stands for all others. */
static uint32_t new_device(struct gs_capture *capture, uint32_t index)
{
    if (capture->device_count == DEVICES_MAX) return 0;
    struct device *device = &capture->devices[capture->device_count];
    device->index = index;
    device->interface = capture->interface;
    (void)gs_link_name(capture->descriptor, (int)index, device->interface.name);
    return ++capture->device_count;
}

static uint32_t device_of(struct gs_capture *capture, const uint8_t *header)
{
    uint32_t index;
    memcpy(&index, header + SLL2_INDEX_OFFSET, sizeof index);
    index = __builtin_bswap32(index);
    if (capture->last_device > 0 && capture->devices[capture->last_device - 1].index == index)
        return capture->last_device;
    for (uint32_t i = 0; i < capture->device_count; i++)
        if (capture->devices[i].index == index) return capture->last_device = i + 1;
    return capture->last_device = new_device(capture, index);
}

static bool says_device(const struct gs_capture *capture, uint32_t caplen)
{
    return capture->devices != NULL && caplen >= SLL2_INDEX_OFFSET + sizeof(uint32_t);
}

/* Cut to the snap length, for which there is room: where libpcap has put a VLAN tag back, a packet
 * may be longer. */
static void keep(struct gs_capture *capture, const struct gs_libpcap_header *header,
                 const uint8_t *bytes)
{
    struct gs_packet *packet = &capture->packets[capture->count++];
    uint32_t caplen = header->caplen;
    if (caplen > capture->interface.snap_length) caplen = capture->interface.snap_length;
    memcpy(capture->bytes + capture->filled, bytes, caplen);
    packet->bytes = capture->bytes + capture->filled;
    packet->timestamp_ns = timestamp_ns(header);
    packet->packet_id = capture->records++;
    packet->offset = capture->captured_bytes;
    packet->caplen = caplen;
    packet->len = header->len;
    packet->interface = says_device(capture, caplen) ? (uint16_t)device_of(capture, bytes) : 0;
    packet->link = capture->interface.link;
    packet->flags = caplen < header->len ? GS_FRAME_TRUNCATED : 0;
    capture->filled += caplen;
    capture->captured_bytes += caplen;
}

static bool has_room(const struct gs_capture *capture)
{
    return capture->room - capture->filled >= capture->interface.snap_length;
}

/* A packet; the loop is broken where there is no room for another. One that comes all the same is
 * lost, and counted. */
static void take(uint8_t *user, const struct gs_libpcap_header *header, const uint8_t *bytes)
{
    struct gs_capture *capture = (struct gs_capture *)user;
    if (capture->is_finished && !capture->is_closed && timestamp_ns(header) > capture->end_ns)
        capture->is_past = true;
    else if (capture->count < capture->capacity && has_room(capture))
        keep(capture, header, bytes);
    else
        capture->dropped++;
    if (capture->is_past || !has_room(capture)) capture->libpcap.breakloop(capture->pcap);
}

static bool is_ready(const struct gs_capture *capture, int timeout_ms)
{
    struct pollfd wanted = {.fd = capture->descriptor, .events = POLLIN};
    return poll(&wanted, 1, timeout_ms) > 0;
}

/* All that will come in has been handed over. */
static bool is_drained(const struct gs_capture *capture)
{
    return capture->is_finished && gs_monotonic_ns() >= capture->drained_at_ns;
}

/* After finish, where nothing was given: all that had come in has been read. Whether it was drained
 * is asked before libpcap is: who is held up behind that has not seen what came meanwhile. */
static bool is_over(const struct gs_capture *capture, bool was_drained)
{
    if (capture->count > 0) return false;
    if (!capture->is_finished) return capture->is_lost;
    return capture->is_lost || capture->is_past || (!capture->may_have_more && was_drained);
}

static void dispatch(struct gs_capture *capture)
{
    int status =
        capture->libpcap.dispatch(capture->pcap, (int)capture->capacity, take, (uint8_t *)capture);
    capture->may_have_more = capture->count == capture->capacity || status == STATUS_BREAK;
    if (status == STATUS_ERROR) capture->is_lost = true;
}

static int libpcap_next_burst(struct gs_capture *capture, struct gs_packet *packets,
                              uint32_t capacity, int timeout_ms, uint32_t *count,
                              struct gs_error *error)
{
    (void)error;
    capture->packets = packets;
    capture->capacity = capacity;
    capture->count = capture->filled = 0;
    *count = 0;
    if (!capture->may_have_more && timeout_ms != 0) (void)is_ready(capture, timeout_ms);
    bool was_drained = is_drained(capture);
    if (!capture->is_lost) dispatch(capture);
    if (is_over(capture, was_drained)) return GS_END;
    *count = capture->count;
    return capture->count > 0 ? GS_OK : GS_AGAIN;
}

static void libpcap_release(struct gs_capture *capture)
{
    capture->filled = 0;
}

static bool libpcap_has_unread(const struct gs_capture *capture)
{
    return capture->may_have_more || is_ready(capture, 0);
}

/* ---- the other operations ---- */

/* A device may be renamed, and another may come under its index: its next packet names it anew. */
static void forget_renamed(struct gs_capture *capture)
{
    char name[sizeof capture->interface.name] = "";
    for (uint32_t i = 0; i < capture->device_count; i++) {
        struct device *device = &capture->devices[i];
        if (device->index == NO_INDEX ||
            !gs_link_name(capture->descriptor, (int)device->index, name) ||
            strcmp(name, device->interface.name) == 0)
            continue;
        device->index = NO_INDEX;
        capture->last_device = 0;
    }
}

/* Its counters are of 32 bits: what is new since the last look is added. */
static void libpcap_refresh(struct gs_capture *capture)
{
    struct gs_libpcap_stats now;
    forget_renamed(capture);
    if (capture->libpcap.stats(capture->pcap, &now) != 0) return;
    capture->dropped += now.dropped - capture->before.dropped;
    capture->interface_dropped += now.interface_dropped - capture->before.interface_dropped;
    capture->before = now;
}

/* libpcap tells how many it saw before it left some out by itself, as on loopback: so what was
 * received is what it gave us and what it says was dropped. */
static void libpcap_stats(const struct gs_capture *capture, struct gs_capture_stats *stats)
{
    *stats = (struct gs_capture_stats){.records = capture->records,
                                       .bytes = capture->captured_bytes,
                                       .kernel_received = capture->records + capture->dropped,
                                       .kernel_dropped = capture->dropped,
                                       .nic_dropped = capture->interface_dropped,
                                       .link_state = capture->is_lost ? GS_LINK_STATE_LOST
                                                                      : GS_LINK_STATE_UP};
}

static void libpcap_finish(struct gs_capture *capture)
{
    if (capture->is_finished) return;
    capture->is_finished = true;
    capture->is_closed = gs_kernel_filter_close(capture->descriptor) == 0;
    int64_t wait_ns = 2 * capture->retire_timeout_ns + FINISH_MARGIN_NS;
    capture->end_ns = gs_wall_ns() + wait_ns;
    capture->drained_at_ns = gs_monotonic_ns() + wait_ns;
}

static int libpcap_descriptor(const struct gs_capture *capture)
{
    return capture->descriptor;
}

static uint64_t libpcap_section(const struct gs_capture *capture)
{
    (void)capture;
    return 0;
}

static uint32_t libpcap_interface_count(const struct gs_capture *capture)
{
    return 1 + capture->device_count;
}

static const struct gs_capture_interface *libpcap_interface(const struct gs_capture *capture,
                                                            uint32_t index)
{
    return index == 0 ? &capture->interface : &capture->devices[index - 1].interface;
}

const struct gs_capture_ops gs_pcap_capture = {
    .name = "libpcap",
    .open = libpcap_open,
    .next_burst = libpcap_next_burst,
    .release = libpcap_release,
    .stats = libpcap_stats,
    .section = libpcap_section,
    .interface_count = libpcap_interface_count,
    .interface = libpcap_interface,
    .close = libpcap_close,
    .has_unread = libpcap_has_unread,
    .refresh = libpcap_refresh,
    .finish = libpcap_finish,
    .descriptor = libpcap_descriptor,
};

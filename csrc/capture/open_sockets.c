/* SPDX-License-Identifier: Apache-2.0 */
/* Packet sockets that are opened by who may, and read by who may not: bound, in their group, their
 * rings made. Their filters are closed until they are adopted (packet_socket.c). */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fanout.h"
#include "kernel_filter.h"
#include "link.h"
#include "packet_ring.h"

struct opening {
    const struct gs_live_config *config;
    struct gs_fanout_group *group; /* NULL: one socket takes all */
    int link_index;
    bool ignores_outgoing;
};

static int failed(struct gs_error *error, const char *what)
{
    return gs_fail(error, GS_ERROR, "%s: %s", what, strerror(errno));
}

static int set_option(int descriptor, int option, const void *value, socklen_t size)
{
    return setsockopt(descriptor, SOL_PACKET, option, value, size);
}

/* Asked of the first socket. */
static int look_at_link(struct opening *opening, int descriptor, struct gs_error *error)
{
    const char *device = opening->config->device;
    unsigned hardware_type = 0;
    opening->link_index = gs_link_index(descriptor, device);
    if (opening->link_index == 0)
        return gs_fail(error, GS_ERROR, "there is no such network interface");
    if (gs_link_type(descriptor, device, &hardware_type) < 0)
        return gs_fail(error, GS_ERROR, "its link type is not supported (hardware type %u)",
                       hardware_type);
    if (opening->group != NULL &&
        gs_link_state(descriptor, device, opening->link_index) == GS_LINK_STATE_DOWN)
        return gs_fail(error, GS_ERROR, "it is down: rings (--fanout) can share a link that is up");
    opening->ignores_outgoing =
        !opening->config->outgoing || gs_link_is_loopback(descriptor, device);
    return GS_OK;
}

static int set_up_socket(const struct opening *opening, int descriptor, struct gs_error *error)
{
    const int yes = 1;
    if (gs_kernel_filter_close(descriptor) != 0) return failed(error, "its filter");
    if (opening->ignores_outgoing &&
        set_option(descriptor, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) != 0)
        return failed(error, "leaving out what is sent");
    GS_RETURN_IF_ERROR(gs_packet_ring_make(descriptor, opening->config, error));
    if (gs_link_bind(descriptor, opening->link_index, opening->config->promiscuous) != 0)
        return failed(error, "binding to it");
    if (opening->group == NULL) return GS_OK;
    return gs_fanout_join(opening->group, descriptor, opening->link_index,
                          opening->ignores_outgoing, error);
}

static int make_socket(struct gs_error *error)
{
    int descriptor = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (descriptor >= 0) return descriptor;
    if (errno == EPERM || errno == EACCES)
        (void)gs_fail(error, GS_ERROR, "capturing needs the capability CAP_NET_RAW");
    else
        (void)failed(error, "packet socket");
    return -1;
}

static int open_each(struct opening *opening, uint32_t count, int *descriptors,
                     struct gs_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        descriptors[i] = make_socket(error);
        if (descriptors[i] < 0) return GS_ERROR;
        if (i == 0) GS_RETURN_IF_ERROR(look_at_link(opening, descriptors[0], error));
        GS_RETURN_IF_ERROR(set_up_socket(opening, descriptors[i], error));
    }
    return GS_OK;
}

static void close_each(uint32_t count, const int *descriptors)
{
    for (uint32_t i = 0; i < count; i++)
        if (descriptors[i] >= 0) close(descriptors[i]);
}

int gs_packet_sockets_open(const struct gs_live_config *config, uint32_t count, int *descriptors,
                           struct gs_error *error)
{
    struct opening opening = {.config = config};
    for (uint32_t i = 0; i < count; i++)
        descriptors[i] = -1;
    if (count > 1) opening.group = gs_fanout_group_new();
    if (count > 1 && opening.group == NULL) return gs_fail(error, GS_ERROR, "out of memory");
    int status = open_each(&opening, count, descriptors, error);
    gs_fanout_group_free(opening.group);
    if (status != GS_OK) close_each(count, descriptors);
    return status;
}

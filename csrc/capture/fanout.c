/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define NUMBER_MASK 0xffff
/* Newer than some C libraries. */
#ifndef PACKET_FANOUT_FLAG_IGNORE_OUTGOING
#define PACKET_FANOUT_FLAG_IGNORE_OUTGOING 0x4000
#endif

struct gs_fanout_group {
    pthread_mutex_t lock;
    int link_index; /* of the device that it is of; 0: it is not founded */
    int number;
    bool has_first;
};

struct gs_fanout_group *gs_fanout_group_new(void)
{
    struct gs_fanout_group *group = calloc(1, sizeof *group);
    if (group != NULL) pthread_mutex_init(&group->lock, NULL);
    return group;
}

void gs_fanout_group_free(struct gs_fanout_group *group)
{
    if (group == NULL) return;
    pthread_mutex_destroy(&group->lock);
    free(group);
}

static int failed(struct gs_error *error, const char *what)
{
    return gs_fail(error, GS_ERROR, "%s: %s", what, strerror(errno));
}

static int join(int descriptor, uint32_t flags, int number)
{
    uint32_t wanted = (PACKET_FANOUT_HASH | flags) << 16 | (uint32_t)number;
    return setsockopt(descriptor, SOL_PACKET, PACKET_FANOUT, &wanted, sizeof wanted);
}

/* The kernel chooses the number. */
static int found(struct gs_fanout_group *group, int descriptor, int link_index, uint32_t flags,
                 struct gs_error *error)
{
    int number = 0;
    socklen_t size = sizeof number;
    if (join(descriptor, flags | PACKET_FANOUT_FLAG_UNIQUEID, 0) != 0)
        return failed(error, "founding a fanout group");
    if (getsockopt(descriptor, SOL_PACKET, PACKET_FANOUT, &number, &size) != 0)
        return failed(error, "the number of a fanout group");
    group->number = number & NUMBER_MASK;
    group->link_index = link_index;
    return GS_OK;
}

bool gs_fanout_is_first(struct gs_fanout_group *group)
{
    pthread_mutex_lock(&group->lock);
    bool is_first = !group->has_first;
    group->has_first = true;
    pthread_mutex_unlock(&group->lock);
    return is_first;
}

/* The kernel takes no socket into the group of a device that is gone, though another has its index:
 * the group of that one is still to be founded. */
static int join_or_found(struct gs_fanout_group *group, int descriptor, int link_index,
                         uint32_t flags, struct gs_error *error)
{
    if (group->link_index == link_index) {
        if (join(descriptor, flags, group->number) == 0) return GS_OK;
        if (errno != EINVAL) return failed(error, "joining a fanout group");
    }
    return found(group, descriptor, link_index, flags, error);
}

int gs_fanout_join(struct gs_fanout_group *group, int descriptor, int link_index,
                   bool ignores_outgoing, struct gs_error *error)
{
    uint32_t flags = ignores_outgoing ? PACKET_FANOUT_FLAG_IGNORE_OUTGOING : 0;
    pthread_mutex_lock(&group->lock);
    int status = join_or_found(group, descriptor, link_index, flags, error);
    pthread_mutex_unlock(&group->lock);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Newer than some C libraries. */
#ifndef ARPHRD_RAWIP
#define ARPHRD_RAWIP 519
#endif

#define LINK_HEADER_BYTES (14 + 2 * 4) /* Ethernet's, and two tags */

static const struct hardware_type {
    unsigned short number; /* ARPHRD_ */
    unsigned short link_type;
} hardware_types[] = {
    {ARPHRD_ETHER, 1},
    {ARPHRD_LOOPBACK, 1},
    {ARPHRD_NONE, 101},
    {ARPHRD_RAWIP, 101},
    {ARPHRD_TUNNEL, 101},
    {ARPHRD_TUNNEL6, 101},
    {ARPHRD_SIT, 101},
    {ARPHRD_IPGRE, 101},
    {ARPHRD_PPP, 101},
    {ARPHRD_IEEE80211, 105},
    {ARPHRD_IEEE80211_RADIOTAP, 127},
};

static struct ifreq request_for(const char *device)
{
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device);
    return request;
}

int gs_link_index(int descriptor, const char *device)
{
    struct ifreq request = request_for(device);
    if (strlen(device) >= IFNAMSIZ || ioctl(descriptor, SIOCGIFINDEX, &request) != 0) return 0;
    return request.ifr_ifindex;
}

bool gs_link_name(int descriptor, int index, char *name)
{
    struct ifreq request = {.ifr_ifindex = index};
    if (ioctl(descriptor, SIOCGIFNAME, &request) != 0) return false;
    memcpy(name, request.ifr_name, IFNAMSIZ);
    return true;
}

static short flags_of(int descriptor, const char *device)
{
    struct ifreq request = request_for(device);
    return ioctl(descriptor, SIOCGIFFLAGS, &request) == 0 ? request.ifr_flags : 0;
}

enum gs_link_state gs_link_state(int descriptor, const char *device, int index)
{
    if (gs_link_index(descriptor, device) != index) return GS_LINK_STATE_GONE;
    const short ready = IFF_UP | IFF_RUNNING;
    short flags = flags_of(descriptor, device);
    return (flags & ready) == ready ? GS_LINK_STATE_UP : GS_LINK_STATE_DOWN;
}

int64_t gs_link_type(int descriptor, const char *device, unsigned *hardware_type)
{
    struct ifreq request = request_for(device);
    if (ioctl(descriptor, SIOCGIFHWADDR, &request) != 0) return -1;
    *hardware_type = request.ifr_hwaddr.sa_family;
    for (size_t i = 0; i < sizeof hardware_types / sizeof *hardware_types; i++)
        if (hardware_types[i].number == *hardware_type) return hardware_types[i].link_type;
    return -1;
}

bool gs_link_is_of_type(int descriptor, const char *device, uint32_t link_type)
{
    unsigned hardware_type;
    return gs_link_type(descriptor, device, &hardware_type) == link_type;
}

bool gs_link_is_loopback(int descriptor, const char *device)
{
    return flags_of(descriptor, device) & IFF_LOOPBACK;
}

uint32_t gs_link_longest_frame(int descriptor, const char *device)
{
    struct ifreq request = request_for(device);
    if (gs_link_is_loopback(descriptor, device) || ioctl(descriptor, SIOCGIFMTU, &request) != 0)
        return UINT32_MAX;
    return (uint32_t)request.ifr_mtu + LINK_HEADER_BYTES;
}

int gs_link_bind(int descriptor, int index, bool promiscuous)
{
    const struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = index};
    const struct packet_mreq request = {.mr_ifindex = index, .mr_type = PACKET_MR_PROMISC};
    if (bind(descriptor, (const struct sockaddr *)&address, sizeof address) != 0) return -1;
    if (promiscuous)
        (void)setsockopt(descriptor, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request);
    return 0;
}

/* A line of /proc/net/dev: "name: bytes packets errs drop …" of what was received. */
static bool read_dropped(const char *line, const char *device, uint64_t *dropped)
{
    unsigned long long bytes, packets, errors, drop;
    size_t length = strlen(device);
    line += strspn(line, " ");
    if (strncmp(line, device, length) != 0 || line[length] != ':') return false;
    if (sscanf(line + length + 1, "%llu %llu %llu %llu", &bytes, &packets, &errors, &drop) != 4)
        return false;
    *dropped = drop;
    return true;
}

uint64_t gs_link_dropped(const char *device)
{
    char line[512];
    uint64_t dropped = 0;
    FILE *devices = fopen("/proc/self/net/dev", "re");
    if (devices == NULL) return 0;
    while (fgets(line, sizeof line, devices) != NULL)
        if (read_dropped(line, device, &dropped)) break;
    fclose(devices);
    return dropped;
}

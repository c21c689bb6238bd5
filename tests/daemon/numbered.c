/* SPDX-License-Identifier: Apache-2.0 */
/* TCP packets that carry their number, 0, 1, 2 …, as their sequence number, out of a device.
 *
 *   numbered DEVICE PACKETS_PER_SECOND COUNT FLOWS SIZE VLAN [FIRST]
 * COUNT 0: until SIGTERM. A flow has a source address of its own: number % FLOWS. SIZE is the
 * frame's, without its tag; VLAN 0: no tag. Says how many it has sent, and how many seconds that
 * took. */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64u
#define MAX_FRAME 9018u
#define TAG_BYTES 4u
#define LATE 0.1 /* s */
#define NS_PER_SECOND 1000000000.0

static volatile sig_atomic_t is_over;
static unsigned char frames[BATCH][MAX_FRAME];
static struct iovec parts[BATCH];
static struct mmsghdr messages[BATCH];

static void end(int number)
{
    (void)number;
    is_over = 1;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / NS_PER_SECOND;
}

/* How late it is already. */
static double wait_for(double time)
{
    double ahead = time - now();
    struct timespec pause = {.tv_nsec = (long)(ahead * NS_PER_SECOND)};
    if (ahead > 0.0001 && ahead < 1) nanosleep(&pause, NULL);
    return ahead < 0 ? -ahead : 0;
}

static int open_device(const char *device)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_ifindex = (int)if_nametoindex(device)};
    int one = 1, descriptor = socket(AF_PACKET, SOCK_RAW, 0);
    if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        fprintf(stderr, "numbered: %s: %m\n", device);
        return -1;
    }
    setsockopt(descriptor, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one);
    return descriptor;
}

static unsigned char *network_header(unsigned char *frame, unsigned vlan)
{
    return frame + ETH_HLEN + (vlan > 0 ? TAG_BYTES : 0);
}

static void fill(unsigned char *frame, unsigned size, unsigned vlan)
{
    static const unsigned char ethernet[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
    static const unsigned char ip[] = {0x45, 0, 0, 0,  0, 0, 0, 0,  64,
                                       6,    0, 0, 10, 0, 0, 0, 10, 255};
    unsigned char *network = network_header(frame, vlan);
    memcpy(frame, ethernet, sizeof ethernet);
    uint16_t tag[] = {htons(ETH_P_8021Q), htons((uint16_t)vlan)}, type = htons(ETH_P_IP);
    if (vlan > 0) memcpy(frame + sizeof ethernet, tag, sizeof tag);
    memcpy(network - sizeof type, &type, sizeof type);
    memcpy(network, ip, sizeof ip);
    uint16_t length = htons((uint16_t)(size - ETH_HLEN));
    memcpy(network + 2, &length, sizeof length);
    network[19] = 1;
    network[20] = 0x30; /* source port */
    network[23] = 80;
    network[32] = 0x50; /* five words of TCP header */
    network[33] = 0x10; /* ACK */
}

static void number(unsigned char *frame, unsigned vlan, uint32_t value, uint32_t flows)
{
    unsigned char *network = network_header(frame, vlan);
    uint32_t sequence = htonl(value), flow = htonl(value % flows);
    memcpy(network + 13, (unsigned char *)&flow + 1, 3);
    memcpy(network + 24, &sequence, sizeof sequence);
}

static int send_all(int descriptor, unsigned count)
{
    for (unsigned done = 0; done < count;) {
        int sent = sendmmsg(descriptor, messages + done, count - done, 0);
        if (sent > 0) done += (unsigned)sent;
        if (sent < 0 && errno != ENOBUFS && errno != EINTR && errno != EAGAIN) return -1;
    }
    return 0;
}

static void prepare(unsigned size, unsigned vlan)
{
    for (unsigned i = 0; i < BATCH; i++) {
        fill(frames[i], size, vlan);
        parts[i] = (struct iovec){frames[i], size + (vlan > 0 ? TAG_BYTES : 0)};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
    }
}

int main(int count, char **words)
{
    if (count < 7) return 2;
    double rate = atof(words[2]), begin = now(), paced_from = begin, late;
    uint64_t total = strtoull(words[3], NULL, 10), sent = 0;
    uint32_t flows = (uint32_t)atoi(words[4]), first = count > 7 ? (uint32_t)atoll(words[7]) : 0;
    unsigned vlan = (unsigned)atoi(words[6]);
    int descriptor = open_device(words[1]);
    if (descriptor < 0) return 1;
    signal(SIGTERM, end);
    prepare((unsigned)atoi(words[5]), vlan);
    while (!is_over && (total == 0 || sent < total)) {
        unsigned batch = total > 0 && total - sent < BATCH ? (unsigned)(total - sent) : BATCH;
        for (unsigned i = 0; i < batch; i++)
            number(frames[i], vlan, first + (uint32_t)(sent + i), flows);
        /* Who stood still goes on at its pace: all at once would be packets of one second. */
        late = wait_for(paced_from + (double)sent / rate);
        if (late > LATE) paced_from += late;
        if (send_all(descriptor, batch) != 0) {
            fprintf(stderr, "numbered: %m\n");
            break;
        }
        sent += batch;
    }
    printf("%llu %.6f\n", (unsigned long long)sent, now() - begin);
    return 0;
}

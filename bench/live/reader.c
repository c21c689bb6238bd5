/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a program can do that counts packets and bytes by (minute, source, destination)
 * from a TPACKET_V3 ring: the yardstick of bench/live. 64 blocks of 1 MiB; a direct-mapped table
 * whose residents leave where another group comes, and are forgotten.
 *
 *   reader DEVICE       until SIGINT; then: packets, received and dropped by the kernel's count */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define BLOCK_BYTES (1u << 20)
#define BLOCK_COUNT 64u
#define SLOTS (1u << 18)

struct group {
    uint32_t time, source, destination;
    uint64_t packets, bytes;
};

static struct group table[SLOTS];
static volatile sig_atomic_t is_over;

static void stop(int number)
{
    (void)number;
    is_over = 1;
}

static void count(const struct tpacket3_hdr *header)
{
    const uint8_t *bytes = (const uint8_t *)header + header->tp_mac;
    struct group key = {.time = header->tp_sec / 60};
    if (header->tp_snaplen < 34 || bytes[12] != 0x08 || bytes[13] != 0) return;
    memcpy(&key.source, bytes + 26, 4);
    memcpy(&key.destination, bytes + 30, 4);
    uint64_t hash = (key.source * 0x9e3779b97f4a7c15u ^ key.destination) * 0xff51afd7ed558ccdu;
    struct group *group = &table[(hash >> 40 ^ key.time) % SLOTS];
    if (group->time != key.time || group->source != key.source ||
        group->destination != key.destination)
        *group = key;
    group->packets++;
    group->bytes += header->tp_len;
}

static uint32_t read_block(struct tpacket_block_desc *block)
{
    uint32_t packets = block->hdr.bh1.num_pkts;
    const struct tpacket3_hdr *header =
        (const void *)((const uint8_t *)block + block->hdr.bh1.offset_to_first_pkt);
    for (uint32_t i = 0; i < packets; i++) {
        count(header);
        header = (const void *)((const uint8_t *)header + header->tp_next_offset);
    }
    __atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    return packets;
}

static uint8_t *open_ring(int descriptor, const char *device)
{
    int version = TPACKET_V3;
    struct tpacket_req3 ring = {.tp_block_size = BLOCK_BYTES,
                                .tp_block_nr = BLOCK_COUNT,
                                .tp_frame_size = 2048,
                                .tp_frame_nr = BLOCK_BYTES / 2048 * BLOCK_COUNT,
                                .tp_retire_blk_tov = 100};
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETH_P_ALL),
                                  .sll_ifindex = (int)if_nametoindex(device)};
    setsockopt(descriptor, SOL_PACKET, PACKET_VERSION, &version, sizeof version);
    if (setsockopt(descriptor, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring) != 0) return NULL;
    uint8_t *blocks = mmap(NULL, (size_t)BLOCK_BYTES * BLOCK_COUNT, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0) return NULL;
    return blocks == MAP_FAILED ? NULL : blocks;
}

int main(int words, char **word)
{
    int descriptor = socket(AF_PACKET, SOCK_RAW, 0);
    uint8_t *blocks = words == 2 ? open_ring(descriptor, word[1]) : NULL;
    struct sigaction action = {.sa_handler = stop};
    struct tpacket_stats_v3 kernel;
    socklen_t size = sizeof kernel;
    uint64_t packets = 0;
    if (blocks == NULL) return 1;
    sigaction(SIGINT, &action, NULL);
    for (uint32_t at = 0; !is_over;) {
        struct tpacket_block_desc *block = (void *)(blocks + (size_t)at * BLOCK_BYTES);
        if (__atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) {
            packets += read_block(block);
            at = (at + 1) % BLOCK_COUNT;
            continue;
        }
        struct pollfd wanted = {.fd = descriptor, .events = POLLIN};
        (void)poll(&wanted, 1, 1000);
    }
    getsockopt(descriptor, SOL_PACKET, PACKET_STATISTICS, &kernel, &size);
    printf("%llu %u %u\n", (unsigned long long)packets, kernel.tp_packets, kernel.tp_drops);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Frames into the receive path of a device, faster than a socket can send: the kernel runs a little
 * XDP program over a frame again and again and passes each copy up as if the device had received it
 * (BPF_PROG_TEST_RUN with live frames). The program gives each copy one of so many source
 * addresses, a power of two up to 65,536.
 *
 *   send DEVICE ADDRESSES PACKETS_PER_SECOND SECONDS     0 packets per second: as fast as it goes
 * says how many it sent, and how long that took. */
#include <linux/bpf.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FRAME_BYTES 60 /* 64 with the checksum, which no receiver sees */
#define BATCH 64
#define CALLS_PER_SECOND 8 /* each costs some 30 ms before its first packet */
#define CALL_PACKETS_UNPACED (1u << 19)
#define NS_PER_SECOND 1000000000.0

#define INSTRUCTION(c, d, s, o, i)                                                                 \
    ((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})

static const unsigned char frame_head[] = {
    0x02, 0,    0,    0,    0, 2,  0x02, 0, 0,  0,  0, 1, 0x08, 0x00, /* Ethernet */
    0x45, 0,    0,    46,   0, 0,  0,    0, 64, 17, 0, 0, 10,   1,
    0,    0,    10,   2,    0, 1, /* IPv4, UDP */
    0x30, 0x39, 0x00, 0x35, 0, 26, 0,    0,
};

static long bpf(int command, union bpf_attr *attributes)
{
    return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

static int load(int addresses)
{
    const struct bpf_insn program[] = {
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0),
        INSTRUCTION(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_prandom_u32),
        INSTRUCTION(BPF_ALU64 | BPF_AND | BPF_K, 0, 0, 0, addresses - 1),
        INSTRUCTION(BPF_LDX | BPF_MEM | BPF_W, 2, 6, 0, 0), /* data */
        INSTRUCTION(BPF_LDX | BPF_MEM | BPF_W, 3, 6, 4, 0), /* data_end */
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, 34),
        INSTRUCTION(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 1, 0),
        INSTRUCTION(BPF_STX | BPF_MEM | BPF_H, 2, 0, 28, 0), /* low half of the source address */
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS),
        INSTRUCTION(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
    static char log[4096];
    union bpf_attr attributes = {.prog_type = BPF_PROG_TYPE_XDP,
                                 .insns = (uint64_t)(uintptr_t)program,
                                 .insn_cnt = sizeof program / sizeof *program,
                                 .license = (uint64_t)(uintptr_t) "GPL",
                                 .log_buf = (uint64_t)(uintptr_t)log,
                                 .log_size = sizeof log,
                                 .log_level = 1};
    int program_fd = (int)bpf(BPF_PROG_LOAD, &attributes);
    if (program_fd < 0) fprintf(stderr, "send: BPF_PROG_LOAD: %m\n%s", log);
    return program_fd;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / NS_PER_SECOND;
}

static int run(int program, unsigned char *frame, unsigned device, uint32_t packets)
{
    struct xdp_md context = {.data_end = FRAME_BYTES, .ingress_ifindex = device};
    union bpf_attr attributes = {.test = {.prog_fd = (uint32_t)program,
                                          .data_in = (uint64_t)(uintptr_t)frame,
                                          .data_size_in = FRAME_BYTES,
                                          .ctx_in = (uint64_t)(uintptr_t)&context,
                                          .ctx_size_in = sizeof context,
                                          .repeat = packets,
                                          .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
                                          .batch_size = BATCH}};
    if (bpf(BPF_PROG_TEST_RUN, &attributes) == 0) return 0;
    fprintf(stderr, "send: BPF_PROG_TEST_RUN: %m\n");
    return -1;
}

static void wait_for(double time)
{
    double ahead = time - now();
    struct timespec pause = {.tv_nsec = (long)(ahead * NS_PER_SECOND)};
    if (ahead > 0.0001 && ahead < 1) nanosleep(&pause, NULL);
}

int main(int count, char **words)
{
    unsigned char frame[FRAME_BYTES] = {0};
    if (count != 5) return 2;
    unsigned device = if_nametoindex(words[1]);
    double rate = atof(words[3]), begin, end;
    int program = load(atoi(words[2]));
    if (program < 0 || device == 0) return 1;
    memcpy(frame, frame_head, sizeof frame_head);
    uint64_t sent = 0;
    uint32_t packets = rate > 0 ? (uint32_t)(rate / CALLS_PER_SECOND) : CALL_PACKETS_UNPACED;
    begin = now();
    end = begin + atof(words[4]);
    while (now() < end) {
        if (rate > 0) wait_for(begin + (double)sent / rate);
        if (run(program, frame, device, packets) != 0) return 1;
        sent += packets;
    }
    printf("%llu %.6f\n", (unsigned long long)sent, now() - begin);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Numbered packets (numbered.c) into the receive path of a device, as bench/live/send.c does it:
 * the kernel runs an XDP program over a frame again and again, which gives each copy its number.
 *
 *   numbered_fast DEVICE PACKETS_PER_SECOND FLOWS    FLOWS: a power of two up to 65,536
 * Until SIGTERM; says how many it sent, and how long that took. */
#include <linux/bpf.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
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
#define NS_PER_SECOND 1000000000.0

#define INSTRUCTION(c, d, s, o, i)                                                                 \
    ((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})

static const unsigned char frame_head[] = {
    2,    0,  0, 0,  0, 2, 2, 0, 0,  0, 0, 1, 8,    0,                         /* Ethernet */
    0x45, 0,  0, 46, 0, 0, 0, 0, 64, 6, 0, 0, 10,   0,    0, 0, 10, 255, 0, 1, /* IPv4 */
    0x30, 57, 0, 80, 0, 0, 0, 0, 0,  0, 0, 0, 0x50, 0x10,                      /* TCP */
};

static long bpf(int command, union bpf_attr *attributes)
{
    return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

static int make_counter(void)
{
    union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_ARRAY,
                                 .key_size = sizeof(uint32_t),
                                 .value_size = sizeof(uint32_t),
                                 .max_entries = 1};
    return (int)bpf(BPF_MAP_CREATE, &attributes);
}

static int load(int flows)
{
    const struct bpf_insn program[] = {
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0),
        INSTRUCTION(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4),
        INSTRUCTION(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, make_counter()),
        INSTRUCTION(0, 0, 0, 0, 0),
        INSTRUCTION(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
        INSTRUCTION(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 15, 0),
        INSTRUCTION(BPF_LDX | BPF_MEM | BPF_W, 7, 0, 0, 0), /* the number */
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, 8, 7, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, 8, 0, 0, 1),
        INSTRUCTION(BPF_STX | BPF_MEM | BPF_W, 0, 8, 0, 0),
        INSTRUCTION(BPF_LDX | BPF_MEM | BPF_W, 2, 6, 0, 0), /* data */
        INSTRUCTION(BPF_LDX | BPF_MEM | BPF_W, 3, 6, 4, 0), /* data_end */
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, 54),
        INSTRUCTION(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 6, 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, 9, 7, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_AND | BPF_K, 9, 0, 0, flows - 1),
        INSTRUCTION(BPF_STX | BPF_MEM | BPF_H, 2, 9, 28, 0), /* low half of the source address */
        INSTRUCTION(BPF_ALU | BPF_END | BPF_TO_BE, 7, 0, 0, 32),
        INSTRUCTION(BPF_STX | BPF_MEM | BPF_W, 2, 7, 38, 0), /* the sequence number */
        INSTRUCTION(BPF_JMP | BPF_JA, 0, 0, 0, 0),
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
    if (program_fd < 0) fprintf(stderr, "numbered_fast: BPF_PROG_LOAD: %m\n%s", log);
    return program_fd;
}

/* The signal waits: it would break off a call that does not say how many it has sent. */
static bool is_over(void)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGTERM) == 1;
}

static void let_wait(void)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
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
    fprintf(stderr, "numbered_fast: BPF_PROG_TEST_RUN: %m\n");
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
    if (count != 4) return 2;
    unsigned device = if_nametoindex(words[1]);
    double rate = atof(words[2]), begin = now();
    int program = load(atoi(words[3]));
    if (program < 0 || device == 0) return 1;
    let_wait();
    memcpy(frame, frame_head, sizeof frame_head);
    uint64_t sent = 0;
    uint32_t packets = (uint32_t)(rate / CALLS_PER_SECOND);
    while (!is_over()) {
        wait_for(begin + (double)sent / rate);
        if (run(program, frame, device, packets) != 0) return 1;
        sent += packets;
    }
    printf("%llu %.6f\n", (unsigned long long)sent, now() - begin);
    return 0;
}

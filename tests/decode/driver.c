/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes frames and prints every field of each as a JSON object, absent ones as null.
 *
 *   driver                  lines of `link len depth timestamp_ns hex` on stdin, one object each
 *   driver fuzz SECONDS     mutates the same lines, for so long of the processor's time; every
 *                           frame in a buffer of exactly its size, so that AddressSanitizer sees
 *                           one byte too far; prints the count, and how many datagrams were put
 *                           together of them, segments held */
#include <time.h>

#include "checks.h"
#include "turns.h"
#include "wholes.h"

#define MILLISECOND_NS 1000000
#define OF_TUNNELS 10 /* a depth from here on: that all is decoded, and so many tunnels opened */
#define LINE_BYTES (4u << 20)
#define CORPUS_CAPACITY 4096
#define FUZZ_FRAME_BYTES 512u

static enum gs_depth depth_of(unsigned number)
{
    return number > 3 ? GS_DEPTH_TRANSPORT : (enum gs_depth)number;
}

static void parse_hex(const char *hex, struct frame *frame)
{
    frame->caplen = (uint32_t)(strspn(hex, "0123456789abcdef") / 2);
    frame->bytes = malloc(frame->caplen > 0 ? frame->caplen : 1);
    if (frame->bytes == NULL) exit(1);
    for (uint32_t i = 0; i < frame->caplen; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};
        frame->bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

static bool read_frame(char *line, struct frame *frame)
{
    unsigned link, depth;
    int at = 0;

    if (fgets(line, LINE_BYTES, stdin) == NULL) return false;
    if (sscanf(line, "%u %" SCNu32 " %u %" SCNd64 " %n", &link, &frame->len, &depth,
               &frame->timestamp_ns, &at) != 4)
        exit(2);
    frame->link = (uint8_t)link;
    frame->depth = depth_of(depth);
    frame->tunnels = depth < OF_TUNNELS ? 0 : depth - OF_TUNNELS;
    parse_hex(line + at, frame);
    return true;
}

static void print_frames(char *line)
{
    struct frame frame;

    while (read_frame(line, &frame)) {
        struct gs_packet deepest = decoded(&frame, GS_DEPTH_TRANSPORT);
        struct gs_packet packet = decoded(&frame, frame.depth);
        struct gs_packet inner = opened(&frame, &deepest);

        check_packet(&frame, &deepest);
        print_packet(stdout, frame.tunnels > 0 ? &inner : &packet);
        free(frame.bytes);
    }
}

static uint32_t read_corpus(char *line, struct frame *corpus)
{
    uint32_t count = 0;

    while (count < CORPUS_CAPACITY && read_frame(line, &corpus[count]))
        count++;
    return count;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The numbers at which the decoder turns, more often than chance would have them. */
static const uint8_t telling_bytes[] = {0x00, 0x01, 0x04, 0x06, 0x08, 0x11, 0x29, 0x2b, 0x2c, 0x33,
                                        0x3a, 0x3c, 0x40, 0x45, 0x46, 0x4f, 0x5f, 0x60, 0x64, 0x81,
                                        0x86, 0x88, 0x47, 0xa8, 0xaa, 0xc2, 0xdd, 0xf0, 0xff};

static void mutate(uint8_t *bytes, uint32_t length, uint64_t *state)
{
    uint32_t changes = (uint32_t)(next_random(state) % 6);

    for (uint32_t i = 0; i < changes && length > 0; i++) {
        uint64_t dice = next_random(state);
        uint32_t at = (uint32_t)(dice >> 32) % (dice & 1 ? length : (length < 64 ? length : 64));

        if (dice & 2)
            bytes[at] = telling_bytes[(dice >> 8 & 0xff) % sizeof telling_bytes];
        else
            bytes[at] ^= (uint8_t)(1u << (dice >> 8 & 7));
    }
}

/* A frame of at most FUZZ_FRAME_BYTES: cut, or two of them spliced, then changed. */
static struct frame mutant(const struct frame *corpus, uint32_t count, uint64_t *state)
{
    struct frame frame = corpus[next_random(state) % count];
    const struct frame *other = &corpus[next_random(state) % count];
    uint32_t head = frame.caplen < FUZZ_FRAME_BYTES ? frame.caplen : FUZZ_FRAME_BYTES;
    uint32_t tail = 0;
    uint8_t *bytes;

    if (next_random(state) % 4 == 0 && head > 0) head = (uint32_t)(next_random(state) % head);
    if (next_random(state) % 4 == 0)
        tail = other->caplen < FUZZ_FRAME_BYTES - head ? other->caplen : FUZZ_FRAME_BYTES - head;
    bytes = malloc(head + tail > 0 ? head + tail : 1);
    if (bytes == NULL) exit(1);
    memcpy(bytes, frame.bytes, head);
    memcpy(bytes + head, other->bytes, tail);
    frame.bytes = bytes;
    frame.caplen = head + tail;
    if (next_random(state) % 4 == 0) frame.link = (uint8_t)(next_random(state) % GS_LINK_END);
    mutate(bytes, frame.caplen, state);
    return frame;
}

static void fuzz(char *line, struct frame *corpus, int seconds)
{
    uint32_t count = read_corpus(line, corpus);
    uint64_t state = 0x9e3779b97f4a7c15u, frames = 0;
    clock_t end = clock() + (clock_t)seconds * CLOCKS_PER_SEC;
    struct gs_datagrams *datagrams = open_datagrams();
    struct turns turns = open_turns();
    FILE *nowhere = fopen("/dev/null", "w");

    if (nowhere == NULL || count == 0) exit(2);
    for (; frames % 1024 != 0 || clock() < end; frames++) {
        struct frame frame = mutant(corpus, count, &state);
        struct gs_packet packet = decoded(&frame, GS_DEPTH_TRANSPORT);

        frame.tunnels = 4;
        struct gs_packet inner = opened(&frame, &packet);

        if (frame.link != 0) check_packet(&frame, &packet);
        check_whole(datagrams, packet, 0);
        if (inner.outer != NULL) check_whole(datagrams, inner, 1);
        inner.timestamp_ns = (int64_t)frames * MILLISECOND_NS;
        check_turn(&turns, &inner, inner.outer != NULL);
        print_packet(nowhere, &packet);
        print_packet(nowhere, &inner);
        free(frame.bytes);
    }
    fclose(nowhere);
    for (uint32_t i = 0; i < count; i++)
        free(corpus[i].bytes);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", frames, datagrams->counts.datagrams,
           turns.segments->counts.held);
    end_datagrams(datagrams);
    gs_datagrams_close(datagrams);
    close_turns(&turns);
}

int main(int argc, char **argv)
{
    char *line = malloc(LINE_BYTES);
    struct frame *corpus = malloc(CORPUS_CAPACITY * sizeof *corpus);

    if (line == NULL || corpus == NULL) return 1;
    if (argc == 1)
        print_frames(line);
    else if (argc == 3 && strcmp(argv[1], "fuzz") == 0)
        fuzz(line, corpus, atoi(argv[2]));
    else
        return 2;
    free(corpus);
    free(line);
    return 0;
}

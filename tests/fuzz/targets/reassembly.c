/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: frames that may be fragments, one after the other. Of each: its link, the seconds
 * since the one before, two bytes of how long it is, then the frame, in memory of exactly its size.
 */
#include "../../decode/wholes.h"

#define HEAD_BYTES 4

static void take(struct gs_datagrams *datagrams, struct gs_packet_clock *clock,
                 const struct frame *frame)
{
    struct gs_packet packet = decoded(frame, GS_DEPTH_TRANSPORT);
    struct gs_packet inner = opened(frame, &packet);

    check_packet(frame, &packet);
    gs_packet_clock_see(clock, frame->timestamp_ns);
    gs_datagrams_expire(datagrams, clock);
    check_whole(datagrams, packet, 0);
    if (inner.outer != NULL) check_whole(datagrams, inner, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gs_packet_clock clock = {INT64_MIN, INT64_MIN};
    static struct gs_datagrams *datagrams; /* empty between two inputs */
    int64_t now_ns = 0;

    if (size > 1 << 16) return 0;
    if (datagrams == NULL) datagrams = open_datagrams();
    for (size_t at = 0, length; at + HEAD_BYTES <= size; at += HEAD_BYTES + length) {
        size_t left = size - at - HEAD_BYTES;
        struct frame frame = {.link = data[at] % GS_LINK_END, .tunnels = 4};

        now_ns += (int8_t)data[at + 1] * INT64_C(1000000000);
        length = gs_load_be16(data + at + 2);
        if (length > left) length = left;
        frame.bytes = allocate(length); /* exactly: one byte too far is seen */
        memcpy(frame.bytes, data + at + HEAD_BYTES, length);
        frame.caplen = frame.len = (uint32_t)length;
        frame.timestamp_ns = now_ns;
        take(datagrams, &clock, &frame);
        free(frame.bytes);
    }
    end_datagrams(datagrams);
    return 0;
}

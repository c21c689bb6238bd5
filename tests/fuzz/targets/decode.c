/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: one frame of any link type in memory of exactly its size. Bytes: link, wire length
 * beyond the captured bytes, then the frame. */
#include <string.h>

#include "../../decode/checks.h"

static void show(const struct gs_packet *packet)
{
    static FILE *nowhere;
    if (nowhere == NULL) nowhere = fopen("/dev/null", "w");
    if (nowhere != NULL) print_packet(nowhere, packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 1 << 16) return 0;
    uint32_t caplen = (uint32_t)size - 2;
    struct frame frame = {.bytes = malloc(caplen), /* exactly: one byte too far is seen */
                          .caplen = caplen,
                          .len = caplen + data[1],
                          .link = data[0] % GS_LINK_END};
    if (frame.bytes == NULL) return 0;
    memcpy(frame.bytes, data + 2, caplen);
    struct gs_packet packet = decoded(&frame, GS_DEPTH_TRANSPORT);
    check_packet(&frame, &packet);
    show(&packet);
    frame.tunnels = 4;
    struct gs_packet inner = opened(&frame, &packet);
    show(&inner);
    free(frame.bytes);
    return 0;
}

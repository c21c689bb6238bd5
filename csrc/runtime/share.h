/* SPDX-License-Identifier: Apache-2.0 */
/* Of several engines that read the same packets each gives its sets those of its share: all that
 * have the same addresses, whatever they came in, are of one. */
#ifndef GS_RUNTIME_SHARE_H
#define GS_RUNTIME_SHARE_H

#include "gs_packet.h"

struct gs_share {
    uint32_t part, parts; /* parts below 2: all are its own */
    uint64_t key;         /* the same in all of them; nobody on the wire can know it */
    uint64_t ends;        /* the bytes of both addresses of IPv4, as they lie, that matter */
};

/* Leaves those of the share at the front, in their order, and says how many they are. Nothing of
 * them is decoded; frames are of an Ethernet link. */
uint32_t gs_share_keep_frames(const struct gs_share *share, struct gs_frame *frames,
                              uint32_t count);
uint32_t gs_share_keep_packets(const struct gs_share *share, struct gs_packet *packets,
                               uint32_t count);

/* Which addresses matter: of the source, of the destination, or both. */
struct gs_share gs_share_of(uint32_t part, uint32_t parts, bool by_source, bool by_destination,
                            uint64_t key);

#endif

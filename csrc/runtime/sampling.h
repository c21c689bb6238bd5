/* SPDX-License-Identifier: Apache-2.0 */
/* Of a host that cannot follow: only the packets of 1 in 2^shift flows are given to the query sets.
 * A flow is seen whole or not at all, both of its directions, and the flows of a greater shift are
 * among those of a lesser. */
#ifndef GS_RUNTIME_SAMPLING_H
#define GS_RUNTIME_SAMPLING_H

#include "gs_hash.h"
#include "gs_packet.h"

struct gs_sampling {
    uint32_t shift;                  /* 0: every packet is given */
    uint64_t key[GS_HASH_KEY_WORDS]; /* nobody on the wire can know which flows are left out */
};

/* Leaves the packets that are given at the front, in their order, and says how many they are. They
 * are decoded as deep as GS_DEPTH_TRANSPORT. */
uint32_t gs_sampling_keep(const struct gs_sampling *sampling, struct gs_packet *packets,
                          uint32_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* IPv6 with its extension headers (ipv6.c). */
#ifndef GS_DECODE_IPV6_WHOLE_H
#define GS_DECODE_IPV6_WHOLE_H

#include "gs_decode_ipv6.h"

/* Walks what stands between the fixed header and the protocol, if anything does; the fixed
 * header's fields are set. */
enum gs_layer gs_decode_ipv6_extensions(struct gs_packet *packet);

static inline enum gs_layer gs_decode_ipv6(struct gs_packet *packet, uint32_t offset)
{
    enum gs_layer next = gs_decode_ipv6_fixed(packet, offset);

    if (next != GS_LAYER_END || !(packet->protocols & GS_PROTOCOL_IPV6)) return next;
    return gs_decode_ipv6_extensions(packet);
}

#endif

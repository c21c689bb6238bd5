/* SPDX-License-Identifier: Apache-2.0 */
/* The extension headers of IPv6 that are walked, for the decoder and for the accessors of the
 * fragment header's fields. */
#ifndef GS_IPV6_EXTENSION_H
#define GS_IPV6_EXTENSION_H

#include "gs_types.h"

enum gs_ipv6_extension {
    GS_IPV6_HOP_BY_HOP = 0,
    GS_IPV6_ROUTING = 43,
    GS_IPV6_FRAGMENT = 44,
    GS_IPV6_AUTHENTICATION = 51,
    GS_IPV6_DESTINATION = 60
};

static inline bool gs_ipv6_is_extension(uint8_t protocol)
{
    return protocol == GS_IPV6_HOP_BY_HOP || protocol == GS_IPV6_ROUTING ||
           protocol == GS_IPV6_FRAGMENT || protocol == GS_IPV6_AUTHENTICATION ||
           protocol == GS_IPV6_DESTINATION;
}

/* Bytes of the extension header `protocol` at `header`, of which 8 are readable; at least 8. */
static inline uint32_t gs_ipv6_extension_length(uint8_t protocol, const uint8_t *header)
{
    if (protocol == GS_IPV6_FRAGMENT) return 8;
    if (protocol == GS_IPV6_AUTHENTICATION) return (header[1] + 2u) * 4; /* RFC 4302 counts so */
    return (header[1] + 1u) * 8;
}

#endif

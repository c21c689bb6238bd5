/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of address one is. An IPv4 address in an INET, or mapped into IPv6, is what it is as
 * an IPv4 address. */
#ifndef GS_ADDRESSES_H
#define GS_ADDRESSES_H

#include "gs_functions.h"

static inline bool gs_ip_has_prefix(uint32_t ip, uint32_t prefix, int bits)
{
    return (ip ^ prefix) >> (32 - bits) == 0;
}

/* RFC 1918. */
static inline bool gs_function_is_private_ip(uint32_t ip)
{
    return gs_ip_has_prefix(ip, UINT32_C(0x0a000000), 8) ||
           gs_ip_has_prefix(ip, UINT32_C(0xac100000), 12) ||
           gs_ip_has_prefix(ip, UINT32_C(0xc0a80000), 16);
}

static inline bool gs_function_is_multicast_ip(uint32_t ip)
{
    return gs_ip_has_prefix(ip, UINT32_C(0xe0000000), 4);
}

static inline bool gs_function_is_loopback_ip(uint32_t ip)
{
    return gs_ip_has_prefix(ip, UINT32_C(0x7f000000), 8);
}

/* RFC 3927. */
static inline bool gs_function_is_link_local_ip(uint32_t ip)
{
    return gs_ip_has_prefix(ip, UINT32_C(0xa9fe0000), 16);
}

/* The first 16 bits of an address. */
static inline uint32_t gs_inet_head(struct gs_inet address)
{
    uint8_t first[2];
    memcpy(first, &address, 2);
    return (uint32_t)first[0] << 8 | first[1];
}

/* fc00::/7: RFC 4193. */
static inline bool gs_is_private_six(struct gs_inet address)
{
    return gs_inet_head(address) >> 9 == 0xfc00 >> 9;
}

static inline bool gs_is_multicast_six(struct gs_inet address)
{
    return gs_inet_head(address) >> 8 == 0xff;
}

static inline bool gs_is_loopback_six(struct gs_inet address)
{
    return address.words[0] == 0 && address.words[1] == __builtin_bswap64(1);
}

/* fe80::/10. */
static inline bool gs_is_link_local_six(struct gs_inet address)
{
    return gs_inet_head(address) >> 6 == 0xfe80 >> 6;
}

#define GS_KIND_OF_ADDRESS(name)                                                                   \
    static inline bool gs_function_##name##_inet(struct gs_inet address)                           \
    {                                                                                              \
        return gs_inet_is_ip(address) ? gs_function_##name##_ip(gs_inet_to_ip(address))            \
                                      : gs_##name##_six(address);                                  \
    }                                                                                              \
    static inline bool gs_function_##name##_ipv6(struct gs_inet address)                           \
    {                                                                                              \
        return gs_function_##name##_inet(address);                                                 \
    }

GS_KIND_OF_ADDRESS(is_private)
GS_KIND_OF_ADDRESS(is_multicast)
GS_KIND_OF_ADDRESS(is_loopback)
GS_KIND_OF_ADDRESS(is_link_local)
#undef GS_KIND_OF_ADDRESS

/* 4 or 6. */
static inline uint32_t gs_function_family_ip(uint32_t ip)
{
    (void)ip;
    return 4;
}

static inline uint32_t gs_function_family_inet(struct gs_inet address)
{
    return gs_inet_is_ip(address) ? 4 : 6;
}

static inline uint32_t gs_function_family_ipv6(struct gs_inet address)
{
    return gs_function_family_inet(address);
}

#endif

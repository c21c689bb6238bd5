/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that systems have for the address families of IP: none means another elsewhere. */
#include "layer.h"

enum gs_layer gs_layer_of_address_family(uint32_t family)
{
    switch (family) {
    case 2:
        return GS_LAYER_IPV4;
    case 10: /* AF_INET6 of Linux, Windows, NetBSD and OpenBSD, FreeBSD, macOS */
    case 23:
    case 24:
    case 28:
    case 30:
        return GS_LAYER_IPV6;
    default:
        return GS_LAYER_END;
    }
}

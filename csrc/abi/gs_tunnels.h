/* SPDX-License-Identifier: Apache-2.0 */
/* Which packets are tunnels of a query (GSQL section 2, decapsulate), as generated code says it.
 * Its tables are made from gigastream/gsql/tunnels.py, which alone knows the numbers. */
#ifndef GS_TUNNELS_H
#define GS_TUNNELS_H

#include "gs_types.h"

/* What stands between the outer packet and the inner one. */
enum gs_tunnel {
    GS_TUNNEL_IPV4 = 0, /* nothing: the inner packet is of IP */
    GS_TUNNEL_IPV6,
    GS_TUNNEL_GRE,
    GS_TUNNEL_VXLAN,
    GS_TUNNEL_GENEVE,
    GS_TUNNEL_GTP,
    GS_TUNNEL_TEREDO,
    GS_TUNNEL_PSEUDOWIRE
};

struct gs_tunnel_rule {
    uint8_t tunnel;         /* enum gs_tunnel */
    uint8_t ip_protocol;    /* that carries it; 0: it follows MPLS labels */
    uint16_t udp_port;      /* the destination's, 0: it is not over UDP */
    bool is_port_of_either; /* the source's port may be it, too */
};

/* The tunnels that a query opens. */
struct gs_tunnels {
    const struct gs_tunnel_rule *rules;
    uint32_t count; /* 0: none, packets are taken as they are */
    uint32_t depth; /* how many of them, one inside of the other */
};

#endif

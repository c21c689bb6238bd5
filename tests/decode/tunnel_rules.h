/* SPDX-License-Identifier: Apache-2.0 */
/* All rules of gigastream/gsql/tunnels.py, which test_tunnels.py holds against them. */
#ifndef GS_TESTS_DECODE_TUNNEL_RULES_H
#define GS_TESTS_DECODE_TUNNEL_RULES_H

#include "gs_tunnels.h"

static const struct gs_tunnel_rule tunnel_rules[] = {
    {GS_TUNNEL_VXLAN, 17, 4789, false},  {GS_TUNNEL_VXLAN, 17, 8472, false},
    {GS_TUNNEL_GENEVE, 17, 6081, false}, {GS_TUNNEL_GRE, 47, 0, false},
    {GS_TUNNEL_GTP, 17, 2152, false},    {GS_TUNNEL_IPV4, 4, 0, false},
    {GS_TUNNEL_IPV6, 41, 0, false},      {GS_TUNNEL_TEREDO, 17, 3544, true},
    {GS_TUNNEL_PSEUDOWIRE, 0, 0, false},
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What follows an EtherType. Pseudowires, VN-tag, E-tag, NSH and MACsec are left out on purpose
 * (GSQL section 8). */
#include "layer.h"

#define GREATEST_LLC_LENGTH 1500 /* IEEE 802.3: up to here it is a length, from 1536 on a type */

static const struct {
    uint16_t ether_type;
    uint8_t layer;
} ether_types[] = {
    {0x0800, GS_LAYER_IPV4}, {0x86dd, GS_LAYER_IPV6}, {0x8100, GS_LAYER_VLAN},
    {0x88a8, GS_LAYER_VLAN}, {0x9100, GS_LAYER_VLAN}, {0x9200, GS_LAYER_VLAN},
    {0x8847, GS_LAYER_MPLS}, {0x8848, GS_LAYER_MPLS}, {0x8864, GS_LAYER_PPPOE},
};

enum gs_layer gs_layer_of_ether_type(uint16_t ether_type)
{
    for (size_t i = 0; i < sizeof ether_types / sizeof ether_types[0]; i++)
        if (ether_types[i].ether_type == ether_type) return (enum gs_layer)ether_types[i].layer;
    return GS_LAYER_END;
}

enum gs_layer gs_layer_of_type_or_length(uint16_t type_or_length)
{
    if (type_or_length <= GREATEST_LLC_LENGTH) return GS_LAYER_LLC;
    return gs_layer_of_ether_type(type_or_length);
}

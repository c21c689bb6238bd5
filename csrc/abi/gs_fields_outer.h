/* SPDX-License-Identifier: Apache-2.0 */
/* Of the packet that was captured, where a tunnel was opened and another has taken its place: its
 * fields with the prefix outer_. A packet that was in no tunnel has none of them. */
#ifndef GS_FIELDS_OUTER_H
#define GS_FIELDS_OUTER_H

#include "gs_fields.h"

/* `caplen` is the record's, too, where the packet's own ends with what the tunnel carries. */
static inline bool gs_field_record_caplen(const struct gs_packet *p, uint32_t *bytes)
{
    *bytes = p->outer != NULL ? p->outer->caplen : p->caplen;
    return true;
}

#define GS_FIELD_OUTER(field, type, needed)                                                        \
    static inline bool gs_field_outer_##field(const struct gs_packet *p, type *value)              \
    {                                                                                              \
        return p->outer != NULL && (p->outer->protocols & GS_PROTOCOL_##needed) &&                 \
               gs_field_##field(p->outer, value);                                                  \
    }

GS_FIELD_OUTER(srcMAC, uint64_t, PKT)
GS_FIELD_OUTER(destMAC, uint64_t, PKT)
GS_FIELD_OUTER(etherType, uint16_t, PKT)
GS_FIELD_OUTER(vlan, uint16_t, PKT)
GS_FIELD_OUTER(inner_vlan, uint16_t, PKT)
GS_FIELD_OUTER(mpls_label, uint32_t, PKT)
GS_FIELD_OUTER(ipversion, uint16_t, IP)
GS_FIELD_OUTER(hdr_length, uint16_t, IP)
GS_FIELD_OUTER(tos, uint16_t, IP)
GS_FIELD_OUTER(dscp, uint16_t, IP)
GS_FIELD_OUTER(ecn, uint16_t, IP)
GS_FIELD_OUTER(total_length, uint32_t, IP)
GS_FIELD_OUTER(id, uint32_t, IP)
GS_FIELD_OUTER(dont_frag, uint8_t, IP)
GS_FIELD_OUTER(more_frag, uint8_t, IP)
GS_FIELD_OUTER(offset, uint16_t, IP)
GS_FIELD_OUTER(ttl, uint16_t, IP)
GS_FIELD_OUTER(protocol, uint16_t, IP)
GS_FIELD_OUTER(srcIP_inet, struct gs_inet, IP)
GS_FIELD_OUTER(destIP_inet, struct gs_inet, IP)
GS_FIELD_OUTER(flow_label, uint32_t, IP)
GS_FIELD_OUTER(srcPort, uint16_t, DATAPROTOCOL)
GS_FIELD_OUTER(destPort, uint16_t, DATAPROTOCOL)
GS_FIELD_OUTER(data_length, uint32_t, DATAPROTOCOL)

#undef GS_FIELD_OUTER

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Of IP, either version (gs_fields.h). */
#ifndef GS_FIELDS_NETWORK_H
#define GS_FIELDS_NETWORK_H

#include "gs_ipv6_extension.h"
#include "gs_packet.h"

/* IPV4, IPV6, IP */

static inline const uint8_t *gs_network_header(const struct gs_packet *p)
{
    return p->bytes + p->network_offset;
}

static inline bool gs_is_ipv4(const struct gs_packet *p)
{
    return p->protocols & GS_PROTOCOL_IPV4;
}

static inline bool gs_field_ipversion_ipv4(const struct gs_packet *p, uint16_t *value)
{
    (void)p;
    *value = 4;
    return true;
}

static inline bool gs_field_ipversion_ipv6(const struct gs_packet *p, uint16_t *value)
{
    (void)p;
    *value = 6;
    return true;
}

static inline bool gs_field_ipversion(const struct gs_packet *p, uint16_t *value)
{
    *value = gs_is_ipv4(p) ? 4 : 6;
    return true;
}

/* Bytes, not words; of IPv6 the fixed header alone. */
static inline bool gs_field_hdr_length_ipv4(const struct gs_packet *p, uint16_t *bytes)
{
    *bytes = (uint16_t)((gs_network_header(p)[0] & 0x0f) * 4);
    return true;
}

static inline bool gs_field_hdr_length_ipv6(const struct gs_packet *p, uint16_t *bytes)
{
    (void)p;
    *bytes = 40;
    return true;
}

static inline bool gs_field_hdr_length(const struct gs_packet *p, uint16_t *bytes)
{
    return gs_is_ipv4(p) ? gs_field_hdr_length_ipv4(p, bytes) : gs_field_hdr_length_ipv6(p, bytes);
}

/* The traffic class of IPv6 is the same octet: DSCP in six bits, ECN in two. */
static inline bool gs_field_tos_ipv4(const struct gs_packet *p, uint16_t *value)
{
    *value = gs_network_header(p)[1];
    return true;
}

static inline bool gs_field_tos_ipv6(const struct gs_packet *p, uint16_t *value)
{
    *value = gs_load_be16(gs_network_header(p)) >> 4 & 0xff;
    return true;
}

static inline bool gs_field_tos(const struct gs_packet *p, uint16_t *value)
{
    return gs_is_ipv4(p) ? gs_field_tos_ipv4(p, value) : gs_field_tos_ipv6(p, value);
}

static inline bool gs_field_dscp(const struct gs_packet *p, uint16_t *value)
{
    gs_field_tos(p, value);
    *value >>= 2;
    return true;
}

static inline bool gs_field_ecn(const struct gs_packet *p, uint16_t *value)
{
    gs_field_tos(p, value);
    *value &= 3;
    return true;
}

/* As it stands in the header: 0 where segmentation offload left it so. */
static inline bool gs_field_total_length_ipv4(const struct gs_packet *p, uint32_t *bytes)
{
    *bytes = gs_load_be16(gs_network_header(p) + 2);
    return true;
}

/* The 40 bytes of the header and the payload length as it stands there: a jumbogram's is 0. */
static inline bool gs_field_total_length_ipv6(const struct gs_packet *p, uint32_t *bytes)
{
    *bytes = 40u + gs_load_be16(gs_network_header(p) + 4);
    return true;
}

static inline bool gs_field_total_length(const struct gs_packet *p, uint32_t *bytes)
{
    return gs_is_ipv4(p) ? gs_field_total_length_ipv4(p, bytes)
                         : gs_field_total_length_ipv6(p, bytes);
}

/* The innermost fragment header that the decoder walked, or NULL. What was walked ends at
 * transport_offset, and was read by the same rules. */
static inline const uint8_t *gs_ipv6_fragment_header(const struct gs_packet *p)
{
    uint8_t protocol = gs_network_header(p)[6];
    uint32_t offset = p->network_offset + 40;
    const uint8_t *found = NULL;

    while (offset < p->transport_offset) {
        const uint8_t *header = p->bytes + offset;

        if (protocol == GS_IPV6_FRAGMENT) found = header;
        offset += gs_ipv6_extension_length(protocol, header);
        protocol = header[0];
    }
    return found;
}

static inline bool gs_field_id_ipv4(const struct gs_packet *p, uint32_t *value)
{
    *value = gs_load_be16(gs_network_header(p) + 4);
    return true;
}

/* Of the fragment header; absent without one, as are the other two. */
static inline bool gs_field_id_ipv6(const struct gs_packet *p, uint32_t *value)
{
    const uint8_t *header = gs_ipv6_fragment_header(p);

    if (header == NULL) return false;
    *value = gs_load_be32(header + 4);
    return true;
}

static inline bool gs_field_id(const struct gs_packet *p, uint32_t *value)
{
    return gs_is_ipv4(p) ? gs_field_id_ipv4(p, value) : gs_field_id_ipv6(p, value);
}

static inline bool gs_field_dont_frag_ipv4(const struct gs_packet *p, uint8_t *value)
{
    *value = gs_network_header(p)[6] >> 6 & 1;
    return true;
}

/* IPv6 has no such bit. */
static inline bool gs_field_dont_frag(const struct gs_packet *p, uint8_t *value)
{
    return gs_is_ipv4(p) && gs_field_dont_frag_ipv4(p, value);
}

static inline bool gs_field_more_frag_ipv4(const struct gs_packet *p, uint8_t *value)
{
    *value = gs_network_header(p)[6] >> 5 & 1;
    return true;
}

static inline bool gs_field_more_frag_ipv6(const struct gs_packet *p, uint8_t *value)
{
    const uint8_t *header = gs_ipv6_fragment_header(p);

    if (header == NULL) return false;
    *value = header[3] & 1;
    return true;
}

static inline bool gs_field_more_frag(const struct gs_packet *p, uint8_t *value)
{
    return gs_is_ipv4(p) ? gs_field_more_frag_ipv4(p, value) : gs_field_more_frag_ipv6(p, value);
}

/* In units of eight bytes, as in the header. */
static inline bool gs_field_offset_ipv4(const struct gs_packet *p, uint16_t *units)
{
    *units = gs_load_be16(gs_network_header(p) + 6) & 0x1fff;
    return true;
}

static inline bool gs_field_offset_ipv6(const struct gs_packet *p, uint16_t *units)
{
    const uint8_t *header = gs_ipv6_fragment_header(p);

    if (header == NULL) return false;
    *units = gs_load_be16(header + 2) >> 3;
    return true;
}

static inline bool gs_field_offset(const struct gs_packet *p, uint16_t *units)
{
    return gs_is_ipv4(p) ? gs_field_offset_ipv4(p, units) : gs_field_offset_ipv6(p, units);
}

static inline bool gs_field_ttl_ipv4(const struct gs_packet *p, uint16_t *value)
{
    *value = gs_network_header(p)[8];
    return true;
}

static inline bool gs_field_ttl_ipv6(const struct gs_packet *p, uint16_t *value)
{
    *value = gs_network_header(p)[7];
    return true;
}

static inline bool gs_field_ttl(const struct gs_packet *p, uint16_t *value)
{
    *value = gs_network_header(p)[gs_is_ipv4(p) ? 8 : 7];
    return true;
}

/* Of IPv6 what follows the extension headers, or the first of them that cannot be read. */
static inline bool gs_field_protocol(const struct gs_packet *p, uint16_t *value)
{
    *value = p->ip_protocol;
    return true;
}

static inline bool gs_field_flow_label_ipv6(const struct gs_packet *p, uint32_t *value)
{
    *value = gs_load_be32(gs_network_header(p)) & 0xfffff;
    return true;
}

static inline bool gs_field_flow_label(const struct gs_packet *p, uint32_t *value)
{
    return !gs_is_ipv4(p) && gs_field_flow_label_ipv6(p, value);
}

static inline bool gs_field_srcIP_ip(const struct gs_packet *p, uint32_t *value)
{
    *value = gs_load_be32(gs_network_header(p) + 12);
    return true;
}

static inline bool gs_field_srcIP_ipv6(const struct gs_packet *p, struct gs_inet *value)
{
    *value = gs_inet_from_bytes(gs_network_header(p) + 8);
    return true;
}

static inline bool gs_field_srcIP_inet(const struct gs_packet *p, struct gs_inet *value)
{
    *value = gs_is_ipv4(p) ? gs_inet_from_ip(gs_load_be32(gs_network_header(p) + 12))
                           : gs_inet_from_bytes(gs_network_header(p) + 8);
    return true;
}

static inline bool gs_field_destIP_ip(const struct gs_packet *p, uint32_t *value)
{
    *value = gs_load_be32(gs_network_header(p) + 16);
    return true;
}

static inline bool gs_field_destIP_ipv6(const struct gs_packet *p, struct gs_inet *value)
{
    *value = gs_inet_from_bytes(gs_network_header(p) + 24);
    return true;
}

static inline bool gs_field_destIP_inet(const struct gs_packet *p, struct gs_inet *value)
{
    *value = gs_is_ipv4(p) ? gs_inet_from_ip(gs_load_be32(gs_network_header(p) + 16))
                           : gs_inet_from_bytes(gs_network_header(p) + 24);
    return true;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of packets, one accessor each, for generated code: configs/packet.gsql names them by
 * what stands behind `gs_field_`. An accessor is true where the packet has the field; its caller
 * has checked that the packet is one of the protocol that declares the field, so what every such
 * packet has is a load and nothing else. All bounds were checked by the decoder (csrc/decode).
 *
 * A field that both IP families have comes in three forms: `_ipv4`, `_ipv6`, and without a suffix
 * for a packet of either. */
#ifndef GS_FIELDS_H
#define GS_FIELDS_H

#include "gs_ipv6_extension.h"
#include "gs_packet.h"

#define GS_STRING_CAPACITY 65536u /* the longest value of type string (GSQL section 3) */

/* PKT */

/* Rounds towards -infinity, so that time is increasing across the epoch as well. */
static inline int64_t gs_floor_divide(int64_t value, int64_t divisor)
{
    return value / divisor - (value % divisor < 0);
}

static inline bool gs_field_time(const struct gs_packet *p, uint32_t *seconds)
{
    *seconds = (uint32_t)gs_floor_divide(p->timestamp_ns, 1000000000);
    return true;
}

static inline bool gs_field_time_ms(const struct gs_packet *p, int64_t *milliseconds)
{
    *milliseconds = gs_floor_divide(p->timestamp_ns, 1000000);
    return true;
}

static inline bool gs_field_timestamp(const struct gs_packet *p, int64_t *nanoseconds)
{
    *nanoseconds = p->timestamp_ns;
    return true;
}

static inline bool gs_field_len(const struct gs_packet *p, uint32_t *bytes)
{
    *bytes = p->len;
    return true;
}

static inline bool gs_field_caplen(const struct gs_packet *p, uint32_t *bytes)
{
    *bytes = p->caplen;
    return true;
}

static inline bool gs_field_packet_id(const struct gs_packet *p, uint64_t *value)
{
    *value = p->packet_id;
    return true;
}

/* `names` are those of the source's interfaces, in the order of gs_packet.interface. */
static inline bool gs_field_interface(const struct gs_packet *p, const struct gs_string *names,
                                      struct gs_string *value)
{
    *value = names[p->interface];
    return true;
}

/* ETH. These look for themselves: IPV4 inherits them, and an IPv4 packet of a link without MAC
 * addresses lacks them. */

static inline uint64_t gs_load_mac(const uint8_t *bytes)
{
    return (uint64_t)gs_load_be32(bytes) << 16 | gs_load_be16(bytes + 4);
}

/* aa:bb:cc:dd:ee:ff is 0xaabbccddeeff: a cheap key, printed as an address by the outputs. */
static inline bool gs_field_srcMAC(const struct gs_packet *p, uint64_t *value)
{
    if (!(p->protocols & GS_PROTOCOL_ETH)) return false;
    *value = gs_load_mac(p->bytes + 6);
    return true;
}

static inline bool gs_field_destMAC(const struct gs_packet *p, uint64_t *value)
{
    if (!(p->protocols & GS_PROTOCOL_ETH)) return false;
    *value = gs_load_mac(p->bytes);
    return true;
}

/* Cooked captures name a protocol in the same numbers; other links name none. */
static inline bool gs_field_etherType(const struct gs_packet *p, uint16_t *value)
{
    *value = p->ether_type;
    return (p->protocols & GS_PROTOCOL_ETH) || p->ether_type != 0;
}

/* 0 where there is no tag, on every kind of link. */
static inline bool gs_field_vlan(const struct gs_packet *p, uint16_t *value)
{
    *value = p->vlan;
    return true;
}

static inline bool gs_field_inner_vlan(const struct gs_packet *p, uint16_t *value)
{
    *value = p->inner_vlan;
    return true;
}

static inline bool gs_field_mpls_label(const struct gs_packet *p, uint32_t *value)
{
    *value = p->mpls_label;
    return p->has_mpls;
}

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

/* DataProtocol, TCP, UDP */

static inline const uint8_t *gs_transport_header(const struct gs_packet *p)
{
    return p->bytes + p->transport_offset;
}

static inline bool gs_field_srcPort(const struct gs_packet *p, uint16_t *value)
{
    *value = gs_load_be16(gs_transport_header(p));
    return true;
}

static inline bool gs_field_destPort(const struct gs_packet *p, uint16_t *value)
{
    *value = gs_load_be16(gs_transport_header(p) + 2);
    return true;
}

static inline uint32_t gs_tcp_header_length(const struct gs_packet *p)
{
    return (gs_transport_header(p)[12] >> 4) * 4u;
}

/* From the headers, never from what was captured. */
static inline bool gs_field_data_length_tcp(const struct gs_packet *p, uint32_t *bytes)
{
    *bytes = p->ip_payload_length - gs_tcp_header_length(p);
    return true;
}

static inline bool gs_field_data_length_udp(const struct gs_packet *p, uint32_t *bytes)
{
    *bytes = gs_load_be16(gs_transport_header(p) + 4) - 8u;
    return true;
}

static inline bool gs_field_data_length(const struct gs_packet *p, uint32_t *bytes)
{
    return p->protocols & GS_PROTOCOL_TCP ? gs_field_data_length_tcp(p, bytes)
                                          : gs_field_data_length_udp(p, bytes);
}

/* The part of `length` bytes of data behind a header of `header_length` that was captured. */
static inline struct gs_string gs_captured_data(const struct gs_packet *p, uint32_t header_length,
                                                uint32_t length)
{
    uint32_t offset = p->transport_offset + header_length;
    uint32_t captured = p->caplen - offset;
    struct gs_string data = {p->bytes + offset, captured < length ? captured : length};

    if (data.length > GS_STRING_CAPACITY) data.length = GS_STRING_CAPACITY;
    return data;
}

static inline bool gs_field_sequence_number(const struct gs_packet *p, uint32_t *value)
{
    *value = gs_load_be32(gs_transport_header(p) + 4);
    return true;
}

static inline bool gs_field_ack_number(const struct gs_packet *p, uint32_t *value)
{
    *value = gs_load_be32(gs_transport_header(p) + 8);
    return true;
}

/* CWR ECE URG ACK PSH RST SYN FIN, from the greatest bit to the least. */
static inline bool gs_field_flags(const struct gs_packet *p, uint16_t *value)
{
    *value = gs_transport_header(p)[13];
    return true;
}

static inline bool gs_field_fin(const struct gs_packet *p, uint8_t *value)
{
    *value = gs_transport_header(p)[13] & 1;
    return true;
}

static inline bool gs_field_syn(const struct gs_packet *p, uint8_t *value)
{
    *value = gs_transport_header(p)[13] >> 1 & 1;
    return true;
}

static inline bool gs_field_rst(const struct gs_packet *p, uint8_t *value)
{
    *value = gs_transport_header(p)[13] >> 2 & 1;
    return true;
}

static inline bool gs_field_psh(const struct gs_packet *p, uint8_t *value)
{
    *value = gs_transport_header(p)[13] >> 3 & 1;
    return true;
}

static inline bool gs_field_ack(const struct gs_packet *p, uint8_t *value)
{
    *value = gs_transport_header(p)[13] >> 4 & 1;
    return true;
}

static inline bool gs_field_urg(const struct gs_packet *p, uint8_t *value)
{
    *value = gs_transport_header(p)[13] >> 5 & 1;
    return true;
}

static inline bool gs_field_window(const struct gs_packet *p, uint16_t *value)
{
    *value = gs_load_be16(gs_transport_header(p) + 14);
    return true;
}

static inline bool gs_field_TCP_data(const struct gs_packet *p, struct gs_string *value)
{
    uint32_t length;

    gs_field_data_length_tcp(p, &length);
    *value = gs_captured_data(p, gs_tcp_header_length(p), length);
    return true;
}

/* Where the length field says more than the IP payload holds, the payload's end is the end. */
static inline bool gs_field_UDP_data(const struct gs_packet *p, struct gs_string *value)
{
    uint32_t length, in_payload = p->ip_payload_length - 8;

    gs_field_data_length_udp(p, &length);
    *value = gs_captured_data(p, 8, length < in_payload ? length : in_payload);
    return true;
}

/* ICMP */

static inline bool gs_field_icmp_type(const struct gs_packet *p, uint16_t *value)
{
    *value = gs_transport_header(p)[0];
    return true;
}

static inline bool gs_field_icmp_code(const struct gs_packet *p, uint16_t *value)
{
    *value = gs_transport_header(p)[1];
    return true;
}

#endif

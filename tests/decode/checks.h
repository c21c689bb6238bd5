/* SPDX-License-Identifier: Apache-2.0 */
/* What a frame decodes to, printed field by field, and what must hold of it whatever its bytes. */
#ifndef GS_TESTS_DECODE_CHECKS_H
#define GS_TESTS_DECODE_CHECKS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../csrc/decode/decapsulate.h"
#include "../../csrc/decode/decode.h"
#include "gs_community_id.h"
#include "gs_fields.h"
#include "gs_fields_outer.h"
#include "tunnel_rules.h"

struct frame {
    uint8_t *bytes;
    uint32_t caplen, len;
    uint8_t link;
    enum gs_depth depth;
    int64_t timestamp_ns;
    uint32_t tunnels; /* that are opened at most, one inside of the other */
};

/* name of the field, accessor, C type, how to print, protocol that declares it */
#define FIELDS(F)                                                                                  \
    F(time, time, uint32_t, number, PKT)                                                           \
    F(time_ms, time_ms, int64_t, number, PKT)                                                      \
    F(timestamp, timestamp, int64_t, number, PKT)                                                  \
    F(len, len, uint32_t, number, PKT)                                                             \
    F(caplen, record_caplen, uint32_t, number, PKT)                                                \
    F(packet_id, packet_id, uint64_t, number, PKT)                                                 \
    F(sampling_rate, sampling_rate, uint64_t, number, PKT)                                         \
    F(srcMAC, srcMAC, uint64_t, mac, PKT)                                                          \
    F(destMAC, destMAC, uint64_t, mac, PKT)                                                        \
    F(etherType, etherType, uint16_t, hex, PKT)                                                    \
    F(vlan, vlan, uint16_t, number, PKT)                                                           \
    F(inner_vlan, inner_vlan, uint16_t, number, PKT)                                               \
    F(mpls_label, mpls_label, uint32_t, number, PKT)                                               \
    F(ipversion, ipversion, uint16_t, number, IP)                                                  \
    F(hdr_length, hdr_length, uint16_t, number, IP)                                                \
    F(tos, tos, uint16_t, number, IP)                                                              \
    F(dscp, dscp, uint16_t, number, IP)                                                            \
    F(ecn, ecn, uint16_t, number, IP)                                                              \
    F(total_length, total_length, uint32_t, number, IP)                                            \
    F(id, id, uint32_t, number, IP)                                                                \
    F(dont_frag, dont_frag, uint8_t, number, IP)                                                   \
    F(more_frag, more_frag, uint8_t, number, IP)                                                   \
    F(offset, offset, uint16_t, number, IP)                                                        \
    F(ttl, ttl, uint16_t, number, IP)                                                              \
    F(protocol, protocol, uint16_t, number, IP)                                                    \
    F(srcIP, srcIP_inet, struct gs_inet, inet, IP)                                                 \
    F(destIP, destIP_inet, struct gs_inet, inet, IP)                                               \
    F(flow_label, flow_label, uint32_t, number, IP)                                                \
    F(srcPort, srcPort, uint16_t, number, DATAPROTOCOL)                                            \
    F(destPort, destPort, uint16_t, number, DATAPROTOCOL)                                          \
    F(data_length, data_length, uint32_t, number, DATAPROTOCOL)                                    \
    F(sequence_number, sequence_number, uint32_t, number, TCP)                                     \
    F(ack_number, ack_number, uint32_t, number, TCP)                                               \
    F(flags, flags, uint16_t, hex, TCP)                                                            \
    F(syn, syn, uint8_t, number, TCP)                                                              \
    F(ack, ack, uint8_t, number, TCP)                                                              \
    F(fin, fin, uint8_t, number, TCP)                                                              \
    F(rst, rst, uint8_t, number, TCP)                                                              \
    F(psh, psh, uint8_t, number, TCP)                                                              \
    F(urg, urg, uint8_t, number, TCP)                                                              \
    F(window, window, uint16_t, number, TCP)                                                       \
    F(TCP_data, TCP_data, struct gs_string, bytes, TCP)                                            \
    F(UDP_data, UDP_data, struct gs_string, bytes, UDP)                                            \
    F(icmp_type, icmp_type, uint16_t, number, ICMP)                                                \
    F(icmp_code, icmp_code, uint16_t, number, ICMP)

/* Of the packet around a tunnel's, where there is one. */
#define OUTER_FIELDS(F)                                                                            \
    F(outer_srcMAC, outer_srcMAC, uint64_t, mac, PKT)                                              \
    F(outer_destMAC, outer_destMAC, uint64_t, mac, PKT)                                            \
    F(outer_etherType, outer_etherType, uint16_t, hex, PKT)                                        \
    F(outer_vlan, outer_vlan, uint16_t, number, PKT)                                               \
    F(outer_inner_vlan, outer_inner_vlan, uint16_t, number, PKT)                                   \
    F(outer_mpls_label, outer_mpls_label, uint32_t, number, PKT)                                   \
    F(outer_ipversion, outer_ipversion, uint16_t, number, PKT)                                     \
    F(outer_hdr_length, outer_hdr_length, uint16_t, number, PKT)                                   \
    F(outer_tos, outer_tos, uint16_t, number, PKT)                                                 \
    F(outer_dscp, outer_dscp, uint16_t, number, PKT)                                               \
    F(outer_ecn, outer_ecn, uint16_t, number, PKT)                                                 \
    F(outer_total_length, outer_total_length, uint32_t, number, PKT)                               \
    F(outer_id, outer_id, uint32_t, number, PKT)                                                   \
    F(outer_dont_frag, outer_dont_frag, uint8_t, number, PKT)                                      \
    F(outer_more_frag, outer_more_frag, uint8_t, number, PKT)                                      \
    F(outer_offset, outer_offset, uint16_t, number, PKT)                                           \
    F(outer_ttl, outer_ttl, uint16_t, number, PKT)                                                 \
    F(outer_protocol, outer_protocol, uint16_t, number, PKT)                                       \
    F(outer_srcIP, outer_srcIP_inet, struct gs_inet, inet, PKT)                                    \
    F(outer_destIP, outer_destIP_inet, struct gs_inet, inet, PKT)                                  \
    F(outer_flow_label, outer_flow_label, uint32_t, number, PKT)                                   \
    F(outer_srcPort, outer_srcPort, uint16_t, number, PKT)                                         \
    F(outer_destPort, outer_destPort, uint16_t, number, PKT)                                       \
    F(outer_data_length, outer_data_length, uint32_t, number, PKT)

/* The accessors of one family: each must agree with the one for both. */
#define FAMILY_FIELDS(F)                                                                           \
    F(ipversion, uint16_t)                                                                         \
    F(hdr_length, uint16_t)                                                                        \
    F(tos, uint16_t)                                                                               \
    F(total_length, uint32_t)                                                                      \
    F(id, uint32_t)                                                                                \
    F(more_frag, uint8_t)                                                                          \
    F(offset, uint16_t)                                                                            \
    F(ttl, uint16_t)

static void print_number(FILE *out, int64_t value)
{
    fprintf(out, "%" PRId64, value);
}

static void print_hex(FILE *out, uint16_t value)
{
    fprintf(out, "\"0x%04x\"", value);
}

static void print_mac(FILE *out, uint64_t value)
{
    fprintf(out, "\"");
    for (int shift = 40; shift >= 0; shift -= 8)
        fprintf(out, "%02x%s", (unsigned)(value >> shift & 0xff), shift > 0 ? ":" : "\"");
}

static void print_bytes(FILE *out, struct gs_string value)
{
    fprintf(out, "\"");
    for (uint32_t i = 0; i < value.length; i++)
        fprintf(out, "%02x", value.bytes[i]);
    fprintf(out, "\"");
}

static void print_inet(FILE *out, struct gs_inet value)
{
    print_bytes(out, (struct gs_string){(const uint8_t *)&value, 16});
}

static void print_protocols(FILE *out, unsigned protocols)
{
    static const char *const names[] = {"PKT", "ETH", "IPV4", "IPV6",        "IP",
                                        "TCP", "UDP", "ICMP", "DataProtocol"};
    const char *separator = "";

    fprintf(out, "{\"protocols\": \"");
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!(protocols >> i & 1)) continue;
        fprintf(out, "%s%s", separator, names[i]);
        separator = " ";
    }
    fprintf(out, "\"");
}

static void print_community_id(FILE *out, const struct gs_packet *p)
{
    uint8_t room[GS_COMMUNITY_ID_BYTES];
    struct gs_scratch scratch = {room, 0, sizeof room};
    struct gs_string value;
    bool is_present = (p->protocols & GS_PROTOCOL_IP) && gs_field_community_id(p, &scratch, &value);

    fprintf(out, ", \"community_id\": ");
    if (is_present)
        fprintf(out, "\"%.*s\"", (int)value.length, (const char *)value.bytes);
    else
        fprintf(out, "null");
}

static void print_interface(FILE *out, const struct gs_packet *p)
{
    struct gs_string names[1] = {{(const uint8_t *)"lo", 2}};
    struct gs_string value;

    gs_field_interface(p, names, &value);
    fprintf(out, ", \"interface\": \"%.*s\"", (int)value.length, (const char *)value.bytes);
}

static void print_packet(FILE *out, const struct gs_packet *p)
{
    print_protocols(out, p->protocols);
    if (p->protocols & GS_PROTOCOL_PKT) print_interface(out, p);
#define PRINT_FIELD(name, accessor, c_type, kind, declared_by)                                     \
    {                                                                                              \
        c_type value;                                                                              \
        fprintf(out, ", \"" #name "\": ");                                                         \
        if ((p->protocols & GS_PROTOCOL_##declared_by) && gs_field_##accessor(p, &value))          \
            print_##kind(out, value);                                                              \
        else                                                                                       \
            fprintf(out, "null");                                                                  \
    }
    FIELDS(PRINT_FIELD)
    OUTER_FIELDS(PRINT_FIELD)
    print_community_id(out, p);
    fprintf(out, "}\n");
}

static void fail_check(const struct gs_packet *p, const char *what)
{
    fprintf(stderr, "check failed: %s\n", what);
    print_packet(stderr, p);
    abort();
}

static void check(const struct gs_packet *p, bool holds, const char *what)
{
    if (!holds) fail_check(p, what);
}

static void check_family_accessors(const struct gs_packet *p)
{
    bool is_ipv4 = gs_is_ipv4(p);
#define CHECK_FIELD(name, c_type)                                                                  \
    {                                                                                              \
        c_type of_both = 0, of_one = 0;                                                            \
        bool has_both = gs_field_##name(p, &of_both);                                              \
        bool has_one =                                                                             \
            is_ipv4 ? gs_field_##name##_ipv4(p, &of_one) : gs_field_##name##_ipv6(p, &of_one);     \
        check(p, has_both == has_one && (!has_one || of_both == of_one), #name);                   \
    }
    FAMILY_FIELDS(CHECK_FIELD)
}

static void check_addresses(const struct gs_packet *p)
{
    struct gs_inet inet, ipv6;
    uint32_t ip;

    gs_field_srcIP_inet(p, &inet);
    if (gs_is_ipv4(p)) {
        gs_field_srcIP_ip(p, &ip);
        check(p, gs_inet_equal(inet, gs_inet_from_ip(ip)), "srcIP of IPv4");
    } else {
        gs_field_srcIP_ipv6(p, &ipv6);
        check(p, gs_inet_equal(inet, ipv6), "srcIP of IPv6");
    }
}

/* What the set inclusions of GSQL section 2 say, whatever the bytes. */
static void check_protocols(const struct gs_packet *p)
{
    unsigned set = p->protocols;
    unsigned of_transport = GS_PROTOCOL_TCP | GS_PROTOCOL_UDP | GS_PROTOCOL_ICMP;
    bool has_both = (set & GS_PROTOCOL_IPV4) && (set & GS_PROTOCOL_IPV6);

    check(p, !has_both, "one family");
    check(p, !(set & GS_PROTOCOL_IP) == !(set & (GS_PROTOCOL_IPV4 | GS_PROTOCOL_IPV6)), "IP");
    check(p, !(set & of_transport) || (set & GS_PROTOCOL_IP), "transport is IP");
    check(p, !(set & GS_PROTOCOL_DATAPROTOCOL) == !(set & (GS_PROTOCOL_TCP | GS_PROTOCOL_UDP)),
          "data");
    check(p, !(set & of_transport) || !p->is_later_fragment, "later fragment");
    check(p, !(set & GS_PROTOCOL_IP) || p->transport_offset <= p->caplen, "offset");
}

static struct gs_packet decoded(const struct frame *frame, enum gs_depth depth)
{
    struct gs_packet packet;

    memset(&packet, 0xa5, sizeof packet); /* what the decoder leaves unset must not matter */
    packet.bytes = frame->bytes;
    packet.timestamp_ns = frame->timestamp_ns;
    packet.packet_id = 7;
    packet.offset = 0;
    packet.caplen = frame->caplen;
    packet.len = frame->len;
    packet.interface = 0;
    packet.link = frame->link;
    packet.flags = 0;
    gs_decode_burst(&packet, 1, depth);
    packet.outer = NULL;
    return packet;
}

/* The packet that a query sees that opens every kind of tunnel. */
static struct gs_packet opened(const struct frame *frame, const struct gs_packet *outer)
{
    const struct gs_tunnels tunnels = {tunnel_rules, sizeof tunnel_rules / sizeof *tunnel_rules,
                                       frame->tunnels};
    struct gs_decapsulated counts = {0, 0, 0};
    struct gs_packet packet;

    memset(&packet, 0xa5, sizeof packet);
    gs_decapsulate(&tunnels, outer, 1, &packet, &counts);
    if (counts.opened != (packet.outer != NULL) || counts.unopened + counts.too_deep > 1) abort();
    return packet;
}

/* A shallower walk finds the same as a deeper one, as far as it goes. */
static void check_depths(const struct frame *frame, const struct gs_packet *deepest)
{
    unsigned link = GS_PROTOCOL_PKT | GS_PROTOCOL_ETH;
    unsigned network = link | GS_PROTOCOL_IPV4 | GS_PROTOCOL_IPV6 | GS_PROTOCOL_IP;
    struct gs_packet at_link = decoded(frame, GS_DEPTH_LINK);
    struct gs_packet at_network = decoded(frame, GS_DEPTH_NETWORK);

    check(deepest, decoded(frame, GS_DEPTH_RECORD).protocols == GS_PROTOCOL_PKT, "record");
    check(deepest, at_link.protocols == (deepest->protocols & link), "link");
    check(deepest, at_link.ether_type == deepest->ether_type, "link ether_type");
    check(deepest, at_network.protocols == (deepest->protocols & network), "network");
    check(deepest, at_network.ip_protocol == deepest->ip_protocol, "network protocol");
}

static void check_alone(const struct gs_packet *packet)
{
    check_protocols(packet);
    if (packet->protocols & GS_PROTOCOL_IP) {
        check_family_accessors(packet);
        check_addresses(packet);
    }
}

/* However deep tunnels are opened, and only if one is does the packet become another. */
static void check_tunnels(struct frame frame, const struct gs_packet *outer)
{
    for (frame.tunnels = 0; frame.tunnels < 4; frame.tunnels++) {
        struct gs_packet inner = opened(&frame, outer);

        check_alone(&inner);
        check(&inner, inner.outer == NULL || frame.tunnels > 0, "opened");
        check(&inner, inner.len == outer->len && inner.caplen <= outer->caplen, "lengths");
    }
}

static void check_packet(const struct frame *frame, const struct gs_packet *packet)
{
    check_alone(packet);
    check_tunnels(*frame, packet);
    if (packet->protocols & GS_PROTOCOL_PKT) check_depths(frame, packet);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Headers by the rules of the language (docs/gsql.md, "What is a packet of a protocol"), so that
 * every loop and the engine see the same tuples. Plain Ethernet is inlined; all else is out of the
 * way in functions that are not. */
#ifndef BENCH_PACKET_H
#define BENCH_PACKET_H

#include "records.h"

enum { ETHERNET_BYTES = 14, IPV4_BYTES = 20, IPV6_BYTES = 40, TCP_BYTES = 20 };
enum { TYPE_IPV4 = 0x0800, TYPE_IPV6 = 0x86dd, TYPE_PPPOE_SESSION = 0x8864, TYPE_UNKNOWN = 0xffff };
enum { PROTOCOL_TCP = 6 };

struct network_layer {
    const uint8_t *bytes; /* the IP header */
    uint32_t captured_bytes;
    uint32_t type; /* TYPE_IPV4, TYPE_IPV6, or something that is neither */
};

struct transport_layer {
    const uint8_t *bytes;
    uint32_t available_bytes; /* within the captured bytes and within the IP payload */
};

static inline bool is_tag(uint32_t type)
{
    return type == 0x8100 || type == 0x88a8 || type == 0x9100 || type == 0x9200;
}

static inline bool is_mpls(uint32_t type)
{
    return type == 0x8847 || type == 0x8848;
}

static inline uint32_t type_by_version(const uint8_t *bytes, uint32_t left)
{
    uint32_t version = left ? bytes[0] >> 4 : 0;
    return version == 4 ? TYPE_IPV4 : version == 6 ? TYPE_IPV6 : TYPE_UNKNOWN;
}

static inline uint32_t type_by_ppp(uint32_t protocol)
{
    return protocol == 0x0021 ? TYPE_IPV4 : protocol == 0x0057 ? TYPE_IPV6 : TYPE_UNKNOWN;
}

/* Advances over one header between Ethernet and IP; false where there is none that is known. */
static inline bool skip_shim(struct network_layer *layer)
{
    const uint8_t *bytes = layer->bytes;
    uint32_t left = layer->captured_bytes, skipped = 0;
    if (is_tag(layer->type) && left >= 4) {
        layer->type = load_be16(bytes + 2);
        skipped = 4;
    } else if (is_mpls(layer->type) && left >= 4) {
        skipped = 4;
        if (bytes[2] & 1) layer->type = type_by_version(bytes + 4, left - 4);
    } else if (layer->type == TYPE_PPPOE_SESSION && left >= 8) {
        layer->type = type_by_ppp(load_be16(bytes + 6));
        skipped = 8;
    } else if (layer->type <= 1500 && left >= 8 && load_be16(bytes) == 0xaaaa && bytes[2] == 3 &&
               bytes[3] == 0 && load_be16(bytes + 4) == 0) {
        layer->type = load_be16(bytes + 6);
        skipped = 8;
    }
    layer->bytes += skipped;
    layer->captured_bytes -= skipped;
    return skipped != 0;
}

static __attribute__((noinline)) void skip_shims(struct network_layer *layer)
{
    while (layer->type != TYPE_IPV4 && layer->type != TYPE_IPV6)
        if (!skip_shim(layer)) return;
}

static inline bool parse_ethernet(const struct record *record, struct network_layer *layer)
{
    if (record->captured_bytes < ETHERNET_BYTES) return false;
    layer->bytes = record->bytes + ETHERNET_BYTES;
    layer->captured_bytes = record->captured_bytes - ETHERNET_BYTES;
    layer->type = load_be16(record->bytes + 12);
    if (layer->type != TYPE_IPV4) skip_shims(layer);
    return true;
}

static inline bool is_ipv4(const struct network_layer *layer)
{
    if (layer->type != TYPE_IPV4 || layer->captured_bytes < IPV4_BYTES) return false;
    uint32_t header_bytes = (layer->bytes[0] & 15u) * 4;
    uint32_t total_bytes = load_be16(layer->bytes + 2);
    return layer->bytes[0] >> 4 == 4 && header_bytes >= IPV4_BYTES &&
           header_bytes <= layer->captured_bytes &&
           (total_bytes == 0 || total_bytes >= header_bytes);
}

static inline bool parse_ipv4(const struct record *record, struct network_layer *layer)
{
    return parse_ethernet(record, layer) && is_ipv4(layer);
}

static inline uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The TCP header of an IPv4 packet; `layer` has passed is_ipv4. */
static inline bool ipv4_transport(const struct network_layer *layer, uint32_t protocol,
                                  struct transport_layer *transport)
{
    const uint8_t *ip = layer->bytes;
    if (ip[9] != protocol || (load_be16(ip + 6) & 0x1fff) != 0) return false;
    uint32_t header_bytes = (ip[0] & 15u) * 4;
    uint32_t total_bytes = load_be16(ip + 2);
    uint32_t end = total_bytes ? least(total_bytes, layer->captured_bytes) : layer->captured_bytes;
    transport->bytes = ip + header_bytes;
    transport->available_bytes = end - header_bytes;
    return true;
}

static inline uint32_t ipv6_extension_bytes(uint32_t protocol, const uint8_t *bytes)
{
    if (protocol == 51) return (bytes[1] + 2u) * 4;
    return protocol == 44 ? 8 : (bytes[1] + 1u) * 8;
}

static inline bool is_ipv6_extension(uint32_t protocol)
{
    return protocol == 0 || protocol == 43 || protocol == 44 || protocol == 60 || protocol == 51;
}

static __attribute__((noinline)) bool ipv6_transport(const struct network_layer *layer,
                                                     uint32_t wanted,
                                                     struct transport_layer *transport)
{
    const uint8_t *next = layer->bytes + IPV6_BYTES;
    uint32_t protocol = layer->bytes[6];
    uint32_t left = least(load_be16(layer->bytes + 4), layer->captured_bytes - IPV6_BYTES);
    while (is_ipv6_extension(protocol)) {
        if (left < 8 || ipv6_extension_bytes(protocol, next) > left) return false;
        if (protocol == 44 && (load_be16(next + 2) & 0xfff8) != 0) return false;
        uint32_t bytes = ipv6_extension_bytes(protocol, next);
        protocol = next[0];
        next += bytes;
        left -= bytes;
    }
    transport->bytes = next;
    transport->available_bytes = left;
    return protocol == wanted;
}

static inline bool is_ipv6(const struct network_layer *layer)
{
    return layer->type == TYPE_IPV6 && layer->captured_bytes >= IPV6_BYTES &&
           layer->bytes[0] >> 4 == 6;
}

static inline bool is_tcp(const struct transport_layer *transport)
{
    if (transport->available_bytes < TCP_BYTES) return false;
    uint32_t header_bytes = (transport->bytes[12] >> 4) * 4u;
    return header_bytes >= TCP_BYTES && header_bytes <= transport->available_bytes;
}

#endif

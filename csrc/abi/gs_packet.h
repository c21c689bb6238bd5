/* SPDX-License-Identifier: Apache-2.0 */
/* One packet on its way through a burst: the capture stage fills the first part, the decode stage
 * the second; later stages only read. The bytes belong to the capture until it is released. */
#ifndef GS_PACKET_H
#define GS_PACKET_H

#include "gs_types.h"

/* What a packet is a packet of (GSQL section 8): a set of these, called as configs/packet.gsql
 * calls the protocols. */
enum gs_protocol {
    GS_PROTOCOL_PKT = 1u << 0,
    GS_PROTOCOL_ETH = 1u << 1,
    GS_PROTOCOL_IPV4 = 1u << 2,
    GS_PROTOCOL_IPV6 = 1u << 3,
    GS_PROTOCOL_IP = 1u << 4, /* IPV4 or IPV6 */
    GS_PROTOCOL_TCP = 1u << 5,
    GS_PROTOCOL_UDP = 1u << 6,
    GS_PROTOCOL_ICMP = 1u << 7,        /* ICMP over IPv4, ICMPv6 over IPv6 */
    GS_PROTOCOL_DATAPROTOCOL = 1u << 8 /* TCP or UDP */
};

/* Link types: what the decoder begins with (the capture stage knows the numbers of pcap's LINKTYPE_
 * registry). */
enum gs_link {
    GS_LINK_UNSUPPORTED = 0,
    GS_LINK_ETHERNET,
    GS_LINK_RAW, /* IP: the version nibble decides */
    GS_LINK_NULL,
    GS_LINK_LOOP,
    GS_LINK_SLL,
    GS_LINK_SLL2,
    GS_LINK_PPP,
    GS_LINK_IEEE802_11,
    GS_LINK_RADIOTAP,
    GS_LINK_IPV4, /* IP of one version: a packet of the other is no tuple */
    GS_LINK_IPV6,
    GS_LINK_CISCO_HDLC,
    GS_LINK_FRAME_RELAY,
    GS_LINK_PPI,
    GS_LINK_PKTAP,
    GS_LINK_PFLOG,
    GS_LINK_NFLOG,
    GS_LINK_IPOIB,
    GS_LINK_SUNATM,
    GS_LINK_TOKEN_RING,
    GS_LINK_FDDI,
    GS_LINK_RECORD, /* no packet: a record of a STREAM (gs_fields_record.h) */
    GS_LINK_END     /* no link: how many there are */
};

/* How deep the query set looks: the decoder goes no further. */
enum gs_depth {
    GS_DEPTH_RECORD = 0,
    GS_DEPTH_LINK = 1,
    GS_DEPTH_NETWORK = 2,
    GS_DEPTH_TRANSPORT = 3
};

/* For a set of protocols, as a constant. */
#define GS_DEPTH_OF(protocols)                                                                     \
    ((protocols) >= GS_PROTOCOL_TCP    ? GS_DEPTH_TRANSPORT                                        \
     : (protocols) >= GS_PROTOCOL_IPV4 ? GS_DEPTH_NETWORK                                          \
     : (protocols) >= GS_PROTOCOL_ETH  ? GS_DEPTH_LINK                                             \
                                       : GS_DEPTH_RECORD)

/* Why the capture stage gives a record that is no packet for any query. */
enum gs_frame_flag {
    GS_FRAME_NO_TIME = 1u << 0,     /* its nanoseconds leave 63 bits */
    GS_FRAME_UNSUPPORTED = 1u << 1, /* a link type that we do not decode */
    GS_FRAME_TRUNCATED = 1u << 2,   /* caplen < len: a property, not a loss */
    GS_FRAME_FILTERED = 1u << 3,    /* the kernel's filter has let it pass */
    GS_FRAME_CARRIED = 1u << 4,     /* its timestamp has been replaced: a clock had stepped */
    GS_FRAME_CLOCK = 1u << 5        /* of a STREAM: it tells the time, and is no record */
};

#define GS_BURST_CAPACITY 256
#define GS_SAMPLING_SHIFT_MAX 32

/* What nearly every query needs of what capture knows. */
struct gs_frame {
    const uint8_t *bytes; /* caplen bytes from the link header on */
    int64_t timestamp_ns; /* ns since the epoch */
    uint32_t caplen;      /* bytes */
    uint32_t len;         /* bytes, as it was on the wire */
};

struct gs_packet {
    /* filled by capture; as in struct gs_frame */
    const uint8_t *bytes;
    int64_t timestamp_ns;
    uint32_t caplen;
    uint32_t len;
    /* and besides */
    uint64_t packet_id; /* position in the source, from 0, every record counted */
    uint64_t offset;    /* where the record begins in the source's own (uncompressed) bytes */
    uint16_t interface; /* index into the source's interfaces (pcapng: its section's) */
    uint8_t link;       /* enum gs_link */
    uint8_t flags;      /* enum gs_frame_flag */
    /* filled by decode */
    uint16_t protocols;       /* set of enum gs_protocol */
    uint16_t ether_type;      /* what follows the last tag; 0 where there is none */
    uint16_t vlan;            /* VID of the outer tag, 0: none */
    uint16_t inner_vlan;      /* VID of the next tag, 0: none */
    uint32_t mpls_label : 20; /* the outermost label, valid if has_mpls */
    uint32_t has_mpls : 1;
    uint32_t sampling_shift : 7; /* 1 in 2^so many flows is looked at (runtime/sampling.h) */
    uint32_t network_offset;     /* of the IP header if IP; behind the labels if has_mpls */
    uint32_t transport_offset;   /* of the TCP, UDP or ICMP header, valid if one of these */
    uint32_t ip_payload_length; /* bytes of IP payload from transport_offset on, from the headers */
    uint8_t ip_protocol;       /* what follows IPv4 or the IPv6 extension headers that are walked */
    uint8_t is_later_fragment; /* fragment offset > 0 */
    uint16_t ethernet_offset;  /* of the Ethernet header, valid if ETH */
    /* filled by decapsulation alone (gs_tunnels.h): the packet that it was in, NULL if in none */
    const struct gs_packet *outer;
};

_Static_assert(offsetof(struct gs_packet, packet_id) == sizeof(struct gs_frame),
               "a packet begins with its frame");

#endif

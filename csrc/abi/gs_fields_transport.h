/* SPDX-License-Identifier: Apache-2.0 */
/* Of TCP, UDP and ICMP (gs_fields.h). */
#ifndef GS_FIELDS_TRANSPORT_H
#define GS_FIELDS_TRANSPORT_H

#include "gs_packet.h"

#define GS_STRING_CAPACITY 65536u /* the longest value of type string (GSQL section 3) */

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

/* SPDX-License-Identifier: Apache-2.0 */
/* Of every packet, and of what the link puts before IP (gs_fields.h). */
#ifndef GS_FIELDS_LINK_H
#define GS_FIELDS_LINK_H

#include "gs_packet.h"

/* PKT */

/* Rounds towards -infinity, by a positive divisor, so that time is increasing across the epoch as
 * well. */
static inline int64_t gs_floor_divide(int64_t value, int64_t divisor)
{
    if (__builtin_expect(value >= 0, 1)) return (int64_t)((uint64_t)value / (uint64_t)divisor);
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

/* Packets of as many flows as it has been given for: a sum of it counts those left out, too. */
static inline bool gs_field_sampling_rate(const struct gs_packet *p, uint64_t *flows)
{
    *flows = (uint64_t)1 << p->sampling_shift;
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
    *value = gs_load_mac(p->bytes + p->ethernet_offset + 6);
    return true;
}

static inline bool gs_field_destMAC(const struct gs_packet *p, uint64_t *value)
{
    if (!(p->protocols & GS_PROTOCOL_ETH)) return false;
    *value = gs_load_mac(p->bytes + p->ethernet_offset);
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

#endif

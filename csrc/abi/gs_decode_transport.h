/* SPDX-License-Identifier: Apache-2.0 */
/* TCP, UDP and ICMP, a row each: a header counts only if it lies within the captured bytes *and*
 * within the IP payload. Rows, not code, because which of them comes next cannot be predicted:
 * a mixture of TCP and UDP costs a third less so than with a branch for each. */
#ifndef GS_DECODE_TRANSPORT_H
#define GS_DECODE_TRANSPORT_H

#include "gs_layer.h"

/* Each header has one 16-bit field that may disqualify it. */
struct gs_transport_rule {
    uint16_t protocols;   /* what it makes the packet */
    uint8_t least_length; /* bytes of the header without options; covers the field */
    uint8_t field_offset;
    uint8_t field_shift;
    uint8_t least_field;
    uint8_t field_unit; /* the header has field * unit bytes, where that is more */
};

static const struct gs_transport_rule gs_transport_rules[] = {
    /* the data offset counts words of four bytes, options included */
    [GS_LAYER_TCP - GS_LAYER_TCP] = {GS_PROTOCOL_TCP | GS_PROTOCOL_DATAPROTOCOL, 20, 12, 12, 5, 4},
    /* the length counts header and data; more than the payload holds is still a tuple */
    [GS_LAYER_UDP - GS_LAYER_TCP] = {GS_PROTOCOL_UDP | GS_PROTOCOL_DATAPROTOCOL, 8, 4, 0, 8, 0},
    /* type, code, checksum: of both ICMPs */
    [GS_LAYER_ICMP - GS_LAYER_TCP] = {GS_PROTOCOL_ICMP, 4, 0, 0, 0, 0},
};

static inline uint32_t gs_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline void gs_decode_transport(struct gs_packet *packet, enum gs_layer layer)
{
    const struct gs_transport_rule *rule = &gs_transport_rules[layer - GS_LAYER_TCP];
    const uint8_t *header = packet->bytes + packet->transport_offset;
    uint32_t readable =
        gs_least(packet->caplen - packet->transport_offset, packet->ip_payload_length);
    uint32_t field;

    if (readable < rule->least_length) return;
    field = (uint32_t)gs_load_be16(header + rule->field_offset) >> rule->field_shift;
    if (field < rule->least_field || readable < field * rule->field_unit) return;
    packet->protocols |= rule->protocols;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* From tunnel to tunnel, at most `depth` of them: a rule finds one by its IP protocol and port, its
 * decoder says where the inner packet begins, and the table of layers walks that. Every step moves
 * forward in the captured bytes, and none looks beyond what the tunnel itself carries. */
#include "decapsulate.h"

#include "tunnel.h"

#define UDP_BYTES 8

static enum gs_layer open_ipv4(struct gs_packet *packet, struct gs_cursor *cursor)
{
    (void)packet, (void)cursor;
    return GS_LAYER_IPV4;
}

static enum gs_layer open_ipv6(struct gs_packet *packet, struct gs_cursor *cursor)
{
    (void)packet, (void)cursor;
    return GS_LAYER_IPV6;
}

static const gs_layer_decoder openers[] = {
    [GS_TUNNEL_IPV4] = open_ipv4,        [GS_TUNNEL_IPV6] = open_ipv6,
    [GS_TUNNEL_GRE] = gs_open_gre,       [GS_TUNNEL_VXLAN] = gs_open_vxlan,
    [GS_TUNNEL_GENEVE] = gs_open_geneve, [GS_TUNNEL_GTP] = gs_open_gtp,
    [GS_TUNNEL_TEREDO] = gs_open_teredo, [GS_TUNNEL_PSEUDOWIRE] = gs_open_pseudowire,
};

/* What a tunnel carries: from its own header on. */
struct carried {
    enum gs_tunnel tunnel;
    uint32_t offset, end; /* end <= caplen */
};

static bool is_to_port(const struct gs_packet *packet, const struct gs_tunnel_rule *rule)
{
    const uint8_t *header = packet->bytes + packet->transport_offset;

    if (!(packet->protocols & GS_PROTOCOL_UDP)) return false;
    if (gs_load_be16(header + 2) == rule->udp_port) return true;
    return rule->is_port_of_either && gs_load_be16(header) == rule->udp_port;
}

static const struct gs_tunnel_rule *find_rule(const struct gs_tunnels *tunnels,
                                              const struct gs_packet *packet)
{
    bool is_ip = packet->protocols & GS_PROTOCOL_IP;
    uint8_t protocol = is_ip ? packet->ip_protocol : 0;

    if (is_ip ? packet->is_later_fragment : !packet->has_mpls || packet->network_offset == 0)
        return NULL;
    for (uint32_t i = 0; i < tunnels->count; i++) {
        const struct gs_tunnel_rule *rule = &tunnels->rules[i];

        if (rule->ip_protocol != protocol || (rule->tunnel == GS_TUNNEL_PSEUDOWIRE) == is_ip)
            continue;
        if (rule->udp_port == 0 || is_to_port(packet, rule)) return rule;
    }
    return NULL;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Neither more than was captured nor than the headers around it say. */
static struct carried carried_by(const struct gs_packet *packet, const struct gs_tunnel_rule *rule)
{
    struct carried carried = {(enum gs_tunnel)rule->tunnel, packet->network_offset, packet->caplen};
    uint32_t left;

    if (rule->tunnel == GS_TUNNEL_PSEUDOWIRE) return carried;
    carried.offset = packet->transport_offset;
    left = least(packet->caplen - carried.offset, packet->ip_payload_length);
    if (rule->udp_port != 0) {
        left = least(left, gs_load_be16(packet->bytes + carried.offset + 4));
        left -= UDP_BYTES; /* a UDP tuple has these */
        carried.offset += UDP_BYTES;
    }
    carried.end = carried.offset + left;
    return carried;
}

/* The packet becomes what is carried, unless there is nothing that can be read. Its captured bytes
 * then end where the tunnel's do, its length is the record's. */
static bool open_tunnel(struct gs_packet *packet, const struct carried *carried)
{
    struct gs_packet inner = *packet;
    struct gs_cursor cursor = {carried->offset, 0, 0};

    gs_decode_clear(&inner);
    inner.sampling_shift = packet->sampling_shift;
    inner.protocols = GS_PROTOCOL_PKT;
    inner.caplen = carried->end;
    inner.len = least(packet->len, carried->end);
    gs_decode_layers(&inner, &cursor, openers[carried->tunnel](&inner, &cursor));
    if (!(inner.protocols & (GS_PROTOCOL_ETH | GS_PROTOCOL_IP))) return false;
    inner.len = packet->len;
    *packet = inner;
    return true;
}

bool gs_decapsulate_once(const struct gs_tunnels *tunnels, struct gs_packet *packet,
                         uint32_t *depth, struct gs_decapsulated *counts)
{
    const struct gs_tunnel_rule *rule = find_rule(tunnels, packet);
    struct carried carried;

    if (rule == NULL) return false;
    if (*depth == tunnels->depth) {
        counts->too_deep++;
        return false;
    }
    carried = carried_by(packet, rule);
    if (!open_tunnel(packet, &carried)) {
        counts->unopened++;
        return false;
    }
    counts->opened += ++*depth == 1;
    return true;
}

static void decapsulate(const struct gs_tunnels *tunnels, const struct gs_packet *outer,
                        struct gs_packet *packet, struct gs_decapsulated *counts)
{
    uint32_t depth = 0;

    while (gs_decapsulate_once(tunnels, packet, &depth, counts)) {
    }
    packet->outer = depth > 0 ? outer : NULL;
}

void gs_decapsulate(const struct gs_tunnels *tunnels, const struct gs_packet *packets,
                    uint32_t count, struct gs_packet *opened, struct gs_decapsulated *counts)
{
    for (uint32_t i = 0; i < count; i++) {
        opened[i] = packets[i];
        decapsulate(tunnels, &packets[i], &opened[i], counts);
    }
}

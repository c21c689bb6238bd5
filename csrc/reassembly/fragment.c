/* SPDX-License-Identifier: Apache-2.0 */
#include "fragment.h"

#include "gs_ipv6_extension.h"

#define PAYLOAD_MOST 65535u
#define IPV4_MORE 0x2000u
#define IPV4_OFFSET 0x1fffu
#define IPV6_OFFSET 0xfff8u
#define IPV6_BYTES 40

static bool read_ipv4(const struct gs_packet *packet, struct gs_fragment *fragment)
{
    const uint8_t *header = packet->bytes + packet->network_offset;
    uint32_t word = gs_load_be16(header + 6);

    if ((word & (IPV4_MORE | IPV4_OFFSET)) == 0) return false;
    fragment->begin = (word & IPV4_OFFSET) * 8;
    fragment->is_last = (word & IPV4_MORE) == 0;
    fragment->offset = fragment->header_length = packet->transport_offset;
    fragment->key.version = 4;
    fragment->key.protocol = header[9];
    fragment->key.id = gs_load_be16(header + 4);
    memcpy(fragment->key.source, header + 12, 4);
    memcpy(fragment->key.destination, header + 16, 4);
    return true;
}

/* The first fragment header of those that the decoder has walked; 0: there is none. The offset of
 * the byte that names it goes to `named_at`. */
static uint32_t find_fragment_header(const struct gs_packet *packet, uint32_t *named_at)
{
    uint32_t offset = packet->network_offset + IPV6_BYTES;

    *named_at = packet->network_offset + 6;
    while (offset < packet->transport_offset) {
        uint8_t protocol = packet->bytes[*named_at];

        if (protocol == GS_IPV6_FRAGMENT) return offset;
        *named_at = offset;
        offset += gs_ipv6_extension_length(protocol, packet->bytes + offset);
    }
    return 0;
}

/* With neither an offset nor more to come it is no fragment (RFC 6946). */
static bool read_ipv6(const struct gs_packet *packet, struct gs_fragment *fragment)
{
    const uint8_t *header = packet->bytes + packet->network_offset;
    uint32_t at = find_fragment_header(packet, &fragment->next_header_offset);
    uint32_t word = at == 0 ? 0 : gs_load_be16(packet->bytes + at + 2);

    if ((word & (IPV6_OFFSET | 1)) == 0) return false;
    fragment->begin = word & IPV6_OFFSET;
    fragment->is_last = (word & 1) == 0;
    fragment->offset = at + 8;
    fragment->header_length = at;
    fragment->next_header = packet->bytes[at];
    fragment->key.version = 6;
    fragment->key.id = gs_load_be32(packet->bytes + at + 4);
    memcpy(fragment->key.source, header + 8, 16);
    memcpy(fragment->key.destination, header + 24, 16);
    return true;
}

/* Bytes of IP headers that the whole counts in its own 16 bits of length. */
static uint32_t headers_counted(const struct gs_packet *packet, const struct gs_fragment *fragment)
{
    uint32_t headers = fragment->header_length - packet->network_offset;
    return fragment->key.version == 4 ? headers : headers - IPV6_BYTES;
}

enum gs_fragment_kind gs_fragment_read(const struct gs_packet *packet, uint32_t depth,
                                       struct gs_fragment *fragment)
{
    bool is_ipv4 = packet->protocols & GS_PROTOCOL_IPV4;
    uint32_t length, captured;

    if (!(packet->protocols & GS_PROTOCOL_IP)) return GS_FRAGMENT_NONE;
    memset(fragment, 0, sizeof *fragment);
    if (!(is_ipv4 ? read_ipv4(packet, fragment) : read_ipv6(packet, fragment)))
        return GS_FRAGMENT_NONE;
    length = packet->transport_offset + packet->ip_payload_length - fragment->offset;
    captured = packet->caplen - fragment->offset;
    fragment->captured = captured < length ? captured : length;
    fragment->key.vlan = packet->vlan;
    fragment->key.inner_vlan = packet->inner_vlan;
    fragment->key.depth = (uint8_t)depth;
    if (length == 0 || (length % 8 != 0 && !fragment->is_last)) return GS_FRAGMENT_MALFORMED;
    if ((uint64_t)headers_counted(packet, fragment) + fragment->begin + length > PAYLOAD_MOST)
        return GS_FRAGMENT_MALFORMED;
    fragment->end = fragment->begin + length;
    return GS_FRAGMENT_PART;
}

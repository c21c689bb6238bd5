/* SPDX-License-Identifier: Apache-2.0 */
/* PFLOG of the BSDs: the length of the header, to be rounded up to words, and the address family of
 * what follows; the rest says what the firewall did. */
#include "layer.h"

#define LEAST_LENGTH 45u /* OpenBSD 3.4, the first that has a length */

enum gs_layer gs_decode_pflog(struct gs_packet *packet, struct gs_cursor *cursor)
{
    const uint8_t *header = packet->bytes + cursor->offset;
    uint32_t length;

    if (!gs_is_captured(packet, cursor->offset, 2) || header[0] < LEAST_LENGTH) return GS_LAYER_END;
    length = (header[0] + 3u) & ~3u;
    if (!gs_is_captured(packet, cursor->offset, length)) return GS_LAYER_END;
    cursor->offset += length;
    return gs_layer_of_address_family(header[1]);
}

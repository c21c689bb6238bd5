/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of tunnels: decoders like the others (layer.h), which decapsulate.c calls where a
 * rule has told that one is there. The packet's caplen is then the end of what the tunnel carries.
 */
#ifndef GS_DECODE_TUNNEL_H
#define GS_DECODE_TUNNEL_H

#include "gs_tunnels.h"
#include "layer.h"

enum gs_layer gs_open_gre(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_open_vxlan(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_open_geneve(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_open_gtp(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_open_teredo(struct gs_packet *packet, struct gs_cursor *cursor);
enum gs_layer gs_open_pseudowire(struct gs_packet *packet, struct gs_cursor *cursor);

#endif

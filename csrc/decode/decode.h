/* SPDX-License-Identifier: Apache-2.0 */
/* The decode stage: fills the second part of each packet, no deeper than the query set looks.
 * Only checks bounds and sets offsets; fields are read by the accessors of abi/gs_fields.h. The
 * rules are those of GSQL section 8, one protocol header a file. */
#ifndef GS_DECODE_H
#define GS_DECODE_H

#include "gs_packet.h"

void gs_decode_burst(struct gs_packet *packets, uint32_t count, enum gs_depth depth);
/* The same of one. */
void gs_decode_packet(struct gs_packet *packet, enum gs_depth depth);

#endif

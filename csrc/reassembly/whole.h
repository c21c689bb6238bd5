/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GS_WHOLE_H
#define GS_WHOLE_H

#include "datagrams.h"

/* The packet becomes the datagram, all of whose fragments are there, with its bytes in `room`: the
 * headers of the first fragment, and what was captured of the payload up to the first gap. Its
 * record is that of the packet, but for `len`, which is that of all records. false: it would be
 * longer than IP can say. */
bool gs_whole_make(const struct gs_datagrams *datagrams, const struct gs_datagram *datagram,
                   struct gs_packet *packet, uint8_t *room);

#endif

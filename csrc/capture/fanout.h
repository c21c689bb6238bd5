/* SPDX-License-Identifier: Apache-2.0 */
/* The rings that share a device's packets: their group in the kernel. A group is of one device, and
 * no socket leaves it; where the device comes back as another one, new sockets found a new group.
 */
#ifndef GS_CAPTURE_FANOUT_H
#define GS_CAPTURE_FANOUT_H

#include "capture.h"

/* Whether nobody has asked before. */
bool gs_fanout_is_first(struct gs_fanout_group *group);
/* Lets a socket join that is bound to the device with this index; the first founds the group, under
 * a number that no other process has (or two captures of a device would share its packets). */
int gs_fanout_join(struct gs_fanout_group *group, int descriptor, int link_index,
                   bool ignores_outgoing, struct gs_error *error);

#endif

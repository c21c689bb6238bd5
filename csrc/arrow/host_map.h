/* SPDX-License-Identifier: Apache-2.0 */
/* What a host does for the operator that asks it for more columns (hfta/host_map.c). */
#ifndef GS_ARROW_HOST_MAP_H
#define GS_ARROW_HOST_MAP_H

#include "exchange.h"

/* Gives the rows of a batch of node `node` with the columns of the node's schema. GS_OK: the array
 * and its schema are the engine's; else nothing is, the query set ends, and the host says why. */
typedef int gs_host_map_function(void *context, uint32_t node, struct gs_batch *batch,
                                 struct ArrowArray *array, struct ArrowSchema *schema);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Which windows lack rows that were refused, said apart from the rows, of which none may be left:
 * all were refused, or a condition takes none. A batch that names a window (gs_batch_names_window)
 * goes through every operator, ahead of what holds rows back, to whoever makes longer windows of
 * it; it is sent before a bound passes the window. */
#ifndef GS_HFTA_LACKING_H
#define GS_HFTA_LACKING_H

#include "gs_batch.h"

struct gs_operator_state;

/* A name of which no column is known yet; NULL: there is no memory, which ends all. */
struct gs_batch *gs_lacking_new(struct gs_operator_state *op);
/* Sends it, and gives it up. */
void gs_lacking_send(struct gs_operator_state *op, struct gs_batch *name);
/* What comes in by a port. */
void gs_lacking_take(struct gs_operator_state *op, uint32_t port, struct gs_batch *name);

#endif

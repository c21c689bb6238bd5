/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of engines that divide a file, and exchange the rows of their groups (stream/exchange.h). */
#ifndef GS_RUNTIME_ATTACHED_EXCHANGE_H
#define GS_RUNTIME_ATTACHED_EXCHANGE_H

#include "attached_set.h"

int gs_attached_open_exchange(struct gs_attached_set *set, struct gs_error *error);
void gs_attached_close_exchange(struct gs_attached_set *set);
/* H and W of its own packets: all parts are told, behind the rows of theirs. */
void gs_attached_tell(struct gs_attached_set *set, int64_t high_ns, int64_t promise_ns,
                      bool is_end);
/* What it was sent goes to its LFTAs. False: nothing was, or it exchanges nothing. */
bool gs_attached_receive(struct gs_attached_set *set);
/* Some of the others read packets yet, and may send it rows. */
bool gs_attached_awaits(const struct gs_attached_set *set);
/* Until they do, so many milliseconds at most; whether they have. */
bool gs_attached_wait(struct gs_attached_set *set, int timeout_ms);

#endif

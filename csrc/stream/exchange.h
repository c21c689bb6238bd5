/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that divide a file exchange rows below their tables (the exchange operator of Graefe,
 * SIGMOD 1990): each has the groups of a part of the hash, and gets the rows of these groups from
 * whoever has read their packets. */
#ifndef GS_STREAM_EXCHANGE_H
#define GS_STREAM_EXCHANGE_H

#include <stdint.h>

struct gs_exchange;

struct gs_memory;

/* Among so many engines, at most GS_PARTS_MAX; what is under way is counted in the account, or
 * NULL. NULL: no memory. It is freed behind their sets. */
struct gs_exchange *gs_exchange_new(uint32_t parts, struct gs_memory *memory);
void gs_exchange_free(struct gs_exchange *exchange);
/* Nobody waits for the others any longer: what they have sent is no answer. From any thread. */
void gs_exchange_end(struct gs_exchange *exchange);

#endif

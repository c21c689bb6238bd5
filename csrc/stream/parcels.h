/* SPDX-License-Identifier: Apache-2.0 */
/* What engines that exchange rows send each other: rows of one LFTA, or how far the sender's time
 * has come, in the order in which it sends them. */
#ifndef GS_STREAM_PARCELS_H
#define GS_STREAM_PARCELS_H

#include <stdbool.h>
#include <stddef.h>

#include "exchange.h"

struct gs_parcel {
    struct gs_parcel *next;
    size_t bytes; /* of rows that there is room for */
    uint32_t from;
    uint32_t lfta;  /* of the set, by its port */
    uint32_t count; /* of its rows; 0: it tells the time */
    bool is_end;
    int64_t high_ns, promise_ns;
    _Alignas(64) uint8_t rows[];
};

uint32_t gs_exchange_parts(const struct gs_exchange *exchange);
/* An empty one for this part, with room for so many bytes. NULL: no memory. */
struct gs_parcel *gs_parcel_new(struct gs_exchange *exchange, uint32_t to, size_t bytes);
void gs_parcel_send(struct gs_exchange *exchange, uint32_t to, struct gs_parcel *parcel);
/* All that have come, oldest first; NULL: none has. */
struct gs_parcel *gs_parcels_take(struct gs_exchange *exchange, uint32_t part);
/* It has been read: it serves whoever sends the next. */
void gs_parcel_give_back(struct gs_exchange *exchange, uint32_t part, struct gs_parcel *parcel);
/* Until there is one, so many milliseconds at most. False: there is none, and if the exchange has
 * been ended none will be waited for. */
bool gs_parcels_wait(struct gs_exchange *exchange, uint32_t part, int timeout_ms);
bool gs_exchange_has_ended(const struct gs_exchange *exchange);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a group keeps and that grow, in the memory of its window. */
#ifndef GS_KEPT_BYTES_H
#define GS_KEPT_BYTES_H

#include "gs_query_set.h"

/* A string that a group replaces (FIRST, LAST): its room at least doubles when it grows, so that a
 * group takes less than four times its longest string of the window's memory. */
static inline void gs_keep_string(struct gs_operator *op, struct gs_group_table *table,
                                  struct gs_string *kept, uint32_t *room, struct gs_string s)
{
    if (s.length > *room || kept->bytes == NULL) {
        uint32_t wanted = s.length > 2 * *room ? s.length : 2 * *room;
        struct gs_string grown = op->host->group_string(op, table, s, wanted);
        if (grown.bytes == NULL) return; /* the window is marked: it keeps what it has */
        *kept = grown;
        *room = wanted;
        return;
    }
    if (s.length > 0) memcpy((uint8_t *)kept->bytes, s.bytes, s.length);
    kept->length = s.length;
}

/* What a group has kept whose rows have too many bytes (gigastream/group_calls.py). */
static inline struct gs_string gs_too_many_rows(void)
{
    static const uint8_t mark[1] = {0xff};
    return (struct gs_string){mark, sizeof mark};
}

/* A row behind those that its group has kept, its length before it, of at most so many bytes in
 * all. Room doubles as it grows, as above. */
static inline void gs_keep_row(struct gs_operator *op, struct gs_group_table *table,
                               struct gs_string *kept, uint32_t *room, struct gs_string row,
                               uint32_t most)
{
    if (kept->length == gs_too_many_rows().length) return;
    const uint64_t length = (uint64_t)kept->length + sizeof row.length + row.length;
    if (length > most) {
        *kept = gs_too_many_rows();
        return;
    }
    if (length > *room) {
        uint64_t wanted = 2 * (uint64_t)*room > length ? 2 * (uint64_t)*room : length;
        if (wanted > most) wanted = most;
        struct gs_string grown = op->host->group_string(op, table, *kept, (uint32_t)wanted);
        if (grown.bytes == NULL) return; /* the window is marked: it keeps what it has */
        *kept = grown;
        *room = (uint32_t)wanted;
    }
    uint8_t *end = (uint8_t *)kept->bytes + kept->length;
    memcpy(end, &row.length, sizeof row.length);
    if (row.length > 0) memcpy(end + sizeof row.length, row.bytes, row.length);
    kept->length = (uint32_t)length;
}

#endif

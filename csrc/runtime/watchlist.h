/* SPDX-License-Identifier: Apache-2.0 */
/* A watchlist as it is made: its table (watchlist.c), from the lines of a file (watchlist_text.c).
 */
#ifndef GS_RUNTIME_WATCHLIST_H
#define GS_RUNTIME_WATCHLIST_H

#include "../gigastream.h"
#include "gs_watchlist.h"

/* A row that is read: its cells by column, and how long the prefixes of its keys are. */
struct gs_list_line {
    struct gs_list_cell cells[GS_LIST_COLUMNS]; /* of a text: a pointer to it */
    uint16_t lengths[GS_LIST_KEYS];
    bool is_ip[GS_LIST_KEYS];
};

/* Puts a row into the table, in the place of one with the same keys. GS_REFUSED: there is no room
 * within the bytes that it may have. */
int gs_list_put(struct gs_watchlist *list, const struct gs_list_line *line, struct gs_error *error);

/* The value of a column from a text; a key that is an address may be a prefix. NULL, or what is
 * wrong. */
const char *gs_list_parse(const struct gs_watchlist *list, uint32_t column, struct gs_string text,
                          struct gs_list_line *line);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a watchlist. It is made beside the one that is in use, by another thread if need be,
 * and then given to the query set between two bursts. */
#include "watchlist.h"

#include <stdlib.h>

#include "attached_set.h"

#define FIRST_ROWS 1024u
#define MOST_ROWS (1u << 30) /* an index has 32 bits for each */

/* ---- room ---- */

static uint64_t bytes_of(const struct gs_watchlist *list)
{
    uint64_t row = sizeof *list->rows * (list->column_count + 1);
    return list->row_capacity * row + list->text_capacity +
           (list->index_mask + 1) * sizeof *list->index;
}

static int refuse_room(const struct gs_watchlist *list, struct gs_error *error)
{
    return gs_fail(error, GS_REFUSED, "the list takes more than %llu bytes of memory",
                   (unsigned long long)list->most_bytes);
}

/* The same block, so large; the list has `more` bytes more then. */
static int grow(struct gs_watchlist *list, void *block, uint64_t bytes, uint64_t more,
                struct gs_error *error)
{
    void **at = block;
    if (bytes_of(list) + more > list->most_bytes) return refuse_room(list, error);
    void *grown = realloc(*at, bytes);
    if (grown == NULL) return gs_fail(error, GS_REFUSED, "no memory for the list");
    *at = grown;
    return GS_OK;
}

static int room_for_row(struct gs_watchlist *list, struct gs_error *error)
{
    uint64_t row = sizeof *list->rows * (list->column_count + 1);
    if (list->row_count < list->row_capacity) return GS_OK;
    uint64_t capacity = list->row_capacity == 0 ? FIRST_ROWS : list->row_capacity * 2;
    if (capacity > MOST_ROWS) return refuse_room(list, error);
    uint64_t more = (capacity - list->row_capacity) * row;
    GS_RETURN_IF_ERROR(grow(list, &list->rows, capacity * row, more, error));
    list->row_capacity = capacity;
    return GS_OK;
}

static int room_for_text(struct gs_watchlist *list, uint64_t length, struct gs_error *error)
{
    uint64_t capacity = list->text_capacity == 0 ? 4096 : list->text_capacity;
    while (capacity - list->text_length < length)
        capacity *= 2;
    if (capacity == list->text_capacity) return GS_OK;
    uint64_t more = capacity - list->text_capacity;
    GS_RETURN_IF_ERROR(grow(list, &list->text, capacity, more, error));
    list->text_capacity = capacity;
    return GS_OK;
}

/* An index of twice as many places, before it is more than half full. */
static int room_in_index(struct gs_watchlist *list, struct gs_error *error)
{
    uint64_t places = list->index_mask + 1;
    if (list->index != NULL && list->row_count * 2 < places) return GS_OK;
    places = list->index == NULL ? 2 * FIRST_ROWS : 2 * places;
    if (bytes_of(list) + places * sizeof *list->index > list->most_bytes)
        return refuse_room(list, error);
    uint32_t *index = calloc(places, sizeof *index);
    if (index == NULL) return gs_fail(error, GS_REFUSED, "no memory for the list");
    for (uint64_t row = 0; row < list->row_count; row++) {
        uint64_t at = gs_list_row(list, row)[0].a & (places - 1);
        while (index[at] != 0)
            at = (at + 1) & (places - 1);
        index[at] = (uint32_t)row + 1;
    }
    free(list->index);
    list->index = index;
    list->index_mask = places - 1;
    return GS_OK;
}

/* ---- levels ---- */

static bool is_level(const struct gs_watchlist *list, const struct gs_list_level *level,
                     const struct gs_list_line *line)
{
    for (uint32_t k = 0; k < list->key_count; k++)
        if (level->lengths[k] != line->lengths[k] || level->is_ip[k] != line->is_ip[k])
            return false;
    return true;
}

/* Whether a lookup asks level a before b: the longer prefix of the first key that tells them apart.
 */
static bool is_longer(const struct gs_watchlist *list, uint32_t a, uint32_t b)
{
    for (uint32_t k = 0; k < list->key_count; k++) {
        uint16_t one = list->levels[a].lengths[k], other = list->levels[b].lengths[k];
        if (one != other) return one > other;
    }
    return false;
}

static void order_level(struct gs_watchlist *list, uint32_t number)
{
    uint32_t at = list->level_count - 1;
    for (; at > 0 && is_longer(list, number, list->order[at - 1]); at--)
        list->order[at] = list->order[at - 1];
    list->order[at] = number;
}

static struct gs_list_cell mask_of(uint16_t length)
{
    return (struct gs_list_cell){
        __builtin_bswap64(gs_high_bits(length)),
        __builtin_bswap64(gs_high_bits(length > 64 ? length - 64u : 0)),
    };
}

static int find_level(struct gs_watchlist *list, const struct gs_list_line *line, uint32_t *number,
                      struct gs_error *error)
{
    for (*number = 0; *number < list->level_count; ++*number)
        if (is_level(list, &list->levels[*number], line)) return GS_OK;
    if (list->level_count == GS_LIST_LEVELS)
        return gs_fail(error, GS_REFUSED, "its prefixes have more than %u combinations of lengths",
                       GS_LIST_LEVELS);
    struct gs_list_level *level = &list->levels[list->level_count++];
    for (uint32_t k = 0; k < list->key_count; k++) {
        level->lengths[k] = line->lengths[k];
        level->is_ip[k] = line->is_ip[k];
        level->masks[k] = mask_of(line->lengths[k]);
    }
    order_level(list, *number);
    return GS_OK;
}

/* ---- rows ---- */

static void keep_text(struct gs_watchlist *list, struct gs_list_cell *cell)
{
    struct gs_string text = gs_list_key_text(cell);
    if (text.length > 0) memcpy(list->text + list->text_length, text.bytes, text.length);
    cell->a = list->text_length;
    list->text_length += text.length;
}

static uint64_t text_bytes(const struct gs_watchlist *list, const struct gs_list_line *line)
{
    uint64_t bytes = 0;
    for (uint32_t c = 0; c < list->column_count; c++)
        if (list->types[c] == GS_STRING) bytes += line->cells[c].b;
    return bytes;
}

static void fill(struct gs_watchlist *list, uint64_t number, const struct gs_list_line *line)
{
    struct gs_list_cell *row = list->rows + number * (list->column_count + 1) + 1;
    for (uint32_t c = 0; c < list->column_count; c++) {
        row[c] = line->cells[c];
        if (list->types[c] == GS_STRING) keep_text(list, &row[c]);
    }
}

int gs_list_put(struct gs_watchlist *list, const struct gs_list_line *line, struct gs_error *error)
{
    struct gs_list_cell keys[GS_LIST_KEYS];
    uint32_t level;
    GS_RETURN_IF_ERROR(find_level(list, line, &level, error));
    GS_RETURN_IF_ERROR(room_for_row(list, error));
    GS_RETURN_IF_ERROR(room_for_text(list, text_bytes(list, line), error));
    GS_RETURN_IF_ERROR(room_in_index(list, error));
    for (uint32_t k = 0; k < list->key_count; k++)
        keys[k] = line->cells[list->keys[k]];
    uint64_t hash = gs_list_hash(list, level, keys);
    uint64_t at = gs_list_place(list, level, keys, hash);
    if (list->index[at] != 0) {
        list->replaced++;
        fill(list, list->index[at] - 1, line);
        return GS_OK;
    }
    list->rows[list->row_count * (list->column_count + 1)] = (struct gs_list_cell){hash, level};
    fill(list, list->row_count, line);
    list->index[at] = (uint32_t)++list->row_count;
    return GS_OK;
}

/* ---- making and giving ---- */

int gs_watchlist_new(const struct gs_watchlist_shape *shape, struct gs_watchlist **result,
                     struct gs_error *error)
{
    struct gs_watchlist *list = *result = calloc(1, sizeof *list);
    if (list == NULL) return gs_fail(error, GS_ERROR, "no memory for the list");
    if (shape->column_count > GS_LIST_COLUMNS)
        return gs_fail(error, GS_ERROR, "a list has at most %u columns", GS_LIST_COLUMNS);
    list->column_count = shape->column_count;
    list->most_bytes = shape->most_bytes;
    memcpy(list->hash_key, shape->hash_key, sizeof list->hash_key);
    for (uint32_t c = 0; c < shape->column_count; c++) {
        list->types[c] = shape->types[c];
        if (!shape->is_key[c]) continue;
        if (list->key_count == GS_LIST_KEYS)
            return gs_fail(error, GS_ERROR, "a list has at most %u key columns", GS_LIST_KEYS);
        list->keys[list->key_count++] = c;
    }
    return GS_OK;
}

void gs_watchlist_counts(const struct gs_watchlist *list, struct gs_watchlist_counts *counts)
{
    *counts = (struct gs_watchlist_counts){
        .rows = list->row_count,
        .refused = list->refused,
        .replaced = list->replaced,
        .first_refused = list->first_refused,
        .why_refused = list->why_refused,
        .bytes = bytes_of(list),
    };
}

void gs_watchlist_free(struct gs_watchlist *list)
{
    if (list == NULL) return;
    free(list->rows);
    free(list->text);
    free(list->index);
    free(list);
}

int gs_attached_give_watchlist(struct gs_attached_set *set, uint32_t number,
                               struct gs_watchlist *list, struct gs_error *error)
{
    if (number >= set->query_set->watchlist_count)
        return gs_fail(error, GS_ERROR, "there is no list %u", number);
    gs_watchlist_free((struct gs_watchlist *)set->watchlists[number]);
    set->watchlists[number] = list;
    return GS_OK;
}

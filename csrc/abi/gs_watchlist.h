/* SPDX-License-Identifier: Apache-2.0 */
/* A watchlist as a packet meets it (GSQL section 6.10): rows of a file by their key columns, in one
 * hash table. A key that is an address may be a prefix: rows whose prefixes have the same lengths
 * are a level, and a lookup asks the levels from the longest on, each with the address cut to its
 * length. It is written by csrc/runtime/watchlist.c and only read here. */
#ifndef GS_WATCHLIST_H
#define GS_WATCHLIST_H

#include "gs_functions.h"
#include "gs_hash.h"
#include "gs_strings.h"

#define GS_LIST_COLUMNS 32u /* of a list */
#define GS_LIST_KEYS 8u     /* of them */
#define GS_LIST_LEVELS 256u /* different lengths of prefixes, or combinations of them */

/* A value: a whole number as 128 bits with its sign (a above b), a float as its bits (b), an
 * address as the words of a struct gs_inet. A text: where its bytes begin among all, as a pointer
 * in the keys of a lookup (a), and their number (b). */
struct gs_list_cell {
    uint64_t a, b;
};

struct gs_list_level {
    uint16_t lengths[GS_LIST_KEYS]; /* bits of ::ffff:a.b.c.d; 128 of what is no prefix */
    bool is_ip[GS_LIST_KEYS];       /* only addresses of IPv4 are within */
    struct gs_list_cell masks[GS_LIST_KEYS];
};

struct gs_watchlist {
    uint8_t types[GS_LIST_COLUMNS]; /* enum gs_type */
    uint32_t column_count, key_count;
    uint32_t keys[GS_LIST_KEYS]; /* their columns */
    struct gs_list_cell *rows;   /* of each its hash and its level, then its columns */
    uint64_t row_count, row_capacity;
    uint8_t *text;
    uint64_t text_length, text_capacity;
    uint32_t *index; /* rows from 1 on, 0: none; by open addressing */
    uint64_t index_mask;
    struct gs_list_level levels[GS_LIST_LEVELS];
    uint32_t level_count, order[GS_LIST_LEVELS]; /* longest first */
    uint64_t hash_key[GS_HASH_KEY_WORDS];
    uint64_t most_bytes, line_count, refused, replaced, first_refused;
    const char *why_refused; /* of the first */
};

static inline struct gs_list_cell gs_list_number(int64_t value)
{
    return (struct gs_list_cell){value < 0 ? UINT64_MAX : 0, (uint64_t)value};
}

static inline struct gs_list_cell gs_list_unsigned(uint64_t value)
{
    return (struct gs_list_cell){0, value};
}

static inline struct gs_list_cell gs_list_inet(struct gs_inet address)
{
    return (struct gs_list_cell){address.words[0], address.words[1]};
}

static inline struct gs_list_cell gs_list_string(struct gs_string text)
{
    return (struct gs_list_cell){(uint64_t)(uintptr_t)text.bytes, text.length};
}

static inline bool gs_list_is_address(uint8_t type)
{
    return type == GS_IP || type == GS_IPV6 || type == GS_INET;
}

static inline const struct gs_list_cell *gs_list_row(const struct gs_watchlist *list, uint64_t row)
{
    return list->rows + row * (list->column_count + 1);
}

/* A text of a row. */
static inline struct gs_string gs_list_text(const struct gs_watchlist *list,
                                            const struct gs_list_cell *cell)
{
    return (struct gs_string){list->text + cell->a, (uint32_t)cell->b};
}

static inline struct gs_string gs_list_key_text(const struct gs_list_cell *key)
{
    return (struct gs_string){(const uint8_t *)(uintptr_t)key->a, (uint32_t)key->b};
}

static inline struct gs_inet gs_list_address(const struct gs_list_cell *cell)
{
    return (struct gs_inet){{cell->a, cell->b}};
}

static inline double gs_list_float(const struct gs_list_cell *cell)
{
    double value;
    memcpy(&value, &cell->b, sizeof value);
    return value;
}

/* Whether the level has addresses of these families at all. */
static inline bool gs_list_may_be_of(const struct gs_watchlist *list,
                                     const struct gs_list_level *level,
                                     const struct gs_list_cell *keys)
{
    for (uint32_t k = 0; k < list->key_count; k++)
        if (gs_list_is_address(list->types[list->keys[k]]) &&
            gs_inet_is_ip(gs_list_address(&keys[k])) != level->is_ip[k])
            return false;
    return true;
}

static inline uint64_t gs_list_hash(const struct gs_watchlist *list, uint32_t number,
                                    const struct gs_list_cell *keys)
{
    const struct gs_list_level *level = &list->levels[number];
    uint64_t hash = gs_hash_word(list->hash_key[0], number, list->hash_key);
    for (uint32_t k = 0; k < list->key_count; k++) {
        if (list->types[list->keys[k]] == GS_STRING) {
            hash = gs_hash_bytes(hash, gs_list_key_text(&keys[k]), list->hash_key);
            continue;
        }
        hash = gs_hash_word(hash, keys[k].a & level->masks[k].a, list->hash_key);
        hash = gs_hash_word(hash, keys[k].b & level->masks[k].b, list->hash_key);
    }
    return hash;
}

static inline bool gs_list_is_same(const struct gs_watchlist *list,
                                   const struct gs_list_level *level,
                                   const struct gs_list_cell *row, const struct gs_list_cell *keys)
{
    for (uint32_t k = 0; k < list->key_count; k++) {
        const struct gs_list_cell *cell = &row[1 + list->keys[k]];
        if (list->types[list->keys[k]] == GS_STRING) {
            if (!gs_string_equal(gs_list_text(list, cell), gs_list_key_text(&keys[k])))
                return false;
        } else if (cell->a != (keys[k].a & level->masks[k].a) ||
                   cell->b != (keys[k].b & level->masks[k].b)) {
            return false;
        }
    }
    return true;
}

/* The place in the index of the row with these keys within a level, or of the gap where it would
 * be.
 */
static inline uint64_t gs_list_place(const struct gs_watchlist *list, uint32_t number,
                                     const struct gs_list_cell *keys, uint64_t hash)
{
    uint64_t at = hash & list->index_mask;
    for (; list->index[at] != 0; at = (at + 1) & list->index_mask) {
        const struct gs_list_cell *row = gs_list_row(list, list->index[at] - 1);
        if (row[0].a == hash && row[0].b == number &&
            gs_list_is_same(list, &list->levels[number], row, keys))
            break;
    }
    return at;
}

/* The cells of the row that matches, by column; NULL: none does. */
static inline const struct gs_list_cell *gs_watchlist_find(const struct gs_watchlist *list,
                                                           const struct gs_list_cell *keys)
{
    for (uint32_t i = 0; list != NULL && i < list->level_count; i++) {
        uint32_t number = list->order[i];
        if (!gs_list_may_be_of(list, &list->levels[number], keys)) continue;
        uint64_t at = gs_list_place(list, number, keys, gs_list_hash(list, number, keys));
        if (list->index[at] != 0) return gs_list_row(list, list->index[at] - 1) + 1;
    }
    return NULL;
}

#endif

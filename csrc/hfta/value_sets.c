/* SPDX-License-Identifier: Apache-2.0 */
#include "value_sets.h"

#include <stdlib.h>

#include "groups.h"

#define FIRST_PLACES 16u
#define MOST_PLACES (1u << 31)

static uint64_t places_bytes(const struct gs_value_sets *sets)
{
    return sets->places == NULL ? 0 : ((uint64_t)sets->mask + 1) * sizeof *sets->places;
}

static void insert(struct gs_value_sets *sets, struct gs_group_value *value)
{
    uint32_t at = (uint32_t)value->hash & sets->mask;
    while (sets->places[at] != NULL)
        at = (at + 1) & sets->mask;
    sets->places[at] = value;
}

static bool grow(struct gs_group_operator *op, struct gs_value_sets *sets)
{
    const struct gs_value_sets before = *sets;
    if (before.places != NULL && before.mask + 1 >= MOST_PLACES) return false;
    uint32_t places = before.places == NULL ? FIRST_PLACES : 2 * (before.mask + 1);
    if (!gs_groups_hold(op, places * sizeof *sets->places)) return false;
    struct gs_group_value **memory = calloc(places, sizeof *memory);
    if (memory == NULL) {
        gs_let_go(&op->shared.op.holder, places * sizeof *memory);
        return false;
    }
    *sets = (struct gs_value_sets){memory, places - 1, before.count};
    for (uint32_t at = 0; before.places != NULL && at <= before.mask; at++)
        if (before.places[at] != NULL) insert(sets, before.places[at]);
    gs_let_go(&op->shared.op.holder, places_bytes(&before));
    free(before.places);
    return true;
}

static struct gs_group_value *find(const struct gs_value_sets *sets,
                                   const struct gs_group_value *wanted, struct gs_string bytes)
{
    if (sets->places == NULL) return NULL;
    uint32_t at = (uint32_t)wanted->hash & sets->mask;
    for (; sets->places[at] != NULL; at = (at + 1) & sets->mask) {
        struct gs_group_value *value = sets->places[at];
        if (value->hash == wanted->hash && value->group == wanted->group &&
            value->set == wanted->set && value->length == bytes.length &&
            memcmp(value->bytes, bytes.bytes, bytes.length) == 0)
            return value;
    }
    return NULL;
}

/* NULL where the budget, or the system, has no memory. */
static struct gs_group_value *add(struct gs_group_operator *op, struct gs_groups *groups,
                                  const struct gs_group_value *wanted, struct gs_string bytes)
{
    struct gs_value_sets *sets = &groups->values;
    if ((sets->places == NULL || sets->count >= sets->mask / 8 * 5) && !grow(op, sets)) return NULL;
    struct gs_group_value *value = gs_groups_memory(op, groups, sizeof *value + bytes.length);
    if (value == NULL) return NULL;
    *value = *wanted;
    if (bytes.length > 0) memcpy(value->bytes, bytes.bytes, bytes.length);
    insert(sets, value);
    sets->count++;
    return value;
}

struct gs_group_value *gs_group_value(struct gs_operator *base, struct gs_group_table *table,
                                      uint32_t group, uint32_t set, struct gs_string bytes)
{
    struct gs_group_operator *op = (struct gs_group_operator *)base;
    struct gs_groups *groups = (struct gs_groups *)table;
    const uint64_t *key = base->hash_key;
    uint64_t hash = gs_hash_word(key[0], (uint64_t)set << 32 | group, key);
    const struct gs_group_value wanted = {
        .hash = gs_hash_bytes(hash, bytes, key),
        .group = group,
        .set = set,
        .length = bytes.length,
    };
    struct gs_group_value *value = find(&groups->values, &wanted, bytes);
    if (value == NULL) value = add(op, groups, &wanted, bytes);
    if (value == NULL)
        gs_groups_refuse(op, groups, false);
    else
        value->times++;
    return value;
}

void gs_value_sets_close(struct gs_group_operator *op, struct gs_value_sets *sets)
{
    gs_let_go(&op->shared.op.holder, places_bytes(sets));
    free(sets->places);
    memset(sets, 0, sizeof *sets);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of values (csrc/abi/gs_value_lists.h): whatever the order in which rows come, a list is
 * what it would be if they came in theirs. */
#include <stdlib.h>

#include "groups.h"
#include "gs_value_text.h"

#define FIRST_ROOM 4u
#define NUMBER_TEXT 21u                 /* of 64 bits, and a sign */
#define MOST_COUNTS (GS_LIST_BYTES / 2) /* that a text has: each is followed by = and a digit */

static struct gs_string bytes_of(const struct gs_list_value *value)
{
    return (struct gs_string){value->bytes, value->length};
}

static bool has_bytes(const struct gs_list_value *value, struct gs_string bytes)
{
    return gs_string_equal(bytes_of(value), bytes);
}

static int compare(struct gs_position position, struct gs_string bytes,
                   const struct gs_list_value *value)
{
    int order = gs_position_compare(position, value->position);
    return order != 0 ? order : gs_string_compare(bytes, bytes_of(value));
}

/* Behind all that are not after it: most rows come in order. */
static uint32_t place_of(const struct gs_value_list *list, struct gs_position position,
                         struct gs_string bytes)
{
    uint32_t from = 0, to = list->count;
    if (to > 0 && compare(position, bytes, list->values[to - 1]) >= 0) return to;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (compare(position, bytes, list->values[middle]) < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

static bool reserve(struct gs_group_operator *op, struct gs_groups *groups,
                    struct gs_value_list *list)
{
    if (list->count < list->room) return true;
    if (list->room > UINT32_MAX / 4) return false;
    uint32_t room = list->room == 0 ? FIRST_ROOM : 2 * list->room;
    struct gs_list_value **values = gs_groups_memory(op, groups, room * sizeof *values);
    if (values == NULL) return false;
    if (list->count > 0) memcpy(values, list->values, list->count * sizeof *values);
    list->values = values;
    list->room = room;
    return true;
}

/* False, and the window is marked, where there is no memory. */
static bool insert(struct gs_operator *base, struct gs_group_table *table,
                   struct gs_value_list *list, uint32_t place, struct gs_position position,
                   struct gs_string bytes)
{
    struct gs_group_operator *op = (struct gs_group_operator *)base;
    struct gs_groups *groups = (struct gs_groups *)table;
    struct gs_list_value *value = NULL;
    if (reserve(op, groups, list))
        value = gs_groups_memory(op, groups, sizeof *value + bytes.length);
    if (value == NULL) return gs_groups_refuse(op, groups, false);
    *value = (struct gs_list_value){position, bytes.length};
    if (bytes.length > 0) memcpy(value->bytes, bytes.bytes, bytes.length);
    memmove(list->values + place + 1, list->values + place,
            (list->count - place) * sizeof *list->values);
    list->values[place] = value;
    list->count++;
    return true;
}

/* ---- the first values, as many as there is room for ---- */

static uint64_t cost_of(uint64_t length, uint32_t separator)
{
    return length + separator == 0 ? 1 : length + separator;
}

void gs_list_add(struct gs_operator *op, struct gs_group_table *table, struct gs_value_list *list,
                 struct gs_position position, struct gs_string bytes, uint32_t separator)
{
    if (list->cut != NULL && compare(position, bytes, list->cut) >= 0) {
        list->beyond++;
        return;
    }
    uint32_t place = place_of(list, position, bytes);
    if (!insert(op, table, list, place, position, bytes)) return;
    list->taken += cost_of(bytes.length, separator);
    while (list->taken > GS_LIST_BYTES) {
        list->cut = list->values[--list->count];
        list->taken -= cost_of(list->cut->length, separator);
        list->beyond++;
    }
}

/* ---- runs of equal values ---- */

/* All of them: one that comes late may part a run between any two. */
void gs_runs_add(struct gs_operator *op, struct gs_group_table *table, struct gs_value_list *list,
                 struct gs_position position, struct gs_string bytes)
{
    insert(op, table, list, place_of(list, position, bytes), position, bytes);
}

uint64_t gs_runs_count(const struct gs_value_list *list)
{
    uint64_t runs = list->count > 0;
    for (uint32_t at = 1; at < list->count; at++)
        runs += !has_bytes(list->values[at], bytes_of(list->values[at - 1]));
    return runs;
}

/* ---- as text ---- */

static uint8_t *put(uint8_t *at, struct gs_string s)
{
    return s.length == 0 ? at : gs_put_text(at, (const char *)s.bytes, s.length);
}

static bool begin(struct gs_operator *op, const struct gs_list_form *form, uint64_t taken,
                  struct gs_string *text)
{
    uint64_t room = form->opening.length + taken + form->separator.length + 16 + NUMBER_TEXT +
                    form->closing.length;
    text->bytes = room > UINT32_MAX ? NULL : gs_scratch_take(op->scratch, (uint32_t)room);
    return text->bytes != NULL;
}

static void end(const struct gs_list_form *form, uint8_t *at, bool has_values, uint64_t beyond,
                struct gs_string *text)
{
    if (beyond > 0) {
        if (has_values) at = put(at, form->separator);
        at = gs_put_text(at, "\xe2\x80\xa6 ", 4); /* an ellipsis */
        at = gs_put_unsigned(at, beyond);
        at = gs_put_text(at, " more", 5);
    }
    text->length = (uint32_t)(put(at, form->closing) - text->bytes);
}

bool gs_value_list_text(struct gs_operator *op, const struct gs_value_list *list,
                        const struct gs_list_form *form, struct gs_string *text)
{
    if (!begin(op, form, list->taken, text)) return false;
    uint8_t *at = put((uint8_t *)text->bytes, form->opening);
    for (uint32_t place = 0; place < list->count; place++) {
        if (place > 0) at = put(at, form->separator);
        at = put(at, bytes_of(list->values[place]));
    }
    end(form, at, list->count > 0, list->beyond, text);
    return true;
}

/* ---- how often each value was there ---- */

static struct gs_string text_of(const struct gs_group_value *value)
{
    return (struct gs_string){value->bytes, value->length};
}

/* The most frequent first; then by their texts. */
static int compare_counts(const void *a, const void *b)
{
    const struct gs_group_value *one = *(struct gs_group_value *const *)a;
    const struct gs_group_value *other = *(struct gs_group_value *const *)b;
    if (one->times != other->times) return one->times > other->times ? -1 : 1;
    return gs_string_compare(text_of(one), text_of(other));
}

/* A heap whose root is the last of its values: this one finds its place from there on. */
static void sink(struct gs_group_value **heap, uint64_t count, uint64_t at,
                 struct gs_group_value *value)
{
    for (uint64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && compare_counts(&heap[child], &heap[child + 1]) < 0) child++;
        if (compare_counts(&value, &heap[child]) >= 0) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

/* The first so many of the values, in order. */
static void take_first(struct gs_group_value *values, struct gs_group_value **first, uint64_t count)
{
    for (uint64_t at = 0; at < count; at++, values = values->next)
        first[at] = values;
    for (uint64_t at = count / 2; at-- > 0;)
        sink(first, count, at, first[at]);
    for (; values != NULL; values = values->next)
        if (compare_counts(&values, &first[0]) < 0) sink(first, count, 0, values);
    qsort(first, count, sizeof *first, compare_counts);
}

static void put_counts(const struct gs_value_counts *counts, struct gs_group_value *const *first,
                       const struct gs_list_form *form, struct gs_string *text)
{
    uint8_t *at = put((uint8_t *)text->bytes, form->opening), number[NUMBER_TEXT];
    uint64_t place = 0, taken = 0;
    for (; place < counts->count && place < MOST_COUNTS; place++) {
        struct gs_string value = text_of(first[place]);
        uint32_t digits = (uint32_t)(gs_put_unsigned(number, first[place]->times) - number);
        taken += cost_of((uint64_t)value.length + 1 + digits, form->separator.length);
        if (taken > GS_LIST_BYTES) break;
        if (place > 0) at = put(at, form->separator);
        at = put(at, value);
        *at++ = '=';
        at = gs_put_text(at, (const char *)number, digits);
    }
    end(form, at, place > 0, counts->count - place, text);
}

/* No more of them are sorted than a text has, which takes no memory: a group that leaves can no
 * more be refused. */
bool gs_counts_text(struct gs_operator *op, const struct gs_value_counts *counts,
                    const struct gs_list_form *form, struct gs_string *text)
{
    struct gs_group_value *first[MOST_COUNTS];
    uint64_t most = counts->count < MOST_COUNTS ? counts->count : MOST_COUNTS;
    if (!begin(op, form, GS_LIST_BYTES, text)) return false;
    take_first(counts->first, first, most);
    put_counts(counts, first, form, text);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "window_names.h"

#include <stdlib.h>
#include <string.h>

#include "../stream/window.h"

#define NAMES_FIRST 16u

/* Of a window without values, too: it has a place. */
static size_t name_bytes(const struct gs_window_names *names)
{
    return (names->width > 0 ? names->width : 1) * sizeof(gs_bound);
}

static gs_bound *name_at(const struct gs_window_names *names, uint32_t at)
{
    return names->values + (names->first + (size_t)at) * (name_bytes(names) / sizeof(gs_bound));
}

const gs_bound *gs_window_names_at(const struct gs_window_names *names, uint32_t at)
{
    return name_at(names, at);
}

static int compare(const struct gs_window_names *names, uint32_t at, const gs_bound *values)
{
    return gs_window_compare(name_at(names, at), values, names->width);
}

/* The first that is not before these values. */
static uint32_t place_of(const struct gs_window_names *names, const gs_bound *values)
{
    uint32_t low = 0, high = names->count;
    if (high > 0 && compare(names, high - 1, values) < 0) return high; /* mostly it is the last */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(names, middle, values) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct gs_window_names *names, uint32_t at, const gs_bound *values)
{
    return at < names->count && compare(names, at, values) == 0;
}

/* The room before the first is used again once it is the half. */
static bool reserve(struct gs_window_names *names, struct gs_holder *holder)
{
    if (names->first + names->count < names->capacity) return true;
    if (names->first > names->capacity / 2) {
        gs_bound *from = name_at(names, 0);
        names->first = 0;
        memmove(names->values, from, names->count * name_bytes(names));
        return true;
    }
    uint32_t capacity = names->capacity > 0 ? 2 * names->capacity : NAMES_FIRST;
    if (capacity < names->capacity) return false;
    gs_bound *values = realloc(names->values, capacity * name_bytes(names));
    if (values == NULL) return false;
    gs_hold_anyway(holder, (capacity - names->capacity) * name_bytes(names));
    names->values = values;
    names->capacity = capacity;
    return true;
}

bool gs_window_names_add(struct gs_window_names *names, struct gs_holder *holder,
                         const gs_bound *values)
{
    uint32_t at = place_of(names, values);
    if (is_at(names, at, values)) return true;
    if (!reserve(names, holder)) return false;
    gs_bound *name = name_at(names, at);
    size_t bytes = name_bytes(names);
    memmove(name + bytes / sizeof *name, name, (names->count - at) * bytes);
    memcpy(name, values, names->width * sizeof *name);
    names->count++;
    return true;
}

void gs_window_names_remove(struct gs_window_names *names, uint32_t at)
{
    gs_bound *name = name_at(names, at);
    size_t bytes = name_bytes(names);
    names->count--;
    if (at == 0)
        names->first++;
    else
        memmove(name, name + bytes / sizeof *name, (names->count - at) * bytes);
    if (names->count == 0) names->first = 0;
}

bool gs_window_names_take(struct gs_window_names *names, const gs_bound *values)
{
    if (names->count == 0) return false;
    uint32_t at = place_of(names, values);
    if (!is_at(names, at, values)) return false;
    gs_window_names_remove(names, at);
    return true;
}

void gs_window_names_close(struct gs_window_names *names, struct gs_holder *holder)
{
    if (names->values == NULL) return;
    gs_let_go(holder, names->capacity * name_bytes(names));
    free(names->values);
    names->values = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that lack rows and are not there, by their values: none of their rows has come, or had
 * room. They take the bytes of their values each, and are held in any case: of what is missing
 * nothing else tells. */
#ifndef GS_HFTA_WINDOW_NAMES_H
#define GS_HFTA_WINDOW_NAMES_H

#include "../base/memory.h"
#include "gs_types.h"

struct gs_window_names {
    gs_bound *values; /* in their order, from `first` on */
    uint32_t first, count, capacity;
    uint32_t width; /* of a name */
};

/* Once, however often it is added; false where there is no memory. */
bool gs_window_names_add(struct gs_window_names *names, struct gs_holder *holder,
                         const gs_bound *values);
/* Takes it out; true where it was there. */
bool gs_window_names_take(struct gs_window_names *names, const gs_bound *values);
const gs_bound *gs_window_names_at(const struct gs_window_names *names, uint32_t at);
void gs_window_names_remove(struct gs_window_names *names, uint32_t at);
void gs_window_names_close(struct gs_window_names *names, struct gs_holder *holder);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Asking for time (OPERATORS section 6). Who waits for a bound asks the stream for it; the request
 * goes up, operator by operator, as the bound that each needs of its input, to the sources, as the
 * packet time that is wanted of them. */
#ifndef GS_STREAM_REQUEST_H
#define GS_STREAM_REQUEST_H

#include "gs_types.h"

/* What was asked of somebody. At most one request is outstanding: one that wants more takes the
 * place of the last. */
struct gs_wanted {
    int64_t value; /* GS_BOUND_NONE: nothing was ever asked */
    uint64_t count;
};

/* True where it is news: more than was asked before, and than what is promised already. */
static inline bool gs_wanted_note(struct gs_wanted *wanted, int64_t value, int64_t promised)
{
    if (value <= wanted->value || value <= promised) return false;
    wanted->value = value;
    wanted->count++;
    return true;
}

#endif

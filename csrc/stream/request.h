/* SPDX-License-Identifier: Apache-2.0 */
/* Asking for time (OPERATORS section 6). Who waits for a bound asks the stream for it; the request
 * goes up, operator by operator, as the bound that each needs of its input, to the sources, as the
 * packet time that is wanted of them. */
#ifndef GS_STREAM_REQUEST_H
#define GS_STREAM_REQUEST_H

#include "gs_types.h"

/* What was asked of somebody. At most one request is outstanding, the one that can be met first:
 * who wants more asks again when it has been. */
struct gs_wanted {
    int64_t value;  /* GS_BOUND_NONE: nothing is outstanding */
    uint64_t count; /* of requests */
};

/* True where it is news: more than is promised, and less than what is outstanding. */
static inline bool gs_wanted_note(struct gs_wanted *wanted, int64_t value, int64_t promised)
{
    bool is_outstanding = wanted->value != GS_BOUND_NONE && wanted->value > promised;
    if (value <= promised || (is_outstanding && value >= wanted->value)) return false;
    wanted->value = value;
    wanted->count++;
    return true;
}

/* All who wait are asked anew: what was wanted before is so no more, unless they say so again. */
static inline struct gs_wanted gs_wanted_forget(struct gs_wanted *wanted)
{
    struct gs_wanted before = *wanted;
    wanted->value = GS_BOUND_NONE;
    return before;
}

/* They have been asked: a request that was there before is the same one still. */
static inline void gs_wanted_compare(struct gs_wanted *wanted, struct gs_wanted before)
{
    bool is_new = wanted->value != GS_BOUND_NONE && wanted->value != before.value;
    wanted->count = before.count + is_new;
}

#endif

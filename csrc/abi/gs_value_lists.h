/* SPDX-License-Identifier: Apache-2.0 */
/* What groups keep of their rows' values one by one: in the order of rows, and how often each value
 * was there. The memory is the window's (csrc/hfta/value_lists.c). */
#ifndef GS_VALUE_LISTS_H
#define GS_VALUE_LISTS_H

#include <endian.h>

#include "gs_aggregates.h"

/* Bytes that the values of a list take, each with a separator, and at least one. */
#define GS_LIST_BYTES 4096u

struct gs_list_value {
    struct gs_position position;
    uint32_t length;
    uint8_t bytes[];
};

/* In the order of their positions, then of their bytes; all 0 at first. */
struct gs_value_list {
    struct gs_list_value **values;
    uint32_t count, room;
    uint64_t taken;            /* of GS_LIST_BYTES */
    uint64_t beyond;           /* values that there was no room for */
    struct gs_list_value *cut; /* the first of them: what stands behind it is none of the list */
};

/* Of each value of a set of the group's (struct gs_group_value) how often it was there. */
struct gs_value_counts {
    struct gs_group_value *first;
    uint64_t count;
};

/* What stands before, between and behind the values in a text. */
struct gs_list_form {
    struct gs_string opening, separator, closing;
};

/* ---- bytes that are in the order of the values ---- */

static inline uint64_t gs_ordered_unsigned(uint64_t x)
{
    return htobe64(x);
}

static inline uint64_t gs_ordered_signed(int64_t x)
{
    return htobe64((uint64_t)x ^ UINT64_C(1) << 63);
}

/* 0 and -0 are one; nothing is NaN. */
static inline uint64_t gs_ordered_float(double x)
{
    uint64_t bits;
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return htobe64(bits >> 63 ? ~bits : bits | UINT64_C(1) << 63);
}

#endif

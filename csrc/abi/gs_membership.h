/* SPDX-License-Identifier: Apache-2.0 */
/* `x IN [ … ]` with many constants: a sorted table and a binary search, so that neither the
 * compiler nor a packet pays for each of them. Generated code holds the tables as static data. */
#ifndef GS_MEMBERSHIP_H
#define GS_MEMBERSHIP_H

#include "gs_strings.h"
#include "gs_types.h"

/* The first place whose entry is not below the value: no branch depends on what is compared. */
#define GS_LOWER_BOUND(at, sorted, count, is_below)                                                \
    uint32_t at = 0;                                                                               \
    for (uint32_t left = count; left > 0;) {                                                       \
        uint32_t half = left / 2, middle = at + half;                                              \
        bool below = is_below;                                                                     \
        at = below ? middle + 1 : at;                                                              \
        left = below ? left - half - 1 : half;                                                     \
    }

#define GS_DEFINE_AMONG(name, type)                                                                \
    static inline bool gs_among_##name(const type *sorted, uint32_t count, type value)             \
    {                                                                                              \
        GS_LOWER_BOUND(at, sorted, count, sorted[middle] < value)                                  \
        return at < count && sorted[at] == value;                                                  \
    }

GS_DEFINE_AMONG(ushort, uint16_t)
GS_DEFINE_AMONG(uint, uint32_t)
GS_DEFINE_AMONG(int, int32_t)
GS_DEFINE_AMONG(ullong, uint64_t)
GS_DEFINE_AMONG(llong, int64_t)
GS_DEFINE_AMONG(float, double)

static inline bool gs_among_string(const struct gs_string *sorted, uint32_t count,
                                   struct gs_string value)
{
    GS_LOWER_BOUND(at, sorted, count, gs_string_compare(sorted[middle], value) < 0)
    return at < count && gs_string_compare(sorted[at], value) == 0;
}

static inline bool gs_among_inet(const struct gs_inet *sorted, uint32_t count, struct gs_inet value)
{
    GS_LOWER_BOUND(at, sorted, count, gs_inet_compare(sorted[middle], value) < 0)
    return at < count && gs_inet_compare(sorted[at], value) == 0;
}

/* Prefixes as ranges of addresses that do not touch: [2 i] is the first address of a range, [2 i +
 * 1] the last. An address lies in one if the first end that is not below it is that of its range.
 */
static inline bool gs_within_ip(const uint32_t *ranges, uint32_t count, uint32_t value)
{
    GS_LOWER_BOUND(at, ranges, count, ranges[2 * middle + 1] < value)
    return at < count && ranges[2 * at] <= value;
}

static inline bool gs_within_inet(const struct gs_inet *ranges, uint32_t count,
                                  struct gs_inet value)
{
    GS_LOWER_BOUND(at, ranges, count, gs_inet_compare(ranges[2 * middle + 1], value) < 0)
    return at < count && gs_inet_compare(ranges[2 * at], value) <= 0;
}

#endif

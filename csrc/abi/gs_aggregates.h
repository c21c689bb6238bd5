/* SPDX-License-Identifier: Apache-2.0 */
/* Accumulators: what aggregates keep of the rows that they have seen, added to row by row low and
 * merged high. Sums that would leave 64 bits say so; they never wrap. */
#ifndef GS_AGGREGATES_H
#define GS_AGGREGATES_H

#include "gs_exact.h"
#include "gs_strings.h"

/* Which row is first (OPERATORS section 5): by time, then interface, then place in the source. */
struct gs_position {
    int64_t timestamp_ns;
    uint64_t interface;
    uint64_t place;
};

static inline int gs_position_compare(struct gs_position a, struct gs_position b)
{
    if (a.timestamp_ns != b.timestamp_ns) return a.timestamp_ns < b.timestamp_ns ? -1 : 1;
    if (a.interface != b.interface) return a.interface < b.interface ? -1 : 1;
    if (a.place != b.place) return a.place < b.place ? -1 : 1;
    return 0;
}

static inline bool gs_sum_overflows(int64_t sum, int64_t x)
{
    int64_t unused;
    return __builtin_add_overflow(sum, x, &unused);
}

#define GS_ORDER_OF(type, name)                                                                    \
    static inline int gs_order_##name(type a, type b)                                              \
    {                                                                                              \
        return (a > b) - (a < b);                                                                  \
    }

GS_ORDER_OF(uint64_t, unsigned)
GS_ORDER_OF(int64_t, signed)
GS_ORDER_OF(double, float)
#undef GS_ORDER_OF

/* <0, 0, >0 for two values of one type. */
#define GS_ORDER(a, b)                                                                             \
    _Generic((a), uint8_t                                                                          \
             : gs_order_unsigned, uint16_t                                                         \
             : gs_order_unsigned, uint32_t                                                         \
             : gs_order_unsigned, uint64_t                                                         \
             : gs_order_unsigned, int32_t                                                          \
             : gs_order_signed, int64_t                                                            \
             : gs_order_signed, double                                                             \
             : gs_order_float, struct gs_inet                                                      \
             : gs_inet_compare, struct gs_string                                                   \
             : gs_string_compare)(a, b)

#endif

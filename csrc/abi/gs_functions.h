/* SPDX-License-Identifier: Apache-2.0 */
/* The cheap functions of GSQL section 4 and the checked arithmetic of section 3, for generated
 * code. Functions that a query can name are declared in configs/functions.gsql and are called
 * gs_function_<name>_<argument types>, all in lower case. One that may have no value returns bool
 * and fills `result`; the tuple is dropped on false. Not to be compiled with -ffast-math: "no
 * value" is found by isfinite. */
#ifndef GS_FUNCTIONS_H
#define GS_FUNCTIONS_H

#include "gs_types.h"

#include <math.h>

/* --- checked arithmetic (section 3): nothing ever wraps --- */

#define GS_CHECKED_OPERATION(operation, builtin, type, c_type)                                     \
    static inline bool gs_checked_##operation##_##type(c_type a, c_type b, c_type *result)         \
    {                                                                                              \
        return !builtin(a, b, result);                                                             \
    }

GS_CHECKED_OPERATION(add, __builtin_add_overflow, llong, int64_t)
GS_CHECKED_OPERATION(subtract, __builtin_sub_overflow, llong, int64_t)
GS_CHECKED_OPERATION(multiply, __builtin_mul_overflow, llong, int64_t)
GS_CHECKED_OPERATION(add, __builtin_add_overflow, ullong, uint64_t)
GS_CHECKED_OPERATION(subtract, __builtin_sub_overflow, ullong, uint64_t)
GS_CHECKED_OPERATION(multiply, __builtin_mul_overflow, ullong, uint64_t)
#undef GS_CHECKED_OPERATION

/* Truncates towards zero, as section 3 has it; INT64_MIN / -1 leaves the type. */
static inline bool gs_checked_divide_llong(int64_t a, int64_t b, int64_t *result)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    *result = a / b;
    return true;
}

/* The sign is the dividend's. INT64_MIN % -1 is 0, but the machine's division traps on it. */
static inline bool gs_checked_modulo_llong(int64_t a, int64_t b, int64_t *result)
{
    if (b == 0) return false;
    *result = b == -1 ? 0 : a % b;
    return true;
}

static inline bool gs_checked_divide_ullong(uint64_t a, uint64_t b, uint64_t *result)
{
    if (b == 0) return false;
    *result = a / b;
    return true;
}

static inline bool gs_checked_modulo_ullong(uint64_t a, uint64_t b, uint64_t *result)
{
    if (b == 0) return false;
    *result = a % b;
    return true;
}

/* A float that is not finite is no value: neither infinities nor NaN get into a row, a key or an
 * order. So a division by zero has none either. */
#define GS_CHECKED_FLOATING(operation, sign)                                                       \
    static inline bool gs_checked_##operation##_float(double a, double b, double *result)          \
    {                                                                                              \
        *result = a sign b;                                                                        \
        return isfinite(*result);                                                                  \
    }

GS_CHECKED_FLOATING(add, +)
GS_CHECKED_FLOATING(subtract, -)
GS_CHECKED_FLOATING(multiply, *)
GS_CHECKED_FLOATING(divide, /)
#undef GS_CHECKED_FLOATING

static inline bool gs_checked_modulo_float(double a, double b, double *result)
{
    *result = fmod(a, b);
    return isfinite(*result);
}

/* a * 2^b: no value where bits would be lost. */
static inline bool gs_checked_shift_left_llong(int64_t a, uint64_t b, int64_t *result)
{
    if (b > 63) {
        *result = 0;
        return a == 0;
    }
    return !__builtin_mul_overflow(a, UINT64_C(1) << b, result);
}

static inline bool gs_checked_shift_left_ullong(uint64_t a, uint64_t b, uint64_t *result)
{
    if (b > 63) {
        *result = 0;
        return a == 0;
    }
    return !__builtin_mul_overflow(a, UINT64_C(1) << b, result);
}

/* a / 2^b rounded down; C leaves shifts by the width or more undefined. */
static inline int64_t gs_shift_right_llong(int64_t a, uint64_t b)
{
    return a >> (b > 63 ? 63 : b);
}

static inline uint64_t gs_shift_right_ullong(uint64_t a, uint64_t b)
{
    return b > 63 ? 0 : a >> b;
}

static inline bool gs_checked_negate_llong(int64_t a, int64_t *result)
{
    return !__builtin_sub_overflow(INT64_C(0), a, result);
}

/* --- casts: gs_cast_<from>_<to>, from the widest type of each kind (bool, ushort, uint, IP widen
 * to ullong; int, timestamp to llong). A value that the target cannot hold is no value. --- */

#define GS_CAST_INTEGER(from, from_c_type, to, to_c_type)                                          \
    static inline bool gs_cast_##from##_##to(from_c_type x, to_c_type *result)                     \
    {                                                                                              \
        return !__builtin_add_overflow(x, (from_c_type)0, result);                                 \
    }

/* `low` and `high` are the nearest doubles outside the target's range; NaN is within none. */
#define GS_CAST_FLOAT(to, to_c_type, low, high)                                                    \
    static inline bool gs_cast_float_##to(double x, to_c_type *result)                             \
    {                                                                                              \
        double whole = trunc(x);                                                                   \
        if (!(whole > (low) && whole < (high))) return false;                                      \
        *result = (to_c_type)whole;                                                                \
        return true;                                                                               \
    }

GS_CAST_INTEGER(llong, int64_t, ushort, uint16_t)
GS_CAST_INTEGER(llong, int64_t, uint, uint32_t)
GS_CAST_INTEGER(llong, int64_t, int, int32_t)
GS_CAST_INTEGER(llong, int64_t, ullong, uint64_t)
GS_CAST_INTEGER(llong, int64_t, llong, int64_t)
GS_CAST_INTEGER(ullong, uint64_t, ushort, uint16_t)
GS_CAST_INTEGER(ullong, uint64_t, uint, uint32_t)
GS_CAST_INTEGER(ullong, uint64_t, int, int32_t)
GS_CAST_INTEGER(ullong, uint64_t, ullong, uint64_t)
GS_CAST_INTEGER(ullong, uint64_t, llong, int64_t)
GS_CAST_FLOAT(ushort, uint16_t, -1.0, 0x1p16)
GS_CAST_FLOAT(uint, uint32_t, -1.0, 0x1p32)
GS_CAST_FLOAT(int, int32_t, -0x1p31 - 1, 0x1p31)
GS_CAST_FLOAT(ullong, uint64_t, -1.0, 0x1p64)
GS_CAST_FLOAT(llong, int64_t, -0x1.0000000000001p63, 0x1p63)
#undef GS_CAST_INTEGER
#undef GS_CAST_FLOAT

/* --- mathematics: what is not a finite number is no value --- */

#define GS_PARTIAL_MATHEMATICS(name)                                                               \
    static inline bool gs_function_##name##_float(double x, double *result)                        \
    {                                                                                              \
        *result = name(x);                                                                         \
        return isfinite(*result);                                                                  \
    }

GS_PARTIAL_MATHEMATICS(sqrt)
GS_PARTIAL_MATHEMATICS(log)
GS_PARTIAL_MATHEMATICS(log2)
GS_PARTIAL_MATHEMATICS(log10)
GS_PARTIAL_MATHEMATICS(exp)
#undef GS_PARTIAL_MATHEMATICS

static inline bool gs_function_pow_float_float(double x, double y, double *result)
{
    *result = pow(x, y);
    return isfinite(*result);
}

static inline bool gs_function_fmod_float_float(double x, double y, double *result)
{
    *result = fmod(x, y);
    return isfinite(*result);
}

static inline double gs_function_ceil_float(double x)
{
    return ceil(x);
}

static inline double gs_function_floor_float(double x)
{
    return floor(x);
}

/* Halves go away from zero, as in SQL. */
static inline double gs_function_round_float(double x)
{
    return round(x);
}

static inline double gs_function_trunc_float(double x)
{
    return trunc(x);
}

static inline double gs_function_abs_float(double x)
{
    return fabs(x);
}

static inline int64_t gs_function_abs_int(int32_t x)
{
    return x < 0 ? -(int64_t)x : x;
}

static inline bool gs_function_abs_llong(int64_t x, int64_t *result)
{
    *result = x;
    return x >= 0 || gs_checked_negate_llong(x, result);
}

static inline uint32_t gs_function_abs_uint(uint32_t x)
{
    return x;
}

static inline uint64_t gs_function_abs_ullong(uint64_t x)
{
    return x;
}

/* --- the lesser and the greater of two: they keep the temporal type of their arguments --- */

#define GS_LESSER_AND_GREATER(type, c_type)                                                        \
    static inline c_type gs_function_umin_##type##_##type(c_type x, c_type y)                      \
    {                                                                                              \
        return y < x ? y : x;                                                                      \
    }                                                                                              \
    static inline c_type gs_function_umax_##type##_##type(c_type x, c_type y)                      \
    {                                                                                              \
        return x < y ? y : x;                                                                      \
    }

GS_LESSER_AND_GREATER(uint, uint32_t)
GS_LESSER_AND_GREATER(int, int32_t)
GS_LESSER_AND_GREATER(ullong, uint64_t)
GS_LESSER_AND_GREATER(llong, int64_t)
GS_LESSER_AND_GREATER(float, double)
GS_LESSER_AND_GREATER(ip, uint32_t)
GS_LESSER_AND_GREATER(timestamp, int64_t)
#undef GS_LESSER_AND_GREATER

/* Two halves of one key, the first one in the high bits, so that order is (high, low). */
static inline uint64_t gs_function_pack_uint_uint(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* --- addresses --- */

/* ::ffff:0:0/96 holds the IPv4 addresses of an INET. */
static inline bool gs_inet_is_ip(struct gs_inet address)
{
    return address.words[0] == 0 && (uint32_t)address.words[1] == UINT32_C(0xffff0000);
}

/* Only where gs_inet_is_ip. */
static inline uint32_t gs_inet_to_ip(struct gs_inet address)
{
    return __builtin_bswap32((uint32_t)(address.words[1] >> 32));
}

/* An INET as an address of one family: the other's is no value. */
static inline bool gs_cast_inet_ip(struct gs_inet address, uint32_t *result)
{
    *result = gs_inet_to_ip(address);
    return gs_inet_is_ip(address);
}

static inline bool gs_cast_inet_ipv6(struct gs_inet address, struct gs_inet *result)
{
    *result = address;
    return !gs_inet_is_ip(address);
}

/* The highest n of 64 bits. */
static inline uint64_t gs_high_bits(uint32_t n)
{
    if (n == 0) return 0;
    return n >= 64 ? UINT64_MAX : ~(UINT64_MAX >> n);
}

/* The first n bits of an address, the others 0; n past the address's width is all of it. */
static inline uint32_t gs_function_prefix_ip_uint(uint32_t ip, uint32_t n)
{
    return ip & (uint32_t)(gs_high_bits(n > 32 ? 32 : n) >> 32);
}

static inline struct gs_inet gs_function_prefix_ipv6_uint(struct gs_inet address, uint32_t n)
{
    address.words[0] &= __builtin_bswap64(gs_high_bits(n));
    address.words[1] &= __builtin_bswap64(gs_high_bits(n > 64 ? n - 64 : 0));
    return address;
}

/* Of an IPv4 address n counts IPv4's bits: prefix(srcIP, 24) means what it says for both families,
 * and no IPv4 address ever turns into an IPv6 one. */
static inline struct gs_inet gs_function_prefix_inet_uint(struct gs_inet address, uint32_t n)
{
    if (!gs_inet_is_ip(address)) return gs_function_prefix_ipv6_uint(address, n);
    return gs_function_prefix_ipv6_uint(address, n > 32 ? 128 : n + 96);
}

/* --- time --- */

/* a / b rounded down, b > 0: what a clock before its epoch needs where C truncates. */
static inline int64_t gs_floor_divide_llong(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The start of the bucket of `width_ns` > 0 that holds `timestamp_ns`; buckets are counted from
 * the epoch. No value where that start lies before 1677. */
static inline bool gs_time_bucket(int64_t width_ns, int64_t timestamp_ns, int64_t *result)
{
    int64_t bucket = gs_floor_divide_llong(timestamp_ns, width_ns);
    return !__builtin_mul_overflow(bucket, width_ns, result);
}

#endif

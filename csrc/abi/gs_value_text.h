/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers and addresses as text, as all outputs print them. Whoever asks has made room; the
 * functions write at `at` and return the place behind what they wrote. */
#ifndef GS_VALUE_TEXT_H
#define GS_VALUE_TEXT_H

#include "gs_strings.h"

/* None of these is longer. */
#define GS_VALUE_TEXT_MAX 48u

static inline uint8_t *gs_put_text(uint8_t *at, const char *text, size_t length)
{
    memcpy(at, text, length);
    return at + length;
}

static const char gs_two_digits[201] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

static inline uint8_t *gs_put_unsigned(uint8_t *at, uint64_t x)
{
    char digits[20];
    unsigned first = sizeof digits;
    while (x >= 100) {
        first -= 2;
        memcpy(digits + first, gs_two_digits + 2 * (x % 100), 2);
        x /= 100;
    }
    if (x >= 10) {
        first -= 2;
        memcpy(digits + first, gs_two_digits + 2 * x, 2);
    } else {
        digits[--first] = (char)('0' + x);
    }
    return gs_put_text(at, digits + first, sizeof digits - first);
}

static inline uint8_t *gs_put_signed(uint8_t *at, int64_t x)
{
    if (x >= 0) return gs_put_unsigned(at, (uint64_t)x);
    *at++ = '-';
    return gs_put_unsigned(at, 0 - (uint64_t)x);
}

static inline uint8_t *gs_put_ip(uint8_t *at, uint32_t ip)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        at = gs_put_unsigned(at, ip >> shift & 0xff);
        if (shift > 0) *at++ = '.';
    }
    return at;
}

static inline uint8_t *gs_put_hex_group(uint8_t *at, uint16_t group)
{
    for (int shift = 12; shift >= 0; shift -= 4) {
        if (group >> shift != 0 || shift == 0)
            *at++ = (uint8_t) "0123456789abcdef"[group >> shift & 15];
    }
    return at;
}

/* The longest run of two or more zero groups, the first of equals (RFC 5952, section 4.2). */
static inline int gs_longest_zero_run(const uint16_t *groups, int *run_length)
{
    int best = -1, length = 0;
    *run_length = 1;
    for (int i = 0; i < 8; i++) {
        length = groups[i] == 0 ? length + 1 : 0;
        if (length > *run_length) {
            *run_length = length;
            best = i - length + 1;
        }
    }
    return best;
}

static inline uint8_t *gs_put_ipv6_groups(uint8_t *at, const uint16_t *groups)
{
    int run_length, run = gs_longest_zero_run(groups, &run_length);
    for (int i = 0; i < 8; i++) {
        if (i == run) {
            at = gs_put_text(at, "::", 2);
            i += run_length - 1;
            continue;
        }
        if (i > 0 && i != run + run_length) *at++ = ':';
        at = gs_put_hex_group(at, groups[i]);
    }
    return at;
}

static inline bool gs_holds_ip(struct gs_inet address)
{
    return address.words[0] == 0 && (uint32_t)address.words[1] == UINT32_C(0xffff0000);
}

static inline uint32_t gs_held_ip(struct gs_inet address)
{
    return __builtin_bswap32((uint32_t)(address.words[1] >> 32));
}

static inline uint8_t *gs_put_ipv6(uint8_t *at, struct gs_inet address)
{
    if (gs_holds_ip(address)) return gs_put_ip(gs_put_text(at, "::ffff:", 7), gs_held_ip(address));
    uint16_t groups[8];
    for (int i = 0; i < 8; i++)
        groups[i] = gs_load_be16((const uint8_t *)&address + 2 * i);
    return gs_put_ipv6_groups(at, groups);
}

static inline uint8_t *gs_put_inet(uint8_t *at, struct gs_inet address)
{
    return gs_holds_ip(address) ? gs_put_ip(at, gs_held_ip(address)) : gs_put_ipv6(at, address);
}

/* --- the function text(x): Postgres' cast, written as a call --- */

#define GS_TEXT_OF(name, c_type, put)                                                              \
    static inline bool gs_function_text_##name(struct gs_scratch *scratch, c_type x,               \
                                               struct gs_string *result)                           \
    {                                                                                              \
        uint8_t *bytes = gs_scratch_take(scratch, GS_VALUE_TEXT_MAX);                              \
        if (bytes == NULL) return false;                                                           \
        *result = (struct gs_string){bytes, (uint32_t)(put(bytes, x) - bytes)};                    \
        scratch->used -= GS_VALUE_TEXT_MAX - result->length;                                       \
        return true;                                                                               \
    }

GS_TEXT_OF(ullong, uint64_t, gs_put_unsigned)
GS_TEXT_OF(llong, int64_t, gs_put_signed)
GS_TEXT_OF(ip, uint32_t, gs_put_ip)
GS_TEXT_OF(ipv6, struct gs_inet, gs_put_ipv6)
GS_TEXT_OF(inet, struct gs_inet, gs_put_inet)
#undef GS_TEXT_OF

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a string, and strings that say bytes: hexadecimal, base64 (RFC 4648, section 4), and
 * what of them can be printed. Names are DuckDB's, or Postgres' where it alone has them. */
#ifndef GS_BYTES_H
#define GS_BYTES_H

#include "gs_strings.h"

/* Byte n, from 0. */
static inline bool gs_function_get_byte_string_llong(struct gs_string x, int64_t n,
                                                     uint32_t *result)
{
    if (n < 0 || n >= x.length) return false;
    *result = x.bytes[n];
    return true;
}

/* Bit n, from 0, the lowest of each byte first. */
static inline bool gs_function_get_bit_string_llong(struct gs_string x, int64_t n, uint32_t *result)
{
    if (n < 0 || n / 8 >= x.length) return false;
    *result = x.bytes[n / 8] >> (n % 8) & 1;
    return true;
}

/* --- hexadecimal --- */

static inline bool gs_function_hex_string(struct gs_scratch *scratch, struct gs_string x,
                                          struct gs_string *result)
{
    uint8_t *bytes;
    if (x.length > GS_STRING_LENGTH_MAX / 2) return false;
    if (!gs_string_new(scratch, 2 * x.length, &bytes, result)) return false;
    for (uint32_t i = 0; i < x.length; i++) {
        bytes[2 * i] = (uint8_t) "0123456789ABCDEF"[x.bytes[i] >> 4];
        bytes[2 * i + 1] = (uint8_t) "0123456789ABCDEF"[x.bytes[i] & 15];
    }
    return true;
}

/* As few digits as the number needs. */
static inline bool gs_function_hex_ullong(struct gs_scratch *scratch, uint64_t x,
                                          struct gs_string *result)
{
    uint8_t *bytes;
    uint32_t digits = x == 0 ? 1 : (uint32_t)(67 - __builtin_clzll(x)) / 4;
    if (!gs_string_new(scratch, digits, &bytes, result)) return false;
    for (uint32_t i = digits; i > 0; i--, x >>= 4)
        bytes[i - 1] = (uint8_t) "0123456789ABCDEF"[x & 15];
    return true;
}

/* The value of a digit; 16 for what is none. */
static inline uint8_t gs_hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return (uint8_t)(c - '0');
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? (uint8_t)(c - 'a' + 10) : 16;
}

/* Before an odd number of digits a 0 is meant. */
static inline bool gs_function_unhex_string(struct gs_scratch *scratch, struct gs_string x,
                                            struct gs_string *result)
{
    uint8_t *bytes;
    uint32_t odd = x.length & 1;
    if (!gs_string_new(scratch, x.length / 2 + odd, &bytes, result)) return false;
    for (uint32_t i = 0; i < result->length; i++) {
        uint8_t high = i < odd ? 0 : gs_hex_digit(x.bytes[2 * i - odd]);
        uint8_t low = gs_hex_digit(x.bytes[2 * i + 1 - odd]);
        if (high > 15 || low > 15) return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* --- base64 --- */

static inline bool gs_function_to_base64_string(struct gs_scratch *scratch, struct gs_string x,
                                                struct gs_string *result)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t *bytes;
    if (x.length > GS_STRING_LENGTH_MAX / 4 * 3) return false;
    if (!gs_string_new(scratch, (x.length + 2) / 3 * 4, &bytes, result)) return false;
    for (uint32_t at = 0; at < x.length; at += 3, bytes += 4) {
        uint32_t left = x.length - at, word = (uint32_t)x.bytes[at] << 16;
        if (left > 1) word |= (uint32_t)x.bytes[at + 1] << 8;
        if (left > 2) word |= x.bytes[at + 2];
        bytes[0] = (uint8_t)digits[word >> 18];
        bytes[1] = (uint8_t)digits[word >> 12 & 63];
        bytes[2] = left > 1 ? (uint8_t)digits[word >> 6 & 63] : '=';
        bytes[3] = left > 2 ? (uint8_t)digits[word & 63] : '=';
    }
    return true;
}

/* The value of a digit; 64 for what is none. */
static inline uint8_t gs_base64_digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z') return (uint8_t)(c - 'A');
    if (c >= 'a' && c <= 'z') return (uint8_t)(c - 'a' + 26);
    if (c >= '0' && c <= '9') return (uint8_t)(c - '0' + 52);
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

/* With its padding and nothing between the digits; bits behind the last byte are not looked at. */
static inline bool gs_function_from_base64_string(struct gs_scratch *scratch, struct gs_string x,
                                                  struct gs_string *result)
{
    uint8_t *bytes;
    uint32_t padding = 0;
    if (x.length % 4 != 0) return false;
    while (padding < 2 && padding < x.length && x.bytes[x.length - 1 - padding] == '=')
        padding++;
    if (!gs_string_new(scratch, x.length / 4 * 3 - padding, &bytes, result)) return false;
    uint32_t word = 0;
    for (uint32_t i = 0, out = 0; i < x.length; i++) {
        uint8_t digit = i < x.length - padding ? gs_base64_digit(x.bytes[i]) : 0;
        if (digit > 63) return false;
        word = word << 6 | digit;
        if (i % 4 != 3) continue;
        for (int shift = 16; shift >= 0 && out < result->length; shift -= 8)
            bytes[out++] = (uint8_t)(word >> shift);
    }
    return true;
}

/* --- for the eye --- */

/* A dot for each byte that is no letter, digit, sign or space of ASCII, as tcpdump -A has it. */
static inline bool gs_function_printable_string(struct gs_scratch *scratch, struct gs_string x,
                                                struct gs_string *result)
{
    uint8_t *bytes;
    if (!gs_string_new(scratch, x.length, &bytes, result)) return false;
    for (uint32_t i = 0; i < x.length; i++)
        bytes[i] = x.bytes[i] >= 0x20 && x.bytes[i] < 0x7f ? x.bytes[i] : '.';
    return true;
}

#endif

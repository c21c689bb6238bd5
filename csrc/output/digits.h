/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers and IPv4 addresses without a branch on how many digits they have: in a column these
 * change from row to row, and a branch that is guessed wrong costs more than all digits together.
 * The functions write up to 8 bytes more than they say: whoever asks has made room for these too.
 */
#ifndef GS_OUTPUT_DIGITS_H
#define GS_OUTPUT_DIGITS_H

#include "gs_types.h"

#define GS_EIGHT_DIGITS UINT32_C(100000000)

/* The eight digits of x < 10^8 as a byte each, 0 to 9, the first in the least byte: x is halved
 * into fours, twos and ones, all parts of a step by one multiplication (Khuong, "How to print
 * integers really fast", 2017). 10486 / 2^20 and 103 / 2^10 are 1/100 and 1/10 to as many bits as
 * numbers below 10^4 and 10^2 need. */
static inline uint64_t gs_eight_digits(uint32_t x)
{
    uint64_t fours = x / 10000 | (uint64_t)(x % 10000) << 32;
    uint64_t hundreds = (fours * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
    uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
    uint64_t tens = (twos * 103 >> 10) & UINT64_C(0x000f000f000f000f);
    return tens | (twos - 10 * tens) << 8;
}

#define GS_ZEROS UINT64_C(0x3030303030303030)

/* x < 10^8, with zeros in front. */
static inline uint8_t *gs_put_eight(uint8_t *at, uint32_t x)
{
    uint64_t text = gs_eight_digits(x) + GS_ZEROS;
    memcpy(at, &text, 8);
    return at + 8;
}

/* x < 10^8, without. */
static inline uint8_t *gs_put_up_to_eight(uint8_t *at, uint32_t x)
{
    uint64_t digits = gs_eight_digits(x);
    unsigned zero_bits = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) & 56;
    uint64_t text = (digits + GS_ZEROS) >> zero_bits;
    memcpy(at, &text, 8);
    return at + 8 - zero_bits / 8;
}

/* x of more than eight digits. */
static __attribute__((noinline)) uint8_t *gs_put_long_whole(uint8_t *at, uint64_t x)
{
    uint64_t upper = x / GS_EIGHT_DIGITS;
    if (upper < GS_EIGHT_DIGITS) {
        at = gs_put_up_to_eight(at, (uint32_t)upper);
    } else {
        at = gs_put_up_to_eight(at, (uint32_t)(upper / GS_EIGHT_DIGITS));
        at = gs_put_eight(at, (uint32_t)(upper % GS_EIGHT_DIGITS));
    }
    return gs_put_eight(at, (uint32_t)(x % GS_EIGHT_DIGITS));
}

static inline uint8_t *gs_put_whole(uint8_t *at, uint64_t x)
{
    if (__builtin_expect(x >= GS_EIGHT_DIGITS, 0)) return gs_put_long_whole(at, x);
    return gs_put_up_to_eight(at, (uint32_t)x);
}

static inline uint8_t *gs_put_signed_whole(uint8_t *at, int64_t x)
{
    *at = '-';
    at += x < 0;
    return gs_put_whole(at, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
}

#define GS_TEN_OCTETS(tens, fill)                                                                  \
    tens "0." fill tens "1." fill tens "2." fill tens "3." fill tens "4." fill tens "5." fill tens \
         "6." fill tens "7." fill tens "8." fill tens "9." fill
#define GS_HUNDRED_OCTETS(hundred)                                                                 \
    GS_TEN_OCTETS(hundred "0", "")                                                                 \
    GS_TEN_OCTETS(hundred "1", "")                                                                 \
    GS_TEN_OCTETS(hundred "2", "")                                                                 \
    GS_TEN_OCTETS(hundred "3", "")                                                                 \
    GS_TEN_OCTETS(hundred "4", "")                                                                 \
    GS_TEN_OCTETS(hundred "5", "")                                                                 \
    GS_TEN_OCTETS(hundred "6", "")                                                                 \
    GS_TEN_OCTETS(hundred "7", "")                                                                 \
    GS_TEN_OCTETS(hundred "8", "")                                                                 \
    GS_TEN_OCTETS(hundred "9", "")

/* The octets of an address and the point behind each, four bytes an octet. */
static const char gs_octets[] = GS_TEN_OCTETS("", "\0\0") GS_TEN_OCTETS("1", "\0")
    GS_TEN_OCTETS("2", "\0") GS_TEN_OCTETS("3", "\0") GS_TEN_OCTETS("4", "\0")
        GS_TEN_OCTETS("5", "\0") GS_TEN_OCTETS("6", "\0") GS_TEN_OCTETS("7", "\0")
            GS_TEN_OCTETS("8", "\0") GS_TEN_OCTETS("9", "\0") GS_HUNDRED_OCTETS("1")
                GS_HUNDRED_OCTETS("2"); /* 256 and on are never asked for */

static inline uint8_t *gs_put_octet(uint8_t *at, uint32_t x)
{
    memcpy(at, gs_octets + 4 * x, 4);
    return at + 2 + (x > 9) + (x > 99);
}

static inline uint8_t *gs_put_dotted(uint8_t *at, uint32_t ip)
{
    at = gs_put_octet(at, ip >> 24);
    at = gs_put_octet(at, ip >> 16 & 0xff);
    at = gs_put_octet(at, ip >> 8 & 0xff);
    return gs_put_octet(at, ip & 0xff) - 1; /* no point behind the last */
}

#endif

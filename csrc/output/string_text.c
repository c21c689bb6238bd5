/* SPDX-License-Identifier: Apache-2.0 */
/* What the bytes of a string are: plain text, or UTF-8 (RFC 3629: no overlong forms, no surrogates,
 * nothing past U+10FFFF). */
#include "string_text.h"

#define EACH_BYTE (~UINT64_C(0) / 255)
#define HIGH_BITS (EACH_BYTE * 0x80)

/* Whether a byte of the eight is 0 (Mycroft, 1987); which of them, it does not say. */
static inline bool has_zero(uint64_t word)
{
    return ((word - EACH_BYTE) & ~word & HIGH_BITS) != 0;
}

static inline bool has(uint64_t word, uint8_t byte)
{
    return has_zero(word ^ EACH_BYTE * byte);
}

/* Whether all of the eight bytes are plain. */
static inline bool is_plain(uint64_t word)
{
    bool is_control = ((word - EACH_BYTE * ' ') & ~word & HIGH_BITS) != 0;
    return !(is_control | ((word & HIGH_BITS) != 0) | has(word, 0x7f) | has(word, '"') |
             has(word, '\\'));
}

static inline uint64_t load(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

uint32_t gs_plain_run(const uint8_t *bytes, uint32_t left)
{
    uint32_t run = 0;
    while (left - run >= 8 && is_plain(load(bytes + run)))
        run += 8;
    while (run < left && bytes[run] >= ' ' && bytes[run] < 0x7f && bytes[run] != '"' &&
           bytes[run] != '\\') {
        run++;
    }
    return run;
}

/* Up to seven bytes, in a word that spaces fill. */
static inline uint64_t load_short(struct gs_string s)
{
    uint64_t word = EACH_BYTE * ' ';
    uint32_t four;
    if (s.length >= 4) {
        uint32_t last;
        memcpy(&four, s.bytes, 4);
        memcpy(&last, s.bytes + s.length - 4, 4);
        /* the two overlap: the bytes that both have are the same */
        return four | (uint64_t)last << 8 * (s.length - 4) | word << 8 * s.length;
    }
    for (uint32_t i = 0; i < s.length; i++)
        word ^= (uint64_t)(s.bytes[i] ^ ' ') << 8 * i;
    return word;
}

static inline bool copy_word(uint8_t *at, uint64_t word, uint8_t separator)
{
    memcpy(at, &word, sizeof word);
    return is_plain(word) && !has(word, separator);
}

bool gs_copy_plain(uint8_t *at, struct gs_string s, uint8_t separator)
{
    if (s.length < 8) return copy_word(at, load_short(s), separator);
    uint32_t last = s.length - 8;
    for (uint32_t i = 0; i < last; i += 8)
        if (!copy_word(at + i, load(s.bytes + i), separator)) return false;
    return copy_word(at + last, load(s.bytes + last), separator);
}

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

static uint32_t two_bytes(const uint8_t *b, uint32_t left)
{
    return b[0] >= 0xc2 && left >= 2 && is_continuation(b[1]) ? 2 : 0;
}

static uint32_t three_bytes(const uint8_t *b, uint32_t left)
{
    if (left < 3 || !is_continuation(b[1]) || !is_continuation(b[2])) return 0;
    if (b[0] == 0xe0 && b[1] < 0xa0) return 0; /* overlong */
    if (b[0] == 0xed && b[1] > 0x9f) return 0; /* a surrogate */
    return 3;
}

static uint32_t four_bytes(const uint8_t *b, uint32_t left)
{
    if (b[0] > 0xf4 || left < 4) return 0;
    if (!is_continuation(b[1]) || !is_continuation(b[2]) || !is_continuation(b[3])) return 0;
    if (b[0] == 0xf0 && b[1] < 0x90) return 0; /* overlong */
    if (b[0] == 0xf4 && b[1] > 0x8f) return 0; /* past the last character */
    return 4;
}

uint32_t gs_utf8_character(const uint8_t *bytes, uint32_t left)
{
    if (bytes[0] < 0x80) return 1;
    if (bytes[0] < 0xe0) return two_bytes(bytes, left);
    return bytes[0] < 0xf0 ? three_bytes(bytes, left) : four_bytes(bytes, left);
}

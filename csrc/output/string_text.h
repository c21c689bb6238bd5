/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of strings on their way to text. */
#ifndef GS_OUTPUT_STRING_TEXT_H
#define GS_OUTPUT_STRING_TEXT_H

#include "gs_value_text.h"

/* How many of the `left` bytes at `bytes`, from the first on, neither format has anything to do
 * with: printable ASCII but for the quote and the backslash. */
uint32_t gs_plain_run(const uint8_t *bytes, uint32_t left);

/* Copies a string all of which is so, and has no `separator`; false: not all, and what was written
 * counts for nothing. */
bool gs_copy_plain(uint8_t *at, struct gs_string s, uint8_t separator);

/* How many of the `left` bytes at `bytes` are one character of UTF-8; 0 where they are none. */
uint32_t gs_utf8_character(const uint8_t *bytes, uint32_t left);

/* `\xHH` */
uint8_t *gs_put_hex_byte(uint8_t *at, uint8_t byte);

/* A character of so many bytes, or, where they are 0, a byte that is none. */
typedef uint8_t *gs_put_character(uint8_t *at, const uint8_t *bytes, uint32_t length);

/* What is plain as it is, the rest by `put`, which is inlined. */
static inline uint8_t *gs_put_characters(uint8_t *at, struct gs_string s, gs_put_character *put)
{
    for (uint32_t i = 0; i < s.length;) {
        const uint8_t *rest = s.bytes + i;
        uint32_t plain = gs_plain_run(rest, s.length - i);
        at = gs_put_text(at, (const char *)rest, plain);
        i += plain;
        if (i == s.length) break;
        uint32_t length = gs_utf8_character(s.bytes + i, s.length - i);
        at = put(at, s.bytes + i, length);
        i += length == 0 ? 1 : length;
    }
    return at;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the bytes of a string are: plain text, or UTF-8 (RFC 3629: no overlong forms, no surrogates,
 * nothing past U+10FFFF). */
#include "value.h"

uint32_t gs_plain_run(const uint8_t *bytes, uint32_t left)
{
    uint32_t run = 0;
    while (run < left && bytes[run] >= ' ' && bytes[run] < 0x7f && bytes[run] != '"' &&
           bytes[run] != '\\') {
        run++;
    }
    return run;
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

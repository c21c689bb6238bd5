/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of the link layer, and bytes. */
#include "string_text.h"
#include "value.h"

static const char hex_digits[17] = "0123456789abcdef";

uint8_t *gs_put_mac(uint8_t *at, uint64_t address)
{
    for (int shift = 40; shift >= 0; shift -= 8) {
        *at++ = (uint8_t)hex_digits[address >> (shift + 4) & 15];
        *at++ = (uint8_t)hex_digits[address >> shift & 15];
        if (shift > 0) *at++ = ':';
    }
    return at;
}

uint8_t *gs_put_hex_byte(uint8_t *at, uint8_t byte)
{
    uint8_t text[4] = {'\\', 'x', (uint8_t)hex_digits[byte >> 4], (uint8_t)hex_digits[byte & 15]};
    memcpy(at, text, 4);
    return at + 4;
}

uint8_t *gs_put_hex(uint8_t *at, const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        *at++ = (uint8_t)hex_digits[bytes[i] >> 4];
        *at++ = (uint8_t)hex_digits[bytes[i] & 15];
    }
    return at;
}

bool gs_field_is_mac(const struct gs_field *field)
{
    return field->type == GS_ULLONG && field->subtype != NULL && strcmp(field->subtype, "mac") == 0;
}

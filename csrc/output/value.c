/* SPDX-License-Identifier: Apache-2.0 */
/* Integers, truth values and addresses; and the table that finds the writer of a type. */
#include "value.h"

static const char two_digits[201] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

static const char hex_digits[17] = "0123456789abcdef";

uint8_t *gs_put_unsigned(uint8_t *at, uint64_t x)
{
    char digits[20];
    unsigned first = sizeof digits;
    while (x >= 100) {
        first -= 2;
        memcpy(digits + first, two_digits + 2 * (x % 100), 2);
        x /= 100;
    }
    if (x >= 10) {
        first -= 2;
        memcpy(digits + first, two_digits + 2 * x, 2);
    } else {
        digits[--first] = (char)('0' + x);
    }
    return gs_put_text(at, digits + first, sizeof digits - first);
}

uint8_t *gs_put_signed(uint8_t *at, int64_t x)
{
    if (x >= 0) return gs_put_unsigned(at, (uint64_t)x);
    *at++ = '-';
    return gs_put_unsigned(at, 0 - (uint64_t)x);
}

uint8_t *gs_put_ip(uint8_t *at, uint32_t ip)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        at = gs_put_unsigned(at, ip >> shift & 0xff);
        if (shift > 0) *at++ = '.';
    }
    return at;
}

static uint8_t *put_hex_group(uint8_t *at, uint16_t group)
{
    for (int shift = 12; shift >= 0; shift -= 4) {
        if (group >> shift != 0 || shift == 0) *at++ = (uint8_t)hex_digits[group >> shift & 15];
    }
    return at;
}

/* The longest run of two or more zero groups, the first of equals (RFC 5952, section 4.2). */
static int longest_zero_run(const uint16_t *groups, int *run_length)
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

static uint8_t *put_ipv6_groups(uint8_t *at, const uint16_t *groups)
{
    int run_length, run = longest_zero_run(groups, &run_length);
    for (int i = 0; i < 8; i++) {
        if (i == run) {
            at = gs_put_text(at, "::", 2);
            i += run_length - 1;
            continue;
        }
        if (i > 0 && i != run + run_length) *at++ = ':';
        at = put_hex_group(at, groups[i]);
    }
    return at;
}

static bool holds_ip(struct gs_inet address)
{
    return address.words[0] == 0 && (uint32_t)address.words[1] == UINT32_C(0xffff0000);
}

static uint32_t held_ip(struct gs_inet address)
{
    return __builtin_bswap32((uint32_t)(address.words[1] >> 32));
}

uint8_t *gs_put_ipv6(uint8_t *at, struct gs_inet address)
{
    if (holds_ip(address)) return gs_put_ip(gs_put_text(at, "::ffff:", 7), held_ip(address));
    uint16_t groups[8];
    for (int i = 0; i < 8; i++)
        groups[i] = gs_load_be16((const uint8_t *)&address + 2 * i);
    return put_ipv6_groups(at, groups);
}

uint8_t *gs_put_inet(uint8_t *at, struct gs_inet address)
{
    return holds_ip(address) ? gs_put_ip(at, held_ip(address)) : gs_put_ipv6(at, address);
}

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

static uint8_t *put_hex(uint8_t *at, const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        *at++ = (uint8_t)hex_digits[bytes[i] >> 4];
        *at++ = (uint8_t)hex_digits[bytes[i] & 15];
    }
    return at;
}

/* --- rows of columns --- */

typedef uint8_t *value_writer(uint8_t *at, const struct gs_column *column, uint32_t row);

#define WRITER(name, c_type, put)                                                                  \
    static uint8_t *write_##name(uint8_t *at, const struct gs_column *column, uint32_t row)        \
    {                                                                                              \
        c_type x;                                                                                  \
        memcpy(&x, (const uint8_t *)column->values + (size_t)row * sizeof x, sizeof x);            \
        return put(at, x);                                                                         \
    }

WRITER(ushort, uint16_t, gs_put_unsigned)
WRITER(uint, uint32_t, gs_put_unsigned)
WRITER(int, int32_t, gs_put_signed)
WRITER(ullong, uint64_t, gs_put_unsigned)
WRITER(llong, int64_t, gs_put_signed)
WRITER(float, double, gs_put_float)
WRITER(ip, uint32_t, gs_put_ip)
WRITER(ipv6, struct gs_inet, gs_put_ipv6)
WRITER(inet, struct gs_inet, gs_put_inet)
WRITER(timestamp, int64_t, gs_put_timestamp)
WRITER(mac, uint64_t, gs_put_mac)

static uint8_t *write_bool(uint8_t *at, const struct gs_column *column, uint32_t row)
{
    bool x = gs_bit_get(column->values, row);
    return x ? gs_put_text(at, "true", 4) : gs_put_text(at, "false", 5);
}

static value_writer *const writers[] = {
    [GS_BOOL] = write_bool,           [GS_USHORT] = write_ushort,
    [GS_UINT] = write_uint,           [GS_INT] = write_int,
    [GS_ULLONG] = write_ullong,       [GS_LLONG] = write_llong,
    [GS_FLOAT] = write_float,         [GS_IP] = write_ip,
    [GS_IPV6] = write_ipv6,           [GS_INET] = write_inet,
    [GS_TIMESTAMP] = write_timestamp,
};

/* No value but a string, or one of GS_OPAQUE, is longer. */
#define VALUE_TEXT_MAX 48

size_t gs_value_room(const struct gs_field *field)
{
    return VALUE_TEXT_MAX + 2u * field->size;
}

bool gs_field_is_mac(const struct gs_field *field)
{
    return field->type == GS_ULLONG && field->subtype != NULL && strcmp(field->subtype, "mac") == 0;
}

uint8_t *gs_put_value(uint8_t *at, const struct gs_field *field, const struct gs_column *column,
                      uint32_t row)
{
    if (field->type == GS_OPAQUE)
        return put_hex(at, (const uint8_t *)column->values + (size_t)row * field->size,
                       field->size);
    return (gs_field_is_mac(field) ? write_mac : writers[field->type])(at, column, row);
}

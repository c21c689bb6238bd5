/* SPDX-License-Identifier: Apache-2.0 */
/* Integers, truth values and addresses; and the table that finds the writer of a type. */
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

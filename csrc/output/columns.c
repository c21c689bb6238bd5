/* SPDX-License-Identifier: Apache-2.0 */
/* A column's values behind what their rows have so far: a loop for each type. */
#include <math.h>

#include "digits.h"
#include "row_format.h"
#include "value.h"

static inline uint8_t *put_prefix(const struct gs_text_column *c, uint8_t *at)
{
    memcpy(at, c->prefix, GS_PREFIX_STEP);
    for (uint32_t done = GS_PREFIX_STEP; done < c->prefix_length; done += GS_PREFIX_STEP)
        memcpy(at + done, c->prefix + done, GS_PREFIX_STEP);
    return at + c->prefix_length;
}

static inline uint8_t *put_null(const struct gs_text_column *c, uint8_t *at)
{
    memcpy(at, c->format->null, sizeof c->format->null);
    return at + c->format->null_length;
}

static inline uint8_t *put_quote(const struct gs_text_column *c, uint8_t *at)
{
    *at = '"';
    return at + c->is_quoted;
}

/* The description is copied, so that the text that is written cannot be taken for a part of it. */
#define COLUMN_OF(name, put_value)                                                                 \
    static void put_##name(const struct gs_text_column *column, uint32_t first, uint32_t count,    \
                           uint8_t **ends)                                                         \
    {                                                                                              \
        const struct gs_text_column c = *column;                                                   \
        for (uint32_t i = 0; i < count; i++) {                                                     \
            uint8_t *at = put_prefix(&c, ends[i]);                                                 \
            if (gs_column_is_null(c.column, first + i))                                            \
                ends[i] = put_null(&c, at);                                                        \
            else                                                                                   \
                ends[i] = put_value(&c, at, first + i);                                            \
        }                                                                                          \
    }

#define VALUES_OF(name, c_type, put)                                                               \
    static inline uint8_t *name##_value(const struct gs_text_column *c, uint8_t *at, uint32_t row) \
    {                                                                                              \
        c_type x;                                                                                  \
        memcpy(&x, (const uint8_t *)c->column->values + (size_t)row * sizeof x, sizeof x);         \
        return put_quote(c, put(put_quote(c, at), x));                                             \
    }                                                                                              \
    COLUMN_OF(name, name##_value)

static inline uint8_t *put_inet_text(uint8_t *at, struct gs_inet x)
{
    return gs_holds_ip(x) ? gs_put_dotted(at, gs_held_ip(x)) : gs_put_ipv6(at, x);
}

VALUES_OF(ushort, uint16_t, gs_put_whole)
VALUES_OF(uint, uint32_t, gs_put_whole)
VALUES_OF(int, int32_t, gs_put_signed_whole)
VALUES_OF(ullong, uint64_t, gs_put_whole)
VALUES_OF(llong, int64_t, gs_put_signed_whole)
VALUES_OF(ip, uint32_t, gs_put_dotted)
VALUES_OF(ipv6, struct gs_inet, gs_put_ipv6)
VALUES_OF(inet, struct gs_inet, put_inet_text)
VALUES_OF(mac, uint64_t, gs_put_mac)

static inline uint8_t *bool_value(const struct gs_text_column *c, uint8_t *at, uint32_t row)
{
    bool x = gs_bit_get(c->column->values, row);
    memcpy(at, x ? "true\0\0\0" : "false\0\0", 8);
    return at + 5 - x;
}

static inline uint8_t *float_value(const struct gs_text_column *c, uint8_t *at, uint32_t row)
{
    double x = ((const double *)c->column->values)[row];
    if (c->format->finite_only && !isfinite(x)) return put_null(c, at);
    return gs_put_float(at, x);
}

static inline uint8_t *opaque_value(const struct gs_text_column *c, uint8_t *at, uint32_t row)
{
    return gs_put_hex(at, (const uint8_t *)c->column->values + (size_t)row * c->size, c->size);
}

static inline uint8_t *string_value(const struct gs_text_column *c, uint8_t *at, uint32_t row)
{
    return c->format->put_string(at, gs_column_string(c->column, row));
}

static inline uint8_t *quoted_opaque(const struct gs_text_column *c, uint8_t *at, uint32_t row)
{
    return put_quote(c, opaque_value(c, put_quote(c, at), row));
}

COLUMN_OF(bool, bool_value)
COLUMN_OF(float, float_value)
COLUMN_OF(opaque, quoted_opaque)
COLUMN_OF(string, string_value)

/* Rows of a window, and packets one behind another, have the second of the row before. */
static void put_timestamp(const struct gs_text_column *column, uint32_t first, uint32_t count,
                          uint8_t **ends)
{
    const struct gs_text_column c = *column;
    const int64_t *values = c.column->values;
    struct gs_second_text second = gs_second_of(values[first]);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *at = put_prefix(&c, ends[i]);
        if (gs_column_is_null(c.column, first + i)) {
            ends[i] = put_null(&c, at);
            continue;
        }
        at = gs_put_timestamp_near(put_quote(&c, at), values[first + i], &second);
        ends[i] = put_quote(&c, at);
    }
}

typedef void column_writer(const struct gs_text_column *column, uint32_t first, uint32_t count,
                           uint8_t **ends);

static column_writer *const writers[] = {
    [GS_BOOL] = put_bool,     [GS_USHORT] = put_ushort, [GS_UINT] = put_uint,
    [GS_INT] = put_int,       [GS_ULLONG] = put_ullong, [GS_LLONG] = put_llong,
    [GS_FLOAT] = put_float,   [GS_STRING] = put_string, [GS_IP] = put_ip,
    [GS_IPV6] = put_ipv6,     [GS_INET] = put_inet,     [GS_TIMESTAMP] = put_timestamp,
    [GS_OPAQUE] = put_opaque,
};

/* No value but a string, or one of GS_OPAQUE, is longer with its quotes: 45 characters has
 * 0000:0000:0000:0000:0000:ffff:255.255.255.255. */
#define ADDRESS_ROOM 48
#define VALUE_ROOM 34

size_t gs_value_room(const struct gs_field *field)
{
    bool is_address = field->type == GS_IPV6 || field->type == GS_INET;
    return (is_address ? ADDRESS_ROOM : VALUE_ROOM) + 2u * field->size;
}

struct gs_text_column gs_text_column_of(const struct gs_row_format *format,
                                        const struct gs_field *field,
                                        const struct gs_column *column)
{
    struct gs_text_column text = {
        .put = gs_field_is_mac(field) ? put_mac : writers[field->type],
        .format = format,
        .column = column,
        .size = field->size,
        .is_quoted = format->quotes_value(field),
    };
    return text;
}

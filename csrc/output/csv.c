/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "../base/error.h"
#include "append.h"

/* What a byte of a string can become at most: \xHH. Two more for the quotes. */
#define STRING_ROOM(length) ((size_t)(length)*4 + 2)

/* RFC 4180: what would end the cell or the line; and the empty string, which is not NULL. */
static bool needs_quotes(struct gs_string s)
{
    for (uint32_t i = 0; i < s.length; i++) {
        uint8_t c = s.bytes[i];
        if (c == ',' || c == '"' || c == '\n' || c == '\r') return true;
    }
    return s.length == 0;
}

/* One character, or one byte that is none; *i is moved behind it. */
static uint8_t *put_character(uint8_t *at, struct gs_string s, uint32_t *i)
{
    const uint8_t *bytes = s.bytes + *i;
    uint32_t length = gs_utf8_character(bytes, s.length - *i);
    *i += length == 0 ? 1 : length;
    if (length == 0) return gs_put_hex_byte(at, *bytes);
    if (*bytes == '"') *at++ = '"';
    return gs_put_text(at, (const char *)bytes, length);
}

static uint8_t *put_characters(uint8_t *at, struct gs_string s)
{
    for (uint32_t i = 0; i < s.length;) {
        uint32_t plain = gs_plain_run(s.bytes + i, s.length - i);
        at = gs_put_text(at, (const char *)s.bytes + i, plain);
        i += plain;
        if (i < s.length) at = put_character(at, s, &i);
    }
    return at;
}

static uint8_t *put_string(uint8_t *at, struct gs_string s)
{
    bool quoted = needs_quotes(s);
    if (quoted) *at++ = '"';
    at = put_characters(at, s);
    if (quoted) *at++ = '"';
    return at;
}

static size_t row_room(const struct gs_batch *batch, uint32_t row)
{
    size_t room = 0;
    for (uint32_t i = 0; i < batch->schema->column_count; i++) {
        room += gs_value_room(&batch->schema->fields[i]);
        if (batch->schema->fields[i].type != GS_STRING) continue;
        room += STRING_ROOM(gs_column_string(&batch->columns[i], row).length);
    }
    return room;
}

static uint8_t *put_cell(uint8_t *at, const struct gs_field *field, const struct gs_column *column,
                         uint32_t row)
{
    if (gs_column_is_null(column, row)) return at;
    if (field->type == GS_STRING) return put_string(at, gs_column_string(column, row));
    return gs_put_value(at, field, column, row);
}

int gs_csv_rows(const struct gs_batch *batch, struct gs_text *text)
{
    uint32_t column_count = batch->schema->column_count;
    for (uint32_t row = 0; row < batch->row_count; row++) {
        GS_RETURN_IF_ERROR(gs_text_reserve(text, row_room(batch, row)));
        uint8_t *at = text->bytes + text->length;
        for (uint32_t i = 0; i < column_count; i++) {
            at = put_cell(at, &batch->schema->fields[i], &batch->columns[i], row);
            *at++ = i + 1 < column_count ? ',' : '\n';
        }
        text->length = (size_t)(at - text->bytes);
    }
    return GS_OK;
}

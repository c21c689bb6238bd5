/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "../base/error.h"
#include "append.h"

#include <math.h>

/* What a byte of a string can become at most: \u0000. Two more for the quotes. */
#define STRING_ROOM(length) ((size_t)(length)*6 + 2)

/* A character below a space, a quote or a backslash. */
static uint8_t *put_escaped(uint8_t *at, uint8_t c)
{
    static const char names[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *name = c == '\0' ? NULL : strchr(names, c);
    *at++ = '\\';
    if (name != NULL) {
        *at++ = (uint8_t)letters[name - names];
        return at;
    }
    at = gs_put_text(at, "u00", 3);
    *at++ = (uint8_t)('0' + (c >> 4));
    *at++ = (uint8_t) "0123456789abcdef"[c & 15];
    return at;
}

/* One character, or one byte that is none; *i is moved behind it. */
static uint8_t *put_character(uint8_t *at, struct gs_string s, uint32_t *i)
{
    const uint8_t *bytes = s.bytes + *i;
    uint32_t length = gs_utf8_character(bytes, s.length - *i);
    *i += length == 0 ? 1 : length;
    if (length == 0) {
        *at++ = '\\'; /* the backslash of \xHH is a character, so JSON escapes it */
        return gs_put_hex_byte(at, *bytes);
    }
    if (*bytes < ' ' || *bytes == '"' || *bytes == '\\') return put_escaped(at, *bytes);
    return gs_put_text(at, (const char *)bytes, length);
}

static uint8_t *put_string(uint8_t *at, struct gs_string s)
{
    *at++ = '"';
    for (uint32_t i = 0; i < s.length;) {
        uint32_t plain = gs_plain_run(s.bytes + i, s.length - i);
        at = gs_put_text(at, (const char *)s.bytes + i, plain);
        i += plain;
        if (i < s.length) at = put_character(at, s, &i);
    }
    *at++ = '"';
    return at;
}

static int append_string(struct gs_text *text, const char *characters)
{
    struct gs_string s = {(const uint8_t *)characters, (uint32_t)strlen(characters)};
    GS_RETURN_IF_ERROR(gs_text_reserve(text, STRING_ROOM(s.length)));
    uint8_t *end = put_string(text->bytes + text->length, s);
    text->length = (size_t)(end - text->bytes);
    return GS_OK;
}

static int append_text(struct gs_text *text, const char *characters)
{
    size_t length = strlen(characters);
    GS_RETURN_IF_ERROR(gs_text_reserve(text, length));
    gs_put_text(text->bytes + text->length, characters, length);
    text->length += length;
    return GS_OK;
}

/* `{"query":"name",` or `{`: how every row begins. */
static int append_opening(struct gs_text *text, const char *query_name)
{
    if (query_name == NULL) return append_text(text, "{");
    GS_RETURN_IF_ERROR(append_text(text, "{\"query\":"));
    GS_RETURN_IF_ERROR(append_string(text, query_name));
    return append_text(text, ",");
}

static uint8_t *put_value(uint8_t *at, const struct gs_field *field, const struct gs_column *column,
                          uint32_t row)
{
    if (field->type == GS_STRING) return put_string(at, gs_column_string(column, row));
    bool quoted = field->type >= GS_IP || gs_field_is_mac(field);
    if (quoted) *at++ = '"';
    at = gs_put_value(at, field, column, row);
    if (quoted) *at++ = '"';
    return at;
}

/* JSON has no word for what is not a finite number. */
static bool is_null(const struct gs_field *field, const struct gs_column *column, uint32_t row)
{
    if (gs_column_is_null(column, row)) return true;
    return field->type == GS_FLOAT && !isfinite(((const double *)column->values)[row]);
}

static int append_value(struct gs_text *text, const struct gs_field *field,
                        const struct gs_column *column, uint32_t row)
{
    if (is_null(field, column, row)) return append_text(text, "null");
    size_t room = gs_value_room(field);
    if (field->type == GS_STRING) room = STRING_ROOM(gs_column_string(column, row).length);
    GS_RETURN_IF_ERROR(gs_text_reserve(text, room));
    uint8_t *end = put_value(text->bytes + text->length, field, column, row);
    text->length = (size_t)(end - text->bytes);
    return GS_OK;
}

/* What stands before each value of a row, one text a column, each ended by a zero byte (which no
 * JSON text contains): they are the same for every row. */
static int render_keys(const struct gs_schema *schema, const char *query_name, struct gs_text *keys)
{
    GS_RETURN_IF_ERROR(append_opening(keys, query_name));
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (i > 0) GS_RETURN_IF_ERROR(append_text(keys, ","));
        GS_RETURN_IF_ERROR(append_string(keys, schema->fields[i].name));
        GS_RETURN_IF_ERROR(append_text(keys, ":"));
        GS_RETURN_IF_ERROR(gs_text_reserve(keys, 1));
        keys->bytes[keys->length++] = '\0';
    }
    return GS_OK;
}

static int append_row(struct gs_text *text, const struct gs_batch *batch, const char *keys,
                      uint32_t row)
{
    for (uint32_t i = 0; i < batch->schema->column_count; i++) {
        GS_RETURN_IF_ERROR(append_text(text, keys));
        GS_RETURN_IF_ERROR(append_value(text, &batch->schema->fields[i], &batch->columns[i], row));
        keys += strlen(keys) + 1;
    }
    return append_text(text, "}\n");
}

int gs_json_rows(const struct gs_batch *batch, const char *query_name, struct gs_text *text)
{
    if (batch->row_count == 0) return GS_OK;
    struct gs_text keys = {0};
    int status = render_keys(batch->schema, query_name, &keys);
    for (uint32_t row = 0; status == GS_OK && row < batch->row_count; row++) {
        status = append_row(text, batch, (const char *)keys.bytes, row);
    }
    gs_text_free(&keys);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "append.h"
#include "rows.h"

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

static uint8_t *put_character(uint8_t *at, const uint8_t *bytes, uint32_t length)
{
    if (length == 0) {
        *at++ = '\\'; /* the backslash of \xHH is a character, so JSON escapes it */
        return gs_put_hex_byte(at, *bytes);
    }
    if (*bytes < ' ' || *bytes == '"' || *bytes == '\\') return put_escaped(at, *bytes);
    return gs_put_text(at, (const char *)bytes, length);
}

static bool quotes_string(struct gs_string s)
{
    (void)s;
    return true;
}

static bool quotes_value(const struct gs_field *field)
{
    return field->type >= GS_IP || gs_field_is_mac(field);
}

/* JSON has no word for what is not a finite number. */
static bool is_null(const struct gs_field *field, const struct gs_column *column, uint32_t row)
{
    if (gs_column_is_null(column, row)) return true;
    return field->type == GS_FLOAT && !isfinite(((const double *)column->values)[row]);
}

static const struct gs_row_format format = {
    .null = "null",
    .row_end = "}\n",
    .character_room = 6, /* \u0000 */
    .put_character = put_character,
    .quotes_string = quotes_string,
    .quotes_value = quotes_value,
    .is_null = is_null,
};

static int append_string(struct gs_text *text, const char *characters)
{
    struct gs_string s = {(const uint8_t *)characters, (uint32_t)strlen(characters)};
    GS_RETURN_IF_ERROR(gs_text_reserve(text, gs_string_room(&format, s)));
    uint8_t *end = gs_put_string(&format, text->bytes + text->length, s);
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

/* What stands before each value of a row, one text a column, each ended by a zero byte (which no
 * JSON text contains): they are the same for every row. */
static int render_keys(const struct gs_schema *schema, const char *query_name, struct gs_text *keys)
{
    GS_RETURN_IF_ERROR(append_opening(keys, query_name));
    for (uint32_t i = 0; i < schema->column_count; i++) {
        GS_RETURN_IF_ERROR(append_string(keys, schema->fields[i].name));
        GS_RETURN_IF_ERROR(append_text(keys, ":"));
        GS_RETURN_IF_ERROR(gs_text_reserve(keys, 1));
        keys->bytes[keys->length++] = '\0';
    }
    return GS_OK;
}

int gs_json_rows(const struct gs_batch *batch, const char *query_name, struct gs_text *text)
{
    if (batch->row_count == 0) return GS_OK;
    struct gs_text keys = {0};
    int status = render_keys(batch->schema, query_name, &keys);
    for (uint32_t row = 0; status == GS_OK && row < batch->row_count; row++)
        status = gs_append_row(&format, batch, row, &keys, text);
    gs_text_free(&keys);
    return status;
}

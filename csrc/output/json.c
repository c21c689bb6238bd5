/* SPDX-License-Identifier: Apache-2.0 */
#include "row_format.h"
#include "rows.h"
#include "string_text.h"
#include "value.h"

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

static uint8_t *put_string(uint8_t *at, struct gs_string s)
{
    *at++ = '"';
    at = gs_copy_plain(at, s, '"') ? at + s.length : gs_put_characters(at, s, put_character);
    *at++ = '"';
    return at;
}

static bool quotes_value(const struct gs_field *field)
{
    return field->type >= GS_IP || gs_field_is_mac(field);
}

static const struct gs_row_format format = {
    .null = "null",
    .null_length = 4,
    .row_end = "}\n",
    .row_end_length = 2,
    .finite_only = true, /* JSON has no word for what is not a finite number */
    .character_room = 6, /* \u0000 */
    .put_string = put_string,
    .quotes_value = quotes_value,
};

static int append_text(struct gs_text *text, const char *characters)
{
    size_t length = strlen(characters);
    GS_RETURN_IF_ERROR(gs_text_reserve(text, length + GS_ROW_SLACK));
    gs_put_text(text->bytes + text->length, characters, length);
    text->length += length;
    return GS_OK;
}

static int append_string(struct gs_text *text, const char *characters)
{
    struct gs_string s = {(const uint8_t *)characters, (uint32_t)strlen(characters)};
    GS_RETURN_IF_ERROR(gs_text_reserve(text, gs_string_room(&format, s.length) + GS_ROW_SLACK));
    uint8_t *end = put_string(text->bytes + text->length, s);
    text->length = (size_t)(end - text->bytes);
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

/* What stands before a column's value. */
static int render_key(const struct gs_batch *batch, uint32_t column, const char *query_name,
                      struct gs_text *key)
{
    key->length = 0;
    GS_RETURN_IF_ERROR(column == 0 ? append_opening(key, query_name) : append_text(key, ","));
    GS_RETURN_IF_ERROR(append_string(key, batch->schema->fields[column].name));
    return append_text(key, ":");
}

/* They are the same for every row. */
static int render_keys(const struct gs_batch *batch, const char *query_name, struct gs_text *keys)
{
    struct gs_text key = {0};
    int status = GS_OK;
    for (uint32_t i = 0; status == GS_OK && i < batch->schema->column_count; i++) {
        status = render_key(batch, i, query_name, &key);
        if (status == GS_OK) status = gs_append_key(keys, key.bytes, key.length);
    }
    gs_text_free(&key);
    return status;
}

int gs_json_rows(const struct gs_batch *batch, const char *query_name, struct gs_text *text)
{
    if (batch->row_count == 0) return GS_OK;
    struct gs_text keys = {0};
    int status = render_keys(batch, query_name, &keys);
    if (status == GS_OK) status = gs_append_rows(&format, batch, &keys, text);
    gs_text_free(&keys);
    return status;
}

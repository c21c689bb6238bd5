/* SPDX-License-Identifier: Apache-2.0 */
#include "row_format.h"
#include "rows.h"
#include "string_text.h"

/* RFC 4180: what would end the cell or the line; and the empty string, which is not NULL. */
static bool quotes_string(struct gs_string s)
{
    bool found = s.length == 0;
    for (uint32_t i = 0; i < s.length; i++) {
        uint8_t c = s.bytes[i];
        found |= c == ',' || c == '"' || c == '\n' || c == '\r';
    }
    return found;
}

static bool quotes_value(const struct gs_field *field)
{
    (void)field;
    return false;
}

static uint8_t *put_character(uint8_t *at, const uint8_t *bytes, uint32_t length)
{
    if (length == 0) return gs_put_hex_byte(at, *bytes);
    if (*bytes == '"') *at++ = '"';
    return gs_put_text(at, (const char *)bytes, length);
}

static uint8_t *put_string(uint8_t *at, struct gs_string s)
{
    if (s.length > 0 && gs_copy_plain(at, s, ',')) return at + s.length;
    bool quoted = quotes_string(s);
    *at = '"';
    at = gs_put_characters(at + quoted, s, put_character);
    *at = '"';
    return at + quoted;
}

static const struct gs_row_format format = {
    .null = "",
    .row_end = "\n",
    .row_end_length = 1,
    .character_room = 4, /* \xHH */
    .put_string = put_string,
    .quotes_value = quotes_value,
};

int gs_csv_rows(const struct gs_batch *batch, struct gs_text *text)
{
    if (batch->row_count == 0) return GS_OK;
    struct gs_text keys = {0};
    int status = GS_OK;
    for (uint32_t i = 0; status == GS_OK && i < batch->schema->column_count; i++)
        status = gs_append_key(&keys, (const uint8_t *)",", i > 0);
    if (status == GS_OK) status = gs_append_rows(&format, batch, &keys, text);
    gs_text_free(&keys);
    return status;
}

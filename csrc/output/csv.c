/* SPDX-License-Identifier: Apache-2.0 */
#include "append.h"
#include "rows.h"

/* RFC 4180: what would end the cell or the line; and the empty string, which is not NULL. */
static bool quotes_string(struct gs_string s)
{
    for (uint32_t i = 0; i < s.length; i++) {
        uint8_t c = s.bytes[i];
        if (c == ',' || c == '"' || c == '\n' || c == '\r') return true;
    }
    return s.length == 0;
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

static bool is_null(const struct gs_field *field, const struct gs_column *column, uint32_t row)
{
    (void)field;
    return gs_column_is_null(column, row);
}

static const struct gs_row_format format = {
    .null = "",
    .row_end = "\n",
    .character_room = 4, /* \xHH */
    .put_character = put_character,
    .quotes_string = quotes_string,
    .quotes_value = quotes_value,
    .is_null = is_null,
};

int gs_csv_rows(const struct gs_batch *batch, struct gs_text *text)
{
    for (uint32_t row = 0; row < batch->row_count; row++)
        GS_RETURN_IF_ERROR(gs_append_row(&format, batch, row, NULL, text));
    return GS_OK;
}

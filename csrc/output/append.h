/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as text, whatever the format: csv.c and json.c each say what is their own, and what stands
 * here is compiled for each of them, with that known. */
#ifndef GS_OUTPUT_APPEND_H
#define GS_OUTPUT_APPEND_H

#include "../base/error.h"
#include "text.h"
#include "value.h"

/* Makes room for `extra` more bytes. GS_OK, or GS_ERROR where there is no memory. */
int gs_text_reserve(struct gs_text *text, size_t extra);

struct gs_row_format {
    const char *null, *row_end;
    uint32_t character_room; /* what a byte of a string can become at most */
    /* A character of so many bytes, or, where they are 0, a byte that is none. */
    uint8_t *(*put_character)(uint8_t *at, const uint8_t *bytes, uint32_t length);
    bool (*quotes_string)(struct gs_string s);
    bool (*quotes_value)(const struct gs_field *field);
    bool (*is_null)(const struct gs_field *field, const struct gs_column *column, uint32_t row);
};

static inline size_t gs_string_room(const struct gs_row_format *format, struct gs_string s)
{
    return (size_t)s.length * format->character_room + 2; /* for the quotes */
}

static inline uint8_t *gs_put_string(const struct gs_row_format *format, uint8_t *at,
                                     struct gs_string s)
{
    bool quoted = format->quotes_string(s);
    if (quoted) *at++ = '"';
    for (uint32_t i = 0; i < s.length;) {
        const uint8_t *rest = s.bytes + i;
        uint32_t plain = gs_plain_run(rest, s.length - i);
        at = gs_put_text(at, (const char *)rest, plain);
        i += plain;
        if (i == s.length) break;
        uint32_t length = gs_utf8_character(s.bytes + i, s.length - i);
        at = format->put_character(at, s.bytes + i, length);
        i += length == 0 ? 1 : length;
    }
    if (quoted) *at++ = '"';
    return at;
}

static inline uint8_t *gs_put_cell(const struct gs_row_format *format, uint8_t *at,
                                   const struct gs_field *field, const struct gs_column *column,
                                   uint32_t row)
{
    if (format->is_null(field, column, row))
        return gs_put_text(at, format->null, strlen(format->null));
    if (field->type == GS_STRING) return gs_put_string(format, at, gs_column_string(column, row));
    bool quoted = format->quotes_value(field);
    if (quoted) *at++ = '"';
    at = gs_put_value(at, field, column, row);
    if (quoted) *at++ = '"';
    return at;
}

/* Of the values, and what stands between and behind them. */
static inline size_t gs_row_room(const struct gs_row_format *format, const struct gs_batch *batch,
                                 uint32_t row)
{
    size_t room = strlen(format->row_end);
    for (uint32_t i = 0; i < batch->schema->column_count; i++) {
        const struct gs_field *field = &batch->schema->fields[i];
        room += strlen(format->null) + 3; /* quotes, a comma */
        room += field->type != GS_STRING
                    ? gs_value_room(field)
                    : gs_string_room(format, gs_column_string(&batch->columns[i], row));
    }
    return room;
}

/* A row of them; `keys` is what stands before each value, a text a column, each ended by a zero
 * byte. NULL: nothing. */
static inline int gs_append_row(const struct gs_row_format *format, const struct gs_batch *batch,
                                uint32_t row, const struct gs_text *keys, struct gs_text *text)
{
    size_t keys_room = keys != NULL ? keys->length : 0;
    GS_RETURN_IF_ERROR(gs_text_reserve(text, gs_row_room(format, batch, row) + keys_room));
    uint8_t *at = text->bytes + text->length;
    const char *key = keys != NULL ? (const char *)keys->bytes : NULL;
    for (uint32_t i = 0; i < batch->schema->column_count; i++) {
        if (i > 0) *at++ = ',';
        if (key != NULL) {
            size_t length = strlen(key);
            at = gs_put_text(at, key, length);
            key += length + 1;
        }
        at = gs_put_cell(format, at, &batch->schema->fields[i], &batch->columns[i], row);
    }
    at = gs_put_text(at, format->row_end, strlen(format->row_end));
    text->length = (size_t)(at - text->bytes);
    return GS_OK;
}

#endif

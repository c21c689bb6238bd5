/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as text, whatever the format: csv.c and json.c each say what is their own.
 *
 * Text is made by columns, 64 rows at a time: each row has a place with room for all that it can
 * become, a column is put behind what its rows have so far, and at the end the rows move together.
 * So there is no dispatch for a value, and a value need not wait for the length of the one before
 * it: those of 64 rows are under way at once. */
#ifndef GS_OUTPUT_ROW_FORMAT_H
#define GS_OUTPUT_ROW_FORMAT_H

#include "../base/error.h"
#include "gs_batch.h"
#include "text.h"

#define GS_BLOCK_ROWS 64

/* Functions write so many bytes more than they say at most, all within one row's room. */
#define GS_ROW_SLACK 32

/* What stands before values is padded to a multiple of this. */
#define GS_PREFIX_STEP 16

/* Makes room for `extra` more bytes. GS_OK, or GS_ERROR where there is no memory. */
int gs_text_reserve(struct gs_text *text, size_t extra);

struct gs_row_format {
    char null[8], row_end[8];
    uint8_t null_length, row_end_length;
    bool finite_only;        /* a float that is not finite is NULL */
    uint32_t character_room; /* what a byte of a string can become at most */
    uint8_t *(*put_string)(uint8_t *at, struct gs_string s);
    bool (*quotes_value)(const struct gs_field *field);
};

static inline size_t gs_string_room(const struct gs_row_format *format, uint32_t length)
{
    return (size_t)length * format->character_room + 2; /* for the quotes */
}

/* A column on its way to text. */
struct gs_text_column {
    /* Puts rows `first` and on, each at its end, which moves. */
    void (*put)(const struct gs_text_column *column, uint32_t first, uint32_t count,
                uint8_t **ends);
    const struct gs_row_format *format;
    const struct gs_column *column;
    const uint8_t *prefix; /* what stands before each value */
    uint32_t prefix_length;
    uint32_t size; /* of an opaque value */
    bool is_quoted;
};

/* columns.c: all but the prefix. */
struct gs_text_column gs_text_column_of(const struct gs_row_format *format,
                                        const struct gs_field *field,
                                        const struct gs_column *column);

/* Bytes that a value of a field that is not a string takes at most, with its quotes. */
size_t gs_value_room(const struct gs_field *field);

/* rows.c: a batch. `keys` has what stands before the values: of each column a length (uint32_t) and
 * the text, padded to GS_PREFIX_STEP from its beginning. GS_OK, or GS_ERROR where there is no
 * memory. */
int gs_append_rows(const struct gs_row_format *format, const struct gs_batch *batch,
                   const struct gs_text *keys, struct gs_text *text);

/* Appends what stands before a column's values. */
int gs_append_key(struct gs_text *keys, const uint8_t *bytes, size_t length);

#endif

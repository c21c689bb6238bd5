/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of rows: their places, their columns, and together they move. */
#include <stdlib.h>

#include "row_format.h"

/* A block of long strings has fewer rows: its places would be more memory than their text. */
#define BLOCK_BYTES 65536

struct row_block {
    uint32_t first, count;
    uint8_t *starts[GS_BLOCK_ROWS], *ends[GS_BLOCK_ROWS];
};

struct row_writer {
    const struct gs_row_format *format;
    const struct gs_batch *batch;
    struct gs_text_column *columns;
    size_t fixed_room; /* of a row, but for its strings */
    bool has_strings;
};

int gs_append_key(struct gs_text *keys, const uint8_t *bytes, size_t length)
{
    uint32_t padded = ((uint32_t)length + GS_PREFIX_STEP) / GS_PREFIX_STEP * GS_PREFIX_STEP;
    uint32_t key_length = (uint32_t)length;
    GS_RETURN_IF_ERROR(gs_text_reserve(keys, sizeof key_length + padded));
    uint8_t *at = keys->bytes + keys->length;
    memcpy(at, &key_length, sizeof key_length);
    memset(at + sizeof key_length, 0, padded);
    if (length > 0) memcpy(at + sizeof key_length, bytes, length);
    keys->length += sizeof key_length + padded;
    return GS_OK;
}

static const uint8_t *take_key(struct gs_text_column *column, const uint8_t *key)
{
    memcpy(&column->prefix_length, key, sizeof column->prefix_length);
    column->prefix = key + sizeof column->prefix_length;
    return column->prefix +
           (column->prefix_length + GS_PREFIX_STEP) / GS_PREFIX_STEP * GS_PREFIX_STEP;
}

static int open_writer(struct row_writer *writer, const struct gs_row_format *format,
                       const struct gs_batch *batch, const struct gs_text *keys)
{
    uint32_t count = batch->schema->column_count;
    const uint8_t *key = keys->bytes;
    writer->format = format;
    writer->batch = batch;
    writer->fixed_room = format->row_end_length + GS_ROW_SLACK;
    writer->columns = malloc((count + 1) * sizeof *writer->columns);
    if (writer->columns == NULL) return GS_ERROR;
    for (uint32_t i = 0; i < count; i++) {
        const struct gs_field *field = &batch->schema->fields[i];
        writer->columns[i] = gs_text_column_of(format, field, &batch->columns[i]);
        key = take_key(&writer->columns[i], key);
        writer->fixed_room += writer->columns[i].prefix_length + format->null_length;
        if (field->type != GS_STRING)
            writer->fixed_room += gs_value_room(field);
        else
            writer->has_strings = true;
    }
    return GS_OK;
}

static size_t row_room(const struct row_writer *writer, uint32_t row)
{
    const struct gs_batch *batch = writer->batch;
    size_t room = writer->fixed_room;
    if (!writer->has_strings) return room;
    for (uint32_t i = 0; i < batch->schema->column_count; i++) {
        if (batch->schema->fields[i].type != GS_STRING) continue;
        const int32_t *offsets = batch->columns[i].offsets + row;
        room += gs_string_room(writer->format, (uint32_t)(offsets[1] - offsets[0]));
    }
    return room;
}

/* Gives the next rows their places, as offsets from `text`: it may still move. */
static int place_rows(const struct row_writer *writer, struct row_block *block,
                      struct gs_text *text)
{
    size_t places[GS_BLOCK_ROWS], room = 0;
    uint32_t left = writer->batch->row_count - block->first;
    uint32_t most = left < GS_BLOCK_ROWS ? left : GS_BLOCK_ROWS;
    for (block->count = 0; block->count < most && room < BLOCK_BYTES; block->count++) {
        places[block->count] = room;
        room += row_room(writer, block->first + block->count);
    }
    GS_RETURN_IF_ERROR(gs_text_reserve(text, room));
    for (uint32_t i = 0; i < block->count; i++)
        block->starts[i] = block->ends[i] = text->bytes + text->length + places[i];
    return GS_OK;
}

/* Forwards, 32 bytes at a time: what is written behind a row's end was read before, or is of the
 * row's own slack. */
static uint8_t *move_row(uint8_t *to, const uint8_t *from, size_t length)
{
    for (size_t done = 0; done < length; done += GS_ROW_SLACK) {
        uint8_t bytes[GS_ROW_SLACK];
        memcpy(bytes, from + done, sizeof bytes);
        memcpy(to + done, bytes, sizeof bytes);
    }
    return to + length;
}

static void join_rows(const struct gs_row_format *format, const struct row_block *block,
                      struct gs_text *text)
{
    uint8_t *to = text->bytes + text->length;
    for (uint32_t i = 0; i < block->count; i++) {
        to = move_row(to, block->starts[i], (size_t)(block->ends[i] - block->starts[i]));
        memcpy(to, format->row_end, sizeof format->row_end);
        to += format->row_end_length;
    }
    text->length = (size_t)(to - text->bytes);
}

static int put_blocks(const struct row_writer *writer, struct gs_text *text)
{
    struct row_block block;
    for (block.first = 0; block.first < writer->batch->row_count; block.first += block.count) {
        GS_RETURN_IF_ERROR(place_rows(writer, &block, text));
        for (uint32_t i = 0; i < writer->batch->schema->column_count; i++)
            writer->columns[i].put(&writer->columns[i], block.first, block.count, block.ends);
        join_rows(writer->format, &block, text);
    }
    return GS_OK;
}

int gs_append_rows(const struct gs_row_format *format, const struct gs_batch *batch,
                   const struct gs_text *keys, struct gs_text *text)
{
    struct row_writer writer = {0};
    GS_RETURN_IF_ERROR(open_writer(&writer, format, batch, keys));
    int status = put_blocks(&writer, text);
    free(writer.columns);
    return status;
}

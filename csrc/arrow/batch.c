/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include <stdlib.h>

#include "../base/shared_object.h"

#define GS_BUFFER_ALIGNMENT 64
#define GS_SPARSE_PART 8 /* of its memory: a batch whose rows take less is copied to be kept */

size_t gs_column_bytes(const struct gs_field *field, uint32_t rows)
{
    static const uint8_t width[] = {
        [GS_USHORT] = 2, [GS_UINT] = 4, [GS_INT] = 4,   [GS_ULLONG] = 8, [GS_LLONG] = 8,
        [GS_FLOAT] = 8,  [GS_IP] = 4,   [GS_IPV6] = 16, [GS_INET] = 16,  [GS_TIMESTAMP] = 8};
    if (field->type == GS_BOOL) return (rows + 7) / 8;
    if (field->type == GS_OPAQUE) return (size_t)field->size * rows;
    return (size_t)width[field->type] * rows;
}

uint32_t gs_batch_rows(const struct gs_schema *schema, uint32_t rows)
{
    uint64_t row_bytes = 0;
    for (uint32_t c = 0; c < schema->column_count; c++)
        row_bytes += schema->fields[c].size;
    if (row_bytes * rows <= GS_BATCH_OPAQUE_BYTES) return rows;
    return row_bytes > GS_BATCH_OPAQUE_BYTES ? 1 : (uint32_t)(GS_BATCH_OPAQUE_BYTES / row_bytes);
}

static void *buffer_new(size_t bytes)
{
    size_t rounded = (bytes + GS_BUFFER_ALIGNMENT - 1) / GS_BUFFER_ALIGNMENT * GS_BUFFER_ALIGNMENT;
    return aligned_alloc(GS_BUFFER_ALIGNMENT, rounded ? rounded : GS_BUFFER_ALIGNMENT);
}

static bool string_column_init(struct gs_column *column, uint32_t rows)
{
    column->string_capacity = rows < 64 ? 64 * (rows + 1) : 4096;
    column->values = buffer_new(column->string_capacity);
    column->offsets = buffer_new(((size_t)rows + 1) * sizeof(int32_t));
    if (column->values == NULL || column->offsets == NULL) return false;
    column->offsets[0] = 0;
    return true;
}

static bool column_init(struct gs_column *column, const struct gs_field *field, uint32_t rows)
{
    if (field->nullable) {
        column->validity = buffer_new((rows + 7) / 8);
        if (column->validity == NULL) return false;
    }
    if (field->type == GS_STRING) return string_column_init(column, rows);
    column->values = buffer_new(gs_column_bytes(field, rows));
    return column->values != NULL;
}

static void columns_free(struct gs_batch *batch)
{
    for (uint32_t c = 0; batch->columns != NULL && c < batch->schema->column_count; c++) {
        free(batch->columns[c].values);
        free(batch->columns[c].offsets);
        free(batch->columns[c].validity);
    }
    free(batch->columns);
}

static void batch_free(struct gs_batch *batch)
{
    if (batch->parent != NULL)
        gs_batch_release(batch->parent);
    else
        columns_free(batch);
    if (batch->parent == NULL) free(batch->own_schema);
    free(batch->punctuation.bounds);
    gs_shared_object_release(batch->object);
    free(batch);
}

static bool batch_init(struct gs_batch *batch)
{
    uint32_t count = batch->schema->column_count;
    batch->columns = calloc(count ? count : 1, sizeof *batch->columns);
    batch->punctuation.bounds = calloc(count ? count : 1, sizeof *batch->punctuation.bounds);
    if (batch->columns == NULL || batch->punctuation.bounds == NULL) return false;
    for (uint32_t c = 0; c < count; c++) {
        batch->punctuation.bounds[c] = GS_BOUND_NONE;
        if (!column_init(&batch->columns[c], &batch->schema->fields[c], batch->row_capacity))
            return false;
    }
    return true;
}

struct gs_batch *gs_batch_new(const struct gs_schema *schema, uint32_t row_capacity)
{
    struct gs_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return NULL;
    batch->schema = schema;
    batch->row_capacity = row_capacity;
    batch->references = 1;
    if (batch_init(batch)) return batch;
    batch_free(batch);
    return NULL;
}

/* All but who has it: another thread may be giving up its reference. */
static void copy_contents(struct gs_batch *to, const struct gs_batch *from)
{
    memcpy(to, from, offsetof(struct gs_batch, references));
}

struct gs_batch *gs_batch_view(struct gs_batch *parent, const struct gs_schema *schema)
{
    struct gs_batch *view = calloc(1, sizeof *view);
    if (view == NULL) return NULL;
    copy_contents(view, parent);
    view->schema = schema;
    view->references = 1;
    memset(&view->punctuation, 0, sizeof view->punctuation);
    view->punctuation.bounds = calloc(schema->column_count + 1, sizeof(gs_bound));
    if (view->punctuation.bounds == NULL) {
        free(view);
        return NULL;
    }
    view->parent = gs_batch_retain(parent);
    return view;
}

struct gs_batch *gs_batch_retain(struct gs_batch *batch)
{
    __atomic_fetch_add(&batch->references, 1, __ATOMIC_RELAXED);
    return batch;
}

void gs_batch_release(struct gs_batch *batch)
{
    if (batch != NULL && __atomic_sub_fetch(&batch->references, 1, __ATOMIC_ACQ_REL) == 0)
        batch_free(batch);
}

struct gs_batch *gs_batch_renew(struct gs_batch *batch)
{
    if (__atomic_load_n(&batch->references, __ATOMIC_ACQUIRE) == 1) {
        batch->row_count = 0;
        batch->is_heartbeat = batch->is_partial = batch->is_end = false;
        return batch;
    }
    struct gs_batch *fresh = gs_batch_new(batch->schema, batch->row_capacity);
    if (fresh != NULL) gs_batch_release(batch);
    return fresh;
}

bool gs_batch_takes(const struct gs_batch *batch, const uint32_t *string_lengths)
{
    uint32_t row = batch->row_count;
    if (row == 0 || row == batch->row_capacity) return row < batch->row_capacity;
    for (uint32_t c = 0; c < batch->schema->column_count; c++) {
        if (batch->schema->fields[c].type != GS_STRING) continue;
        uint64_t bytes = (uint64_t)(uint32_t)batch->columns[c].offsets[row] + *string_lengths++;
        if (bytes > GS_BATCH_STRING_BYTES) return false;
    }
    return true;
}

static uint32_t grown_capacity(const struct gs_column *column, uint64_t needed)
{
    uint32_t capacity = column->string_capacity;
    while (capacity < needed)
        capacity *= 2;
    return capacity;
}

static bool column_grow(struct gs_column *column, uint32_t used, uint64_t needed)
{
    if (needed > GS_COLUMN_STRINGS_MAX) return false;
    uint32_t capacity = grown_capacity(column, needed);
    uint8_t *grown = buffer_new(capacity);
    if (grown == NULL) return false;
    memcpy(grown, column->values, used);
    free(column->values);
    column->values = grown;
    column->string_capacity = capacity;
    return true;
}

bool gs_column_reserve(struct gs_column *column, uint64_t bytes)
{
    return bytes <= column->string_capacity || column_grow(column, 0, bytes);
}

uint64_t gs_batch_growth(const struct gs_batch *batch, const uint32_t *string_lengths)
{
    uint64_t bytes = 0;
    for (uint32_t c = 0; c < batch->schema->column_count; c++) {
        if (batch->schema->fields[c].type != GS_STRING) continue;
        const struct gs_column *column = &batch->columns[c];
        uint64_t needed = (uint64_t)(uint32_t)column->offsets[batch->row_count] + *string_lengths++;
        if (needed <= GS_COLUMN_STRINGS_MAX)
            bytes += grown_capacity(column, needed) - column->string_capacity;
    }
    return bytes;
}

bool gs_batch_reserve(struct gs_batch *batch, const uint32_t *string_lengths)
{
    uint32_t row = batch->row_count;
    if (row == batch->row_capacity) return false;
    for (uint32_t c = 0; c < batch->schema->column_count; c++) {
        if (batch->schema->fields[c].type != GS_STRING) continue;
        struct gs_column *column = &batch->columns[c];
        uint32_t length = *string_lengths++, used = (uint32_t)column->offsets[row];
        if (!gs_column_fits(column, row, length) &&
            !column_grow(column, used, (uint64_t)used + length))
            return false;
    }
    return true;
}

/* ---- what is kept of others' batches ---- */

static uint64_t column_memory(const struct gs_column *column, const struct gs_field *field,
                              uint32_t rows)
{
    uint64_t bytes = column->validity != NULL ? (rows + 7) / 8 : 0;
    if (field->type != GS_STRING) return bytes + gs_column_bytes(field, rows);
    return bytes + column->string_capacity + ((uint64_t)rows + 1) * sizeof(int32_t);
}

size_t gs_batch_bytes(const struct gs_batch *batch)
{
    uint64_t bytes = sizeof *batch;
    for (uint32_t c = 0; c < batch->schema->column_count; c++)
        bytes += sizeof(gs_bound) + sizeof(struct gs_column) +
                 column_memory(&batch->columns[c], &batch->schema->fields[c], batch->row_capacity);
    return bytes;
}

void gs_batch_lengths(const struct gs_batch *batch, uint32_t row, uint32_t *string_lengths)
{
    for (uint32_t c = 0; c < batch->schema->column_count; c++)
        if (batch->schema->fields[c].type == GS_STRING)
            *string_lengths++ = gs_column_string(&batch->columns[c], row).length;
}

static void append_value(struct gs_column *to, uint32_t at, const struct gs_column *from,
                         uint32_t row, const struct gs_field *field)
{
    size_t width = gs_column_bytes(field, 8) / 8;
    if (field->type == GS_STRING)
        gs_column_put_string(to, at, gs_column_string(from, row));
    else if (field->type == GS_BOOL)
        gs_bit_set(to->values, at, gs_bit_get(from->values, row));
    else
        memcpy((uint8_t *)to->values + at * width, (uint8_t *)from->values + row * width, width);
}

void gs_batch_append(struct gs_batch *batch, const struct gs_batch *from, uint32_t row)
{
    uint32_t at = batch->row_count++;
    for (uint32_t c = 0; c < batch->schema->column_count; c++) {
        struct gs_column *to = &batch->columns[c];
        if (to->validity != NULL)
            gs_bit_set(to->validity, at, !gs_column_is_null(&from->columns[c], row));
        append_value(to, at, &from->columns[c], row, &batch->schema->fields[c]);
    }
}

static uint64_t string_bytes(const struct gs_batch *batch, uint32_t column)
{
    const int32_t *offsets = batch->columns[column].offsets;
    return batch->row_count == 0 ? 0 : (uint64_t)(offsets[batch->row_count] - offsets[0]);
}

/* Its rows take a small part of what has been allocated for it. */
static bool is_sparse(const struct gs_batch *batch)
{
    uint64_t bytes = sizeof *batch;
    for (uint32_t c = 0; c < batch->schema->column_count; c++)
        bytes += batch->schema->fields[c].type == GS_STRING
                     ? string_bytes(batch, c)
                     : gs_column_bytes(&batch->schema->fields[c], batch->row_count);
    return bytes < gs_batch_bytes(batch) / GS_SPARSE_PART;
}

static bool strings_fit(struct gs_batch *batch, const struct gs_batch *from)
{
    for (uint32_t c = 0; c < batch->schema->column_count; c++) {
        if (batch->schema->fields[c].type != GS_STRING) continue;
        if (!gs_column_reserve(&batch->columns[c], string_bytes(from, c))) return false;
    }
    return true;
}

/* All that a batch says beside its rows. */
static void describe(struct gs_batch *batch, const struct gs_batch *from)
{
    const struct gs_batch own = *batch;
    copy_contents(batch, from);
    batch->columns = own.columns;
    batch->punctuation.bounds = own.punctuation.bounds;
    memcpy(batch->punctuation.bounds, from->punctuation.bounds,
           batch->schema->column_count * sizeof(gs_bound));
    batch->row_count = own.row_count;
    batch->row_capacity = own.row_capacity;
}

struct gs_batch *gs_batch_filtered(const struct gs_batch *batch, gs_row_test *passes,
                                   const void *context)
{
    struct gs_batch *copy = gs_batch_new(batch->schema, batch->row_count ? batch->row_count : 1);
    if (copy == NULL) return NULL;
    if (!strings_fit(copy, batch)) {
        gs_batch_release(copy);
        return NULL;
    }
    for (uint32_t row = 0; row < batch->row_count; row++)
        if (passes(context, batch, row)) gs_batch_append(copy, batch, row);
    describe(copy, batch);
    return copy;
}

static bool any(const void *context, const struct gs_batch *batch, uint32_t row)
{
    (void)context, (void)batch, (void)row;
    return true;
}

/* Rows that are incomplete and rows that are not come in batches of their own, by turns where a
 * join has both: a row that takes the memory of thousands would let what is bounded grow. */
struct gs_batch *gs_batch_keep(struct gs_batch *batch)
{
    bool has_schema_of_node = batch->parent != NULL || batch->own_schema == NULL;
    struct gs_batch *copy =
        has_schema_of_node && is_sparse(batch) ? gs_batch_filtered(batch, any, NULL) : NULL;
    return copy != NULL ? copy : gs_batch_retain(batch);
}

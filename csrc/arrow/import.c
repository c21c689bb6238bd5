/* SPDX-License-Identifier: Apache-2.0 */
/* A batch out of the Arrow C data interface. The array is somebody else's, perhaps of a damaged
 * file: types, counts and offsets are looked at before anything is read, and the rows are copied.
 */
#include <stdlib.h>

#include "batch.h"

#define GS_IMPORT_ROWS_MAX INT32_MAX

/* One column of the array: rows from `first` on. */
struct imported_column {
    const struct gs_field *field;
    const struct ArrowArray *array;
    uint32_t first, rows;
};

static int refuse(const struct imported_column *column, const char *reason, struct gs_error *error)
{
    return gs_fail(error, GS_ERROR, "column %.100s of an Arrow array %s", column->field->name,
                   reason);
}

/* ---- what it says it is ---- */

static int check_type(const struct gs_field *field, const struct ArrowSchema *arrow,
                      struct gs_error *error)
{
    if (arrow == NULL || arrow->format == NULL || arrow->name == NULL)
        return gs_fail(error, GS_ERROR, "an Arrow schema without column %.100s", field->name);
    if (strcmp(arrow->name, field->name) != 0)
        return gs_fail(error, GS_ERROR, "an Arrow array has column %.100s instead of %.100s",
                       arrow->name, field->name);
    char text[GS_ARROW_FORMAT_BYTES];
    const char *format = gs_arrow_format(field, text);
    if (strcmp(arrow->format, format) != 0 || arrow->dictionary != NULL)
        return gs_fail(error, GS_ERROR,
                       "column %.100s of an Arrow array has type '%.40s', not '%s'", field->name,
                       arrow->format, format);
    return GS_OK;
}

static int check_schema(const struct gs_schema *schema, const struct ArrowSchema *arrow,
                        struct gs_error *error)
{
    if (arrow->format == NULL || strcmp(arrow->format, "+s") != 0)
        return gs_fail(error, GS_ERROR, "an Arrow array that is no struct");
    if (arrow->n_children != schema->column_count ||
        (arrow->n_children > 0 && arrow->children == NULL))
        return gs_fail(error, GS_ERROR, "an Arrow array of %lld columns instead of %u",
                       (long long)arrow->n_children, schema->column_count);
    for (uint32_t c = 0; c < schema->column_count; c++)
        GS_RETURN_IF_ERROR(check_type(&schema->fields[c], arrow->children[c], error));
    return GS_OK;
}

static bool has_range(const struct ArrowArray *array)
{
    return array->length >= 0 && array->offset >= 0 && array->length <= GS_IMPORT_ROWS_MAX &&
           array->offset <= GS_IMPORT_ROWS_MAX && array->null_count >= -1 &&
           array->null_count <= array->length;
}

static int check_struct(const struct gs_schema *schema, const struct ArrowArray *array,
                        struct gs_error *error)
{
    if (!has_range(array) || array->n_children != schema->column_count ||
        (array->n_children > 0 && array->children == NULL))
        return gs_fail(error, GS_ERROR, "an Arrow array whose counts cannot be");
    bool has_validity = array->n_buffers > 0 && array->buffers != NULL && array->buffers[0] != NULL;
    if (array->null_count != 0 && has_validity)
        return gs_fail(error, GS_ERROR, "an Arrow array whose rows may be null");
    return GS_OK;
}

static bool has_nulls(const struct imported_column *column)
{
    return column->array->null_count != 0 && column->array->buffers[0] != NULL;
}

static int check_column(const struct imported_column *column, const struct ArrowArray *parent,
                        struct gs_error *error)
{
    const struct ArrowArray *array = column->array;
    int64_t buffers = column->field->type == GS_STRING ? 3 : 2;
    if (array == NULL || array->release == NULL) return refuse(column, "is missing", error);
    int64_t last = parent->offset + parent->length;
    if (!has_range(array) || array->length < last || array->offset + last > GS_IMPORT_ROWS_MAX)
        return refuse(column, "has a length or an offset that cannot be", error);
    if (array->n_buffers != buffers || array->buffers == NULL || array->n_children != 0)
        return refuse(column, "has other buffers than its type", error);
    if (column->rows > 0 && array->buffers[1] == NULL)
        return refuse(column, "has no values", error);
    if (array->null_count > 0 && array->buffers[0] == NULL)
        return refuse(column, "has nulls, and does not say which", error);
    return GS_OK;
}

/* ---- its rows ---- */

static void copy_bits(uint8_t *to, const uint8_t *from, uint32_t first, uint32_t rows)
{
    uint32_t shift = first % 8, bytes = (rows + 7) / 8, last = (shift + rows + 7) / 8;
    from += first / 8;
    for (uint32_t i = 0; i < bytes; i++) {
        uint32_t next = i + 1 < last ? from[i + 1] : 0;
        to[i] = (uint8_t)((from[i] | next << 8) >> shift);
    }
}

static bool any_null(const struct imported_column *column)
{
    for (uint32_t row = 0; row < column->rows; row++)
        if (!gs_bit_get(column->array->buffers[0], column->first + row)) return true;
    return false;
}

static int copy_validity(const struct imported_column *column, struct gs_column *to,
                         struct gs_error *error)
{
    if (column->field->nullable && has_nulls(column))
        copy_bits(to->validity, column->array->buffers[0], column->first, column->rows);
    else if (column->field->nullable)
        memset(to->validity, 0xff, (column->rows + 7) / 8);
    else if (has_nulls(column) && any_null(column))
        return refuse(column, "has nulls where there are none in the stream", error);
    return GS_OK;
}

/* Offsets are copied first, checked there (nobody says that theirs are aligned), then made to begin
 * at 0. */
static int copy_offsets(const struct imported_column *column, struct gs_column *to,
                        int32_t *first_byte, struct gs_error *error)
{
    const uint8_t *from = column->array->buffers[1];
    int32_t *offsets = to->offsets;
    memcpy(offsets, from + sizeof(int32_t) * (size_t)column->first,
           sizeof(int32_t) * ((size_t)column->rows + 1));
    *first_byte = offsets[0];
    if (offsets[0] < 0) return refuse(column, "has a negative offset", error);
    for (uint32_t row = 0; row < column->rows; row++)
        if (offsets[row + 1] < offsets[row])
            return refuse(column, "has offsets that go back", error);
    for (uint32_t row = 0; row <= column->rows; row++)
        offsets[row] -= *first_byte;
    return GS_OK;
}

static int copy_strings(const struct imported_column *column, struct gs_column *to,
                        struct gs_error *error)
{
    int32_t first_byte;
    GS_RETURN_IF_ERROR(copy_offsets(column, to, &first_byte, error));
    uint32_t bytes = (uint32_t)to->offsets[column->rows];
    if (bytes == 0) return GS_OK;
    if (column->array->buffers[2] == NULL) return refuse(column, "has no bytes", error);
    if (bytes > GS_COLUMN_STRINGS_MAX)
        return refuse(column, "is too large: its texts are more than 1 GiB", error);
    if (!gs_column_reserve(to, bytes))
        return refuse(column, "is more than there is memory for", error);
    memcpy(to->values, (const uint8_t *)column->array->buffers[2] + first_byte, bytes);
    return GS_OK;
}

static int copy_column(const struct imported_column *column, struct gs_column *to,
                       struct gs_error *error)
{
    if (column->rows == 0) return GS_OK;
    GS_RETURN_IF_ERROR(copy_validity(column, to, error));
    const uint8_t *from = column->array->buffers[1];
    size_t bytes = gs_column_bytes(column->field, column->rows);
    if (column->field->type == GS_STRING) return copy_strings(column, to, error);
    if (column->field->type == GS_BOOL)
        copy_bits(to->values, from, column->first, column->rows);
    else
        memcpy(to->values, from + bytes / column->rows * column->first, bytes);
    return GS_OK;
}

static struct imported_column column_of(const struct gs_schema *schema,
                                        const struct ArrowArray *array, uint32_t index)
{
    return (struct imported_column){.field = &schema->fields[index],
                                    .array = array->children[index],
                                    .rows = (uint32_t)array->length};
}

static int copy_rows(const struct ArrowArray *array, struct gs_batch *batch, struct gs_error *error)
{
    for (uint32_t c = 0; c < batch->schema->column_count; c++) {
        struct imported_column column = column_of(batch->schema, array, c);
        column.first = (uint32_t)(array->offset + column.array->offset);
        GS_RETURN_IF_ERROR(copy_column(&column, &batch->columns[c], error));
    }
    batch->row_count = (uint32_t)array->length;
    return GS_OK;
}

/* ---- in one piece ---- */

/* All of them before anything is allocated: a count of rows may be a lie. */
static int check_columns(const struct gs_schema *schema, const struct ArrowArray *array,
                         struct gs_error *error)
{
    for (uint32_t c = 0; c < schema->column_count; c++) {
        struct imported_column column = column_of(schema, array, c);
        GS_RETURN_IF_ERROR(check_column(&column, array, error));
    }
    return GS_OK;
}

static int import(const struct ArrowArray *array, const struct ArrowSchema *arrow,
                  const struct gs_schema *schema, struct gs_batch **batch, struct gs_error *error)
{
    GS_RETURN_IF_ERROR(check_schema(schema, arrow, error));
    GS_RETURN_IF_ERROR(check_struct(schema, array, error));
    GS_RETURN_IF_ERROR(check_columns(schema, array, error));
    *batch = gs_batch_new(schema, (uint32_t)array->length);
    if (*batch == NULL) return gs_fail(error, GS_ERROR, "no memory for an Arrow array's rows");
    int status = copy_rows(array, *batch, error);
    if (status == GS_OK) return GS_OK;
    gs_batch_release(*batch);
    *batch = NULL;
    return status;
}

int gs_batch_import_as(struct ArrowArray *array, struct ArrowSchema *arrow_schema,
                       const struct gs_schema *schema, struct gs_batch **batch,
                       struct gs_error *error)
{
    *batch = NULL;
    int status = import(array, arrow_schema, schema, batch, error);
    array->release(array);
    arrow_schema->release(arrow_schema);
    return status;
}

/* Fields behind the schema, their texts behind the fields, in one piece of memory. */
static struct gs_schema *schema_copy(const struct gs_schema *from)
{
    size_t texts = 0, count = from->column_count;
    for (size_t c = 0; c < count; c++)
        texts += strlen(from->fields[c].name) + strlen(from->fields[c].subtype) + 2;
    struct gs_schema *copy = malloc(sizeof *copy + count * sizeof *from->fields + texts);
    if (copy == NULL) return NULL;
    struct gs_field *fields = (struct gs_field *)(copy + 1);
    char *text = (char *)(fields + count);
    for (size_t c = 0; c < count; c++) {
        fields[c] = from->fields[c];
        fields[c].name = strcpy(text, from->fields[c].name);
        text += strlen(text) + 1;
        fields[c].subtype = strcpy(text, from->fields[c].subtype);
        text += strlen(text) + 1;
    }
    *copy = (struct gs_schema){.stream = "", .column_count = (uint32_t)count, .fields = fields};
    return copy;
}

int gs_batch_import(struct ArrowArray *array, struct ArrowSchema *arrow_schema,
                    const struct gs_schema *schema, struct gs_batch **batch, struct gs_error *error)
{
    struct gs_schema *own = schema_copy(schema);
    int status = gs_batch_import_as(array, arrow_schema, own != NULL ? own : schema, batch, error);
    if (status == GS_OK && own == NULL) {
        gs_batch_release(*batch);
        status = gs_fail(error, GS_ERROR, "no memory for a schema");
    }
    if (status == GS_OK) (*batch)->own_schema = own;
    if (status != GS_OK) free(own);
    return status;
}

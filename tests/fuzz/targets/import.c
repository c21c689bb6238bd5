/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: Arrow arrays of somebody else's. All that an array says of itself comes from the
 * input: counts, offsets, formats, what is missing; its buffers are as long as it says, since the
 * interface does not tell their length and whoever calls has had it checked (gigastream.h). */
#include <stdlib.h>
#include <string.h>

#include "arrow/batch.h"
#include "gigastream.h"
#include "output/rows.h"

enum { COLUMNS_MAX = 4, ROWS_MAX = 200, STRING_BYTES_MAX = 1 << 12 };

struct input {
    const uint8_t *at, *end;
};

struct made_column {
    struct ArrowArray array;
    struct ArrowSchema schema;
    const void *buffers[3];
    void *owned[3];
    char format[GS_ARROW_FORMAT_BYTES];
};

static uint8_t next(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

/* Mostly small numbers; now and then one that cannot be. */
static int64_t number(struct input *input, unsigned limit)
{
    static const int64_t odd[] = {-1, INT64_MIN, INT64_MAX, INT32_MAX, (int64_t)INT32_MAX + 1, -2};
    uint8_t byte = next(input);
    if (byte >= 250) return odd[byte - 250];
    return byte % (limit + 1);
}

static void *filled(struct input *input, size_t bytes)
{
    uint8_t *room = malloc(bytes > 0 ? bytes : 1);
    if (room == NULL) abort();
    for (size_t i = 0; i < bytes; i++)
        room[i] = next(input);
    return room;
}

/* Offsets that mostly rise; their last is how many bytes there must be. */
static int32_t *offsets(struct input *input, size_t count, size_t *bytes)
{
    int32_t *made = malloc(count * sizeof *made), at = 0;
    if (made == NULL) abort();
    for (size_t i = 0; i < count; i++) {
        uint8_t step = next(input);
        at += step < 250 ? step % 16 : 0;
        made[i] = step < 250 ? at : step == 250 ? -1 : at - 1;
    }
    *bytes = (size_t)at;
    return made;
}

static size_t rows_of(const struct ArrowArray *array)
{
    int64_t rows = 0;
    if (array->offset > 0 && array->offset <= ROWS_MAX) rows += array->offset;
    if (array->length > 0) rows += array->length <= ROWS_MAX ? array->length : 3 * ROWS_MAX;
    return (size_t)rows;
}

static void make_buffers(struct input *input, struct made_column *column,
                         const struct gs_field *field)
{
    size_t rows = rows_of(&column->array), strings = 0;
    uint8_t type = field->type;
    column->owned[0] = filled(input, (rows + 7) / 8);
    if (type == GS_STRING) {
        column->owned[1] = offsets(input, rows + 1, &strings);
        column->owned[2] = filled(input, strings);
    } else {
        column->owned[1] = filled(input, gs_column_bytes(field, (uint32_t)rows));
    }
    uint8_t missing = next(input);
    for (int i = 0; i < 3; i++)
        column->buffers[i] = missing == 255 - i ? NULL : column->owned[i];
    if (missing < 64) column->buffers[0] = NULL;
}

static void release_nothing(struct ArrowArray *array)
{
    array->release = NULL;
}

static void release_no_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static const char *format(struct input *input, const char *right)
{
    static const char *const wrong[] = {NULL, "", "i", "u", "w:16", "+s", "tsn:UTC", "\xff"};
    uint8_t byte = next(input);
    return byte < 240 ? right : wrong[byte % 8];
}

static const char *const names[COLUMNS_MAX] = {"a", "b", "c", "d"};

static void make_column(struct input *input, struct made_column *column, struct gs_field *field,
                        unsigned index)
{
    uint8_t kind = next(input);
    *field = (struct gs_field){.name = names[index],
                               .subtype = kind & 128 ? "mac" : "",
                               .type = (uint8_t)(1 + (kind & 63) % GS_OPAQUE),
                               .nullable = kind >> 6 & 1};
    column->array = (struct ArrowArray){.length = number(input, ROWS_MAX),
                                        .null_count = number(input, 3),
                                        .offset = number(input, 20),
                                        .n_buffers = field->type == GS_STRING ? 3 : 2,
                                        .buffers = column->buffers,
                                        .release = release_nothing};
    if (field->type == GS_OPAQUE) field->size = (uint16_t)(1 + next(input) % 40);
    make_buffers(input, column, field);
    uint8_t lie = next(input);
    if (lie == 255) column->array.n_buffers = number(input, 5);
    if (lie == 254) column->array.buffers = NULL;
    if (lie == 253) column->array.release = NULL;
    if (lie == 252) column->array.n_children = number(input, 5);
    column->schema =
        (struct ArrowSchema){.format = format(input, gs_arrow_format(field, column->format)),
                             .name = format(input, field->name),
                             .release = release_no_schema};
    if (lie == 251) column->schema.dictionary = &column->schema;
}

static void show(struct gs_batch *batch)
{
    struct gs_text text = {0};
    if (gs_csv_rows(batch, &text) != GS_OK || gs_json_rows(batch, NULL, &text) != GS_OK) abort();
    gs_text_free(&text);
    gs_batch_release(batch);
}

static void import(struct input *input, struct made_column *columns, const struct gs_schema *schema)
{
    struct ArrowArray *arrays[COLUMNS_MAX];
    struct ArrowSchema *schemas[COLUMNS_MAX];
    const void *validity[1] = {columns[0].owned[0]};
    uint8_t lie = next(input);
    for (unsigned c = 0; c < COLUMNS_MAX; c++) {
        arrays[c] = lie == 200u + c ? NULL : &columns[c].array;
        schemas[c] = lie == 204u + c ? NULL : &columns[c].schema;
    }
    int64_t rows = number(input, ROWS_MAX), first = number(input, 20);
    /* A whole and a column that both claim more than there is are the caller's fault. */
    if (rows > ROWS_MAX || first > ROWS_MAX)
        for (unsigned c = 0; c < COLUMNS_MAX; c++)
            if (columns[c].array.length > ROWS_MAX) columns[c].array.length = ROWS_MAX;
    struct ArrowArray array = {.length = rows,
                               .offset = first,
                               .null_count = number(input, 3),
                               .n_buffers = 1,
                               .buffers = lie == 211 ? NULL : validity,
                               .n_children = lie == 208 ? number(input, 9) : schema->column_count,
                               .children = lie == 209 ? NULL : arrays,
                               .release = release_nothing};
    struct ArrowSchema arrow = {.format = format(input, "+s"),
                                .n_children = lie == 210 ? number(input, 9) : schema->column_count,
                                .children = schemas,
                                .release = release_no_schema};
    struct gs_batch *batch;
    struct gs_error error;
    if (gs_batch_import(&array, &arrow, schema, &batch, &error) == GS_OK) show(batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, data + size};
    struct made_column columns[COLUMNS_MAX] = {0};
    struct gs_field fields[COLUMNS_MAX];
    struct gs_schema schema = {
        .stream = "", .column_count = 1u + next(&input) % COLUMNS_MAX, .fields = fields};
    for (unsigned c = 0; c < COLUMNS_MAX; c++)
        make_column(&input, &columns[c], &fields[c], c);
    import(&input, columns, &schema);
    for (unsigned c = 0; c < COLUMNS_MAX; c++)
        for (int i = 0; i < 3; i++)
            free(columns[c].owned[i]);
    return 0;
}

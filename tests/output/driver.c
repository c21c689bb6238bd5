/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one batch from stdin, as driver.py packs it, and writes its rows as text. Buffers have
 * exactly the size that they need, so that a sanitizer sees a step past them. With a third
 * argument: the text is made that many times and the seconds are written instead. */
#include "output/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *read_exactly(uint32_t size)
{
    void *bytes = size == 0 ? NULL : malloc(size);
    if (size > 0 && fread(bytes, 1, size, stdin) != size) exit(3);
    return bytes;
}

static uint32_t read_number(void)
{
    uint32_t number;
    if (fread(&number, 1, sizeof number, stdin) != sizeof number) exit(3);
    return number;
}

static void *read_sized(void)
{
    return read_exactly(read_number());
}

static void read_batch(struct gs_schema *schema, struct gs_batch *batch)
{
    schema->column_count = read_number();
    batch->row_count = read_number();
    struct gs_field *fields = calloc(schema->column_count, sizeof *fields);
    batch->columns = calloc(schema->column_count, sizeof *batch->columns);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        fields[i].type = (uint8_t)read_number();
        fields[i].size = (uint16_t)read_number();
        fields[i].name = read_sized();
        fields[i].subtype = read_sized();
        batch->columns[i].values = read_sized();
        batch->columns[i].offsets = read_sized();
        batch->columns[i].validity = read_sized();
        fields[i].nullable = batch->columns[i].validity != NULL;
    }
    schema->fields = fields;
    batch->schema = schema;
}

static void free_batch(const struct gs_schema *schema, struct gs_batch *batch)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        free((void *)(uintptr_t)schema->fields[i].name);
        free((void *)(uintptr_t)schema->fields[i].subtype);
        free(batch->columns[i].values);
        free(batch->columns[i].offsets);
        free(batch->columns[i].validity);
    }
    free((void *)(uintptr_t)schema->fields);
    free(batch->columns);
}

static int make_text(const struct gs_batch *batch, const char *format, const char *query,
                     struct gs_text *text)
{
    if (strcmp(format, "json") == 0) return gs_json_rows(batch, query[0] ? query : NULL, text);
    return gs_csv_rows(batch, text);
}

int main(int argument_count, char **arguments)
{
    struct gs_schema schema = {0};
    struct gs_batch batch = {0};
    struct gs_text text = {0};
    int repetitions = argument_count > 3 ? atoi(arguments[3]) : 2;
    int status = GS_OK;
    read_batch(&schema, &batch);
    clock_t start = clock();
    for (int i = 0; status == GS_OK && i < repetitions; i++) {
        text.length = 0;
        status = make_text(&batch, arguments[1], arguments[2], &text);
    }
    if (argument_count > 3)
        printf("%f\n", (double)(clock() - start) / CLOCKS_PER_SEC);
    else if (text.length > 0)
        fwrite(text.bytes, 1, text.length, stdout);
    gs_text_free(&text);
    free_batch(&schema, &batch);
    return status;
}

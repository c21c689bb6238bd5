/* SPDX-License-Identifier: Apache-2.0 */
/* A batch through the Arrow C data interface: its buffers and names are lent, not copied; array and
 * schema keep the batch alive until the consumer releases them. */
#include <stdio.h>
#include <stdlib.h>

#include "batch.h"

const char *gs_arrow_format(const struct gs_field *field, char text[GS_ARROW_FORMAT_BYTES])
{
    static const char *const formats[] = {
        [GS_BOOL] = "b",   [GS_USHORT] = "S",  [GS_UINT] = "I",    [GS_INT] = "i",
        [GS_ULLONG] = "L", [GS_LLONG] = "l",   [GS_FLOAT] = "g",   [GS_STRING] = "z",
        [GS_IP] = "I",     [GS_IPV6] = "w:16", [GS_INET] = "w:16", [GS_TIMESTAMP] = "tsn:UTC"};
    if (field->type != GS_OPAQUE) return formats[field->type];
    snprintf(text, GS_ARROW_FORMAT_BYTES, "w:%u", (unsigned)field->size);
    return text;
}

/* One key and value in the interface's packing: counts and lengths as native 32-bit integers. */
static const char *metadata_of(const struct gs_field *field)
{
    static const char ipv4[] = "\1\0\0\0\7\0\0\0gs.type\4\0\0\0ipv4";
    static const char ipv6[] = "\1\0\0\0\7\0\0\0gs.type\4\0\0\0ipv6";
    static const char inet[] = "\1\0\0\0\7\0\0\0gs.type\4\0\0\0inet";
    static const char mac[] = "\1\0\0\0\7\0\0\0gs.type\3\0\0\0mac";
    if (field->type == GS_IP) return ipv4;
    if (field->type == GS_IPV6) return ipv6;
    if (field->type == GS_INET) return inet;
    return strcmp(field->subtype, "mac") == 0 ? mac : NULL;
}

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t c = 0; c < schema->n_children; c++)
        if (schema->children[c]->release != NULL) schema->children[c]->release(schema->children[c]);
    free(schema->private_data);
    schema->release = NULL;
}

/* What a column's schema has to itself: it may outlive its parent, as a child array may. */
struct exported_field {
    struct gs_batch *batch;
    char format[GS_ARROW_FORMAT_BYTES];
};

static void release_child_schema(struct ArrowSchema *schema)
{
    struct exported_field *exported = schema->private_data;
    gs_batch_release(exported->batch);
    free(exported);
    schema->release = NULL;
}

static bool export_field(struct gs_batch *batch, uint32_t c, struct ArrowSchema *to)
{
    const struct gs_field *field = &batch->schema->fields[c];
    struct exported_field *exported = malloc(sizeof *exported);
    if (exported == NULL) return false;
    exported->batch = gs_batch_retain(batch);
    *to = (struct ArrowSchema){.format = gs_arrow_format(field, exported->format),
                               .name = field->name,
                               .metadata = metadata_of(field),
                               .flags = field->nullable ? ARROW_FLAG_NULLABLE : 0,
                               .release = release_child_schema,
                               .private_data = exported};
    return true;
}

static int export_schema(struct gs_batch *batch, struct ArrowSchema *to)
{
    size_t count = batch->schema->column_count;
    char *memory = calloc(1, count * (sizeof(struct ArrowSchema *) + sizeof *to) + 1);
    if (memory == NULL) return GS_ERROR;
    struct ArrowSchema **pointers = (struct ArrowSchema **)memory;
    struct ArrowSchema *children = (struct ArrowSchema *)(memory + count * sizeof *pointers);
    for (size_t c = 0; c < count; c++)
        pointers[c] = &children[c];
    *to = (struct ArrowSchema){.format = "+s",
                               .name = "",
                               .n_children = (int64_t)count,
                               .children = pointers,
                               .release = release_schema,
                               .private_data = memory};
    for (uint32_t c = 0; c < count; c++) {
        if (export_field(batch, c, &children[c])) continue;
        release_schema(to);
        return GS_ERROR;
    }
    return GS_OK;
}

struct exported_array {
    struct gs_batch *batch;
    const void *no_validity[1];
    struct ArrowArray **pointers;
    struct ArrowArray *children;
    const void *(*buffers)[3];
};

static void release_array(struct ArrowArray *array)
{
    struct exported_array *exported = array->private_data;
    for (int64_t c = 0; c < array->n_children; c++)
        if (array->children[c]->release != NULL) array->children[c]->release(array->children[c]);
    gs_batch_release(exported->batch);
    free(exported->pointers);
    free(exported->children);
    free(exported->buffers);
    free(exported);
    array->release = NULL;
}

/* A child may outlive its parent (the consumer moves it): it holds a reference of its own. */
static void release_child_array(struct ArrowArray *array)
{
    gs_batch_release(array->private_data);
    array->release = NULL;
}

static struct exported_array *exported_new(struct gs_batch *batch)
{
    size_t count = batch->schema->column_count;
    struct exported_array *exported = calloc(1, sizeof *exported);
    if (exported == NULL) return NULL;
    exported->pointers = calloc(count + 1, sizeof *exported->pointers);
    exported->children = calloc(count + 1, sizeof *exported->children);
    exported->buffers = calloc(count + 1, sizeof *exported->buffers);
    if (exported->pointers != NULL && exported->children != NULL && exported->buffers != NULL) {
        exported->batch = gs_batch_retain(batch);
        return exported;
    }
    free(exported->pointers);
    free(exported->children);
    free(exported->buffers);
    free(exported);
    return NULL;
}

static void export_column(struct exported_array *exported, uint32_t c)
{
    struct gs_batch *batch = exported->batch;
    const struct gs_column *column = &batch->columns[c];
    bool is_string = batch->schema->fields[c].type == GS_STRING;
    exported->buffers[c][0] = column->validity;
    exported->buffers[c][1] = is_string ? (const void *)column->offsets : column->values;
    exported->buffers[c][2] = column->values;
    exported->pointers[c] = &exported->children[c];
    exported->children[c] = (struct ArrowArray){.length = batch->row_count,
                                                .null_count = column->validity != NULL ? -1 : 0,
                                                .n_buffers = is_string ? 3 : 2,
                                                .buffers = exported->buffers[c],
                                                .release = release_child_array,
                                                .private_data = gs_batch_retain(batch)};
}

int gs_batch_export(struct gs_batch *batch, struct ArrowArray *array, struct ArrowSchema *schema,
                    struct gs_error *error)
{
    struct exported_array *exported = exported_new(batch);
    if (exported == NULL || export_schema(batch, schema) != GS_OK) {
        if (exported != NULL) {
            *array = (struct ArrowArray){.private_data = exported, .release = release_array};
            release_array(array);
        }
        return gs_fail(error, GS_ERROR, "no memory for an Arrow array");
    }
    for (uint32_t c = 0; c < batch->schema->column_count; c++)
        export_column(exported, c);
    *array = (struct ArrowArray){.length = batch->row_count,
                                 .n_buffers = 1,
                                 .n_children = batch->schema->column_count,
                                 .buffers = exported->no_validity,
                                 .children = exported->pointers,
                                 .release = release_array,
                                 .private_data = exported};
    return GS_OK;
}

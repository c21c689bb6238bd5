/* SPDX-License-Identifier: Apache-2.0 */
/* Making, sharing and giving away batches. A batch is counted by reference: a consumer that keeps
 * one takes a reference, and its producer then starts a new one. */
#ifndef GS_ARROW_BATCH_H
#define GS_ARROW_BATCH_H

#include "../base/memory.h"
#include "exchange.h"

/* A batch of no rows with room for `row_capacity`; NULL where there is no memory. */
struct gs_batch *gs_batch_new(const struct gs_schema *schema, uint32_t row_capacity);
struct gs_batch *gs_batch_retain(struct gs_batch *batch);
/* For who keeps a batch: another reference, or a copy where its rows take a small part of its
 * memory, and there is memory for one. */
struct gs_batch *gs_batch_keep(struct gs_batch *batch);
/* A copy of those of its rows that pass; NULL where there is no memory. */
typedef bool gs_row_test(const void *context, const struct gs_batch *batch, uint32_t row);
struct gs_batch *gs_batch_filtered(const struct gs_batch *batch, gs_row_test *passes,
                                   const void *context);
/* The rows of `parent` under another schema of the same types, with bounds of its own. */
struct gs_batch *gs_batch_view(struct gs_batch *parent, const struct gs_schema *schema);
/* gs_batch_import, but the batch keeps the pointer `schema`. */
int gs_batch_import_as(struct ArrowArray *array, struct ArrowSchema *arrow_schema,
                       const struct gs_schema *schema, struct gs_batch **batch,
                       struct gs_error *error);
/* Copies a row of another batch of the same types; there is room for it (gs_batch_reserve). */
void gs_batch_append(struct gs_batch *batch, const struct gs_batch *from, uint32_t row);
/* The lengths of a row's strings, in their order. */
void gs_batch_lengths(const struct gs_batch *batch, uint32_t row, uint32_t *string_lengths);
/* The same batch emptied where nobody else holds it, else a new one in its place; NULL without
 * memory: the caller has its batch as before, and others may be reading it. */
struct gs_batch *gs_batch_renew(struct gs_batch *batch);
/* Whether one more row, whose string columns have these lengths in their order, belongs into this
 * batch: there is a row left, and no string column would pass GS_BATCH_STRING_BYTES. */
bool gs_batch_takes(const struct gs_batch *batch, const uint32_t *string_lengths);
/* Memory for that row; false where there is none, or no row left. */
bool gs_batch_reserve(struct gs_batch *batch, const uint32_t *string_lengths);
/* Bytes that gs_batch_reserve would allocate for it. */
uint64_t gs_batch_growth(const struct gs_batch *batch, const uint32_t *string_lengths);
#define GS_BATCH_STRING_BYTES (1u << 20)
/* Memory for so many bytes of a string column that holds nothing yet; false where there is none, or
 * they are more than it may have. */
#define GS_COLUMN_STRINGS_MAX ((1u << 30) - 1)
bool gs_column_reserve(struct gs_column *column, uint64_t bytes);
/* Bytes of the values of a column that is no string. */
size_t gs_column_bytes(const struct gs_field *field, uint32_t rows);
/* So many rows, or as many as GS_BATCH_OPAQUE_BYTES have room for; at least one. */
uint32_t gs_batch_rows(const struct gs_schema *schema, uint32_t rows);
#define GS_BATCH_OPAQUE_BYTES (1u << 20)
#define GS_ARROW_FORMAT_BYTES 8
/* What the Arrow C data interface calls a field's type: `text`, or a constant. */
const char *gs_arrow_format(const struct gs_field *field, char text[GS_ARROW_FORMAT_BYTES]);

#endif

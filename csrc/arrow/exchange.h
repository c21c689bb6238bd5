/* SPDX-License-Identifier: Apache-2.0 */
/* What a host does with a batch: gives its rows away through the Arrow C data interface, makes one
 * of rows that it was given, lets it go. */
#ifndef GS_ARROW_EXCHANGE_H
#define GS_ARROW_EXCHANGE_H

#include "../base/error.h"
#include "c_data.h"
#include "gs_batch.h"

/* The batch is retained by the array. */
int gs_batch_export(struct gs_batch *batch, struct ArrowArray *array, struct ArrowSchema *schema,
                    struct gs_error *error);
/* A batch with a copy of an Arrow array's rows, which must be of this schema's types and names; no
 * bound is known. The array is released, whatever comes of it. The lengths of its buffers are not
 * part of the interface: the caller has had them checked (pyarrow's validate). All else is checked
 * here. The batch keeps a copy of `schema`. */
int gs_batch_import(struct ArrowArray *array, struct ArrowSchema *arrow_schema,
                    const struct gs_schema *schema, struct gs_batch **batch,
                    struct gs_error *error);
void gs_batch_release(struct gs_batch *batch);
/* Memory that a batch holds, the room for rows to come with it; a view: that its parent holds. */
size_t gs_batch_bytes(const struct gs_batch *batch);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A batch at the edge of a window. */
#ifndef GS_STREAM_SPLIT_H
#define GS_STREAM_SPLIT_H

#include "gs_batch.h"

/* Copies of a batch's rows up to this bound of a column, and of those behind it, each with all else
 * that the batch says; they outlive its query set. Both NULL: its rows are on one side, which the
 * second function tells. False: there is no memory for them. */
bool gs_batch_split(const struct gs_batch *batch, uint32_t column, int64_t until,
                    struct gs_batch **before, struct gs_batch **behind);
bool gs_batch_is_behind(const struct gs_batch *batch, uint32_t column, int64_t until);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping what a stream has promised: a bound for each column, and perhaps a joint one (OPERATORS
 * section 1). */
#ifndef GS_STREAM_PUNCTUATION_H
#define GS_STREAM_PUNCTUATION_H

#include "gs_batch.h"

/* Nothing is promised of so many columns; false where there is no memory. */
bool gs_punctuation_open(struct gs_punctuation *punctuation, uint32_t column_count);
void gs_punctuation_close(struct gs_punctuation *punctuation);
void gs_punctuation_copy(struct gs_punctuation *to, const struct gs_punctuation *from,
                         uint32_t column_count);
/* Component-wise maximum; true where something grew. */
bool gs_punctuation_raise(struct gs_punctuation *to, const struct gs_punctuation *from,
                          uint32_t column_count);

/* Whether no row of any of these values is to come; of GS_BOUND_NONE there is none. */
bool gs_bounds_have_passed(const gs_bound *bounds, const gs_bound *values, uint32_t count);

/* A value of a temporal column as bounds have it: of a decreasing one its negative. NULL is below
 * no bound. One that is beyond them all is said to be less than it is: what is held may be told by
 * it, and never promises too much. */
gs_bound gs_row_bound(const struct gs_batch *batch, uint32_t column, uint32_t row);
/* The same of a row that is held, and so before the end: what a promise takes of it. */
gs_bound gs_row_held_bound(const struct gs_batch *batch, uint32_t column, uint32_t row);
/* False where a value is beyond all bounds, so that none could ever pass it: an ullong of 2^63 and
 * more, and of a decreasing column -2^63. What keeps rows until one does has no use for it, as
 * generated code has none (gigastream/codegen/keys.py). */
bool gs_row_has_time(const struct gs_batch *batch, uint32_t column, uint32_t row);

/* Of two columns that differ. A bound that promises nothing makes it one that is not given. */
struct gs_joint_bound gs_joint_bound(uint32_t a, gs_bound bound_a, uint32_t b, gs_bound bound_b);
static inline bool gs_joint_has_columns(const struct gs_joint_bound *joint, uint32_t a, uint32_t b)
{
    return joint->is_given && joint->columns[0] == a && joint->columns[1] == b;
}
/* The greater one takes the place of the lesser; two of which neither is are never mixed. True
 * where `to` is replaced. */
bool gs_joint_raise(struct gs_joint_bound *to, const struct gs_joint_bound *from);

#endif

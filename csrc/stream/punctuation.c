/* SPDX-License-Identifier: Apache-2.0 */
#include "punctuation.h"

#include <stdlib.h>

#include "gs_bounds.h"

bool gs_punctuation_open(struct gs_punctuation *punctuation, uint32_t column_count)
{
    punctuation->joint = (struct gs_joint_bound){0};
    punctuation->bounds = malloc(((size_t)column_count + 1) * sizeof *punctuation->bounds);
    for (uint32_t c = 0; punctuation->bounds != NULL && c < column_count; c++)
        punctuation->bounds[c] = GS_BOUND_NONE;
    return punctuation->bounds != NULL;
}

void gs_punctuation_close(struct gs_punctuation *punctuation)
{
    free(punctuation->bounds);
}

void gs_punctuation_copy(struct gs_punctuation *to, const struct gs_punctuation *from,
                         uint32_t column_count)
{
    memcpy(to->bounds, from->bounds, column_count * sizeof *to->bounds);
    to->joint = from->joint;
}

bool gs_punctuation_raise(struct gs_punctuation *to, const struct gs_punctuation *from,
                          uint32_t column_count)
{
    bool grew = gs_joint_raise(&to->joint, &from->joint);
    for (uint32_t c = 0; c < column_count; c++)
        if (from->bounds[c] > to->bounds[c]) {
            to->bounds[c] = from->bounds[c];
            grew = true;
        }
    return grew;
}

bool gs_bounds_have_passed(const gs_bound *bounds, const gs_bound *values, uint32_t count)
{
    for (uint32_t at = 0; at < count; at++)
        if (values[at] != GS_BOUND_NONE && bounds[at] <= values[at] && bounds[at] != GS_BOUND_END)
            return false;
    return true;
}

/* Whatever the type of the column: an ullong may be greater than any bound. */
static __int128 value_at(const struct gs_batch *batch, uint32_t column, uint32_t row)
{
    const void *values = batch->columns[column].values;
    switch (batch->schema->fields[column].type) {
    case GS_USHORT:
        return ((const uint16_t *)values)[row];
    case GS_UINT:
    case GS_IP:
        return ((const uint32_t *)values)[row];
    case GS_INT:
        return ((const int32_t *)values)[row];
    case GS_ULLONG:
        return ((const uint64_t *)values)[row];
    default:
        return ((const int64_t *)values)[row];
    }
}

/* As bounds have it, if they could be as great. */
static __int128 time_at(const struct gs_batch *batch, uint32_t column, uint32_t row)
{
    __int128 value = value_at(batch, column, row);
    return batch->schema->fields[column].temporal < 0 ? -value : value;
}

bool gs_row_has_time(const struct gs_batch *batch, uint32_t column, uint32_t row)
{
    if (gs_column_is_null(&batch->columns[column], row)) return true;
    return value_at(batch, column, row) <= INT64_MAX && time_at(batch, column, row) <= GS_BOUND_END;
}

gs_bound gs_row_bound(const struct gs_batch *batch, uint32_t column, uint32_t row)
{
    if (gs_column_is_null(&batch->columns[column], row)) return GS_BOUND_END;
    __int128 time = time_at(batch, column, row);
    return time == GS_BOUND_END ? GS_BOUND_END : gs_bound_saturate(time);
}

gs_bound gs_row_held_bound(const struct gs_batch *batch, uint32_t column, uint32_t row)
{
    gs_bound bound = gs_row_bound(batch, column, row);
    return gs_column_is_null(&batch->columns[column], row) ? bound : gs_bound_of_held(bound);
}

struct gs_joint_bound gs_joint_bound(uint32_t a, gs_bound bound_a, uint32_t b, gs_bound bound_b)
{
    if (bound_a == GS_BOUND_NONE || bound_b == GS_BOUND_NONE) return (struct gs_joint_bound){0};
    if (a > b) return (struct gs_joint_bound){true, {b, a}, {bound_b, bound_a}};
    return (struct gs_joint_bound){true, {a, b}, {bound_a, bound_b}};
}

bool gs_joint_raise(struct gs_joint_bound *to, const struct gs_joint_bound *from)
{
    if (!from->is_given) return false;
    if (to->is_given) {
        if (!gs_joint_has_columns(to, from->columns[0], from->columns[1])) return false;
        if (from->bounds[0] < to->bounds[0] || from->bounds[1] < to->bounds[1]) return false;
        if (from->bounds[0] == to->bounds[0] && from->bounds[1] == to->bounds[1]) return false;
    }
    *to = *from;
    return true;
}

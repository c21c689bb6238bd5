/* SPDX-License-Identifier: Apache-2.0 */
#include "carry.h"

#include "../stream/punctuation.h"

/* The bounds of the output, were this one of the input's another. */
static void carry_with(gs_carry_function carry, struct gs_punctuation *input, uint32_t column,
                       gs_bound bound, gs_bound *output)
{
    gs_bound *at = &input->bounds[column], kept = *at;
    *at = bound;
    carry(input, output);
    *at = kept;
}

static gs_bound greatest(gs_bound a, gs_bound b)
{
    return a > b ? a : b;
}

/* The first expression that one column's end brings to its end and the other's does not; `count`
 * where there is none. */
static uint32_t only_of(const gs_bound *one, const gs_bound *other, uint32_t count)
{
    uint32_t at = 0;
    while (at < count && (one[at] != GS_BOUND_END || other[at] == GS_BOUND_END))
        at++;
    return at;
}

/* The joint bound where both columns go through. */
static struct gs_joint_bound joint_through(gs_carry_function carry, struct gs_punctuation *input,
                                           uint32_t count, gs_bound *first, gs_bound *second)
{
    const struct gs_joint_bound *joint = &input->joint;
    carry_with(carry, input, joint->columns[0], GS_BOUND_END, first);
    carry_with(carry, input, joint->columns[1], GS_BOUND_END, second);
    uint32_t a = only_of(first, second, count), b = only_of(second, first, count);
    carry_with(carry, input, joint->columns[0], joint->bounds[0], first);
    carry_with(carry, input, joint->columns[1], joint->bounds[1], second);
    if (a == count || b == count) return (struct gs_joint_bound){0};
    return gs_joint_bound(a, first[a], b, second[b]);
}

/* A row that a joint bound lets come is at or above its first bound, or its second: what holds in
 * both cases holds of all rows. */
static void carry_either(gs_carry_function carry, struct gs_punctuation *input, uint32_t count,
                         gs_bound *output, gs_bound *scratch)
{
    const struct gs_joint_bound *joint = &input->joint;
    gs_bound known[2] = {input->bounds[joint->columns[0]], input->bounds[joint->columns[1]]};
    carry_with(carry, input, joint->columns[0], greatest(joint->bounds[0], known[0]), output);
    carry_with(carry, input, joint->columns[1], greatest(joint->bounds[1], known[1]), scratch);
    for (uint32_t c = 0; c < count; c++)
        if (scratch[c] < output[c]) output[c] = scratch[c];
}

void gs_carry(gs_carry_function carry, struct gs_punctuation *input, uint32_t count,
              struct gs_punctuation *output, gs_bound *scratch)
{
    output->joint = (struct gs_joint_bound){0};
    if (!input->joint.is_given) {
        carry(input, output->bounds);
        return;
    }
    output->joint = joint_through(carry, input, count, output->bounds, scratch);
    carry_either(carry, input, count, output->bounds, scratch);
}

gs_bound gs_carry_back(gs_carry_function carry, struct gs_punctuation *input, uint32_t column,
                       uint32_t at, gs_bound value, gs_bound *scratch)
{
    gs_bound low = input->bounds[column], high = GS_BOUND_END;
    while (low < high) {
        gs_bound middle = (gs_bound)(((__int128)low + high) >> 1);
        carry_with(carry, input, column, middle, scratch);
        if (scratch[at] >= value)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

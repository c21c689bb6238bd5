/* SPDX-License-Identifier: Apache-2.0 */
#include "least.h"

static bool has_ended(const struct gs_operator_state *op, uint32_t port)
{
    const struct gs_schema *schema = op->node->schema;
    for (uint32_t c = 0; c < schema->column_count; c++)
        if (schema->fields[c].temporal != 0 && op->inputs[port].bounds[c] != GS_BOUND_END)
            return false;
    return true;
}

/* True of every row where it is true of every input's. An input that has ended promises all. */
static struct gs_joint_bound least_joint(const struct gs_operator_state *op)
{
    struct gs_joint_bound least = {0};
    for (uint32_t port = 0; port < op->port_count; port++) {
        const struct gs_joint_bound *joint = &op->inputs[port].joint;
        if (has_ended(op, port)) continue;
        if (!least.is_given) least = *joint;
        if (!gs_joint_has_columns(joint, least.columns[0], least.columns[1]))
            return (struct gs_joint_bound){0};
        for (uint32_t i = 0; i < 2; i++)
            if (joint->bounds[i] < least.bounds[i]) least.bounds[i] = joint->bounds[i];
    }
    return least;
}

void gs_least_of_inputs(struct gs_operator_state *op)
{
    gs_bound *next = op->next.bounds;
    for (uint32_t c = 0; c < op->node->schema->column_count; c++) {
        next[c] = op->inputs[0].bounds[c];
        for (uint32_t port = 1; port < op->port_count; port++)
            if (op->inputs[port].bounds[c] < next[c]) next[c] = op->inputs[port].bounds[c];
    }
    op->next.joint = least_joint(op);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "../stream/split.h"

#include "../arrow/batch.h"
#include "../base/shared_object.h"
#include "../stream/punctuation.h"

struct edge {
    uint32_t column;
    gs_bound until;
    bool is_behind;
};

static bool is_on_side(const void *context, const struct gs_batch *batch, uint32_t row)
{
    const struct edge *edge = context;
    return (gs_row_bound(batch, edge->column, row) > edge->until) == edge->is_behind;
}

static uint32_t count_behind(const struct gs_batch *batch, struct edge edge)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < batch->row_count; row++)
        count += is_on_side(&edge, batch, row);
    return count;
}

/* It may outlive its set, as the whole may. */
static struct gs_batch *side(const struct gs_batch *batch, struct edge edge)
{
    struct gs_batch *made = gs_batch_filtered(batch, is_on_side, &edge);
    if (made != NULL && batch->object != NULL)
        made->object = gs_shared_object_retain(batch->object);
    return made;
}

bool gs_batch_split(const struct gs_batch *batch, uint32_t column, int64_t until,
                    struct gs_batch **before, struct gs_batch **behind)
{
    uint32_t count = count_behind(batch, (struct edge){column, until, true});
    *before = *behind = NULL;
    if (count == 0 || count == batch->row_count) return true;
    *before = side(batch, (struct edge){column, until, false});
    *behind = side(batch, (struct edge){column, until, true});
    if (*before != NULL && *behind != NULL) return true;
    gs_batch_release(*before);
    gs_batch_release(*behind);
    return false;
}

bool gs_batch_is_behind(const struct gs_batch *batch, uint32_t column, int64_t until)
{
    return batch->row_count > 0 && count_behind(batch, (struct edge){column, until, true}) > 0;
}

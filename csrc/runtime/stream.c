/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include "../hfta/operator.h"

void gs_stream_push(const struct gs_stream *stream, struct gs_batch *batch)
{
    for (uint32_t i = 0; i < stream->consumer_count; i++) {
        struct gs_operator_state *op = stream->consumers[i].op;
        uint32_t port = stream->consumers[i].port;
        if (batch->row_count > 0) op->methods->on_batch(op, port, batch);
        op->ended_ports += batch->is_end;
        bool grew =
            gs_punctuation_raise(&op->inputs[port], &batch->punctuation, op->port_columns[port]);
        if (grew || batch->is_heartbeat || batch->is_end)
            op->methods->on_punctuation(op, port, batch);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

void gs_stream_push(const struct gs_stream *stream, struct gs_batch *batch)
{
    for (uint32_t i = 0; i < stream->consumer_count; i++) {
        const struct gs_consumer *consumer = &stream->consumers[i];
        consumer->take(consumer->op, consumer->port, batch);
    }
}

void gs_stream_ask(const struct gs_stream *stream, uint32_t column, gs_bound value)
{
    if (stream->ask != NULL) stream->ask(stream->maker, column, value);
}

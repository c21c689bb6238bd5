/* SPDX-License-Identifier: Apache-2.0 */
/* A stream carries batches from the node that makes them to the operators that read it, and what
 * these ask for back to the node. */
#ifndef GS_STREAM_H
#define GS_STREAM_H

#include "gs_batch.h"

struct gs_operator_state; /* its reader's own */

struct gs_consumer {
    struct gs_operator_state *op;
    uint32_t port;
    void (*take)(struct gs_operator_state *op, uint32_t port, struct gs_batch *batch);
};

struct gs_stream {
    struct gs_consumer *consumers;
    uint32_t consumer_count;
    void *maker;
    /* NULL: nobody is there to be asked. */
    void (*ask)(void *maker, uint32_t column, gs_bound value);
};

void gs_stream_push(const struct gs_stream *stream, struct gs_batch *batch);
/* A consumer wants the bound of a column to be at least this value. */
void gs_stream_ask(const struct gs_stream *stream, uint32_t column, gs_bound value);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a person asks of a running engine: the counters of its sources. */
#include "engine_state.h"

uint32_t gs_engine_source_count(const struct gs_engine *engine)
{
    return engine->source_count;
}

int64_t gs_engine_source_promise(const struct gs_engine *engine, uint32_t source)
{
    return engine->sources[source]->time.promise_ns;
}

void gs_engine_source_statistics(const struct gs_engine *engine, uint32_t source,
                                 struct gs_source_statistics *statistics)
{
    gs_source_statistics(engine->sources[source], statistics);
    statistics->lag_ns = gs_source_lag(engine->sources[source], gs_engine_now(engine));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Time on demand (Bai et al., ICDE 2007, sections 3 to 5; OPERATORS section 6). Where nothing
 * comes, operators that hold rows ask for the time that would let one go. The request reaches the
 * sources through the inverse of what lies between; a link of which all has been read answers as
 * soon as what it knows is enough, and not sooner: less would wake operators for nothing. Files and
 * pipes have nothing to add to what they promise. */
#include <string.h>

#include "attached_views.h"
#include "engine_state.h"

void gs_engine_want(struct gs_engine *engine, const char *interface, int64_t timestamp_ns)
{
    for (uint32_t i = 0; i < engine->interface_count; i++)
        if (strcmp(engine->interfaces[i].name, interface) == 0)
            engine->interfaces[i].wanted_ns = timestamp_ns;
}

void gs_engine_ask(struct gs_engine *engine, uint32_t interface, int64_t timestamp_ns)
{
    for (uint32_t s = 0; s < engine->source_count; s++) {
        struct gs_source *source = engine->sources[s];
        if (source->interface == interface && !source->is_ended)
            gs_wanted_note(&source->wanted, timestamp_ns, source->time.promise_ns);
    }
}

/* Nobody is asked where none has a clock; who is latent says it in any case. */
static bool serves(const struct gs_engine *engine)
{
    for (uint32_t s = 0; s < engine->running_count; s++) {
        const struct gs_source *source = engine->running[s];
        bool is_latent = source->timestamps == GS_TIMESTAMPS_LATENT;
        if (is_latent || (engine->settings.is_on_demand && gs_source_has_clock(source)))
            return true;
    }
    return false;
}

/* What holds packets asks for the time that lets the next one go on. */
static void ask_for_held(struct gs_engine *engine, const struct gs_attached_set *set)
{
    for (uint32_t i = 0; i < engine->interface_count; i++) {
        int64_t due_ns = gs_attached_views_due(set, i);
        if (due_ns != INT64_MAX) gs_engine_ask(engine, i, due_ns);
    }
}

static void ask_set(struct gs_engine *engine, struct gs_attached_set *set)
{
    struct gs_graph *graph = &set->graph;
    gs_attached_begin_turn(set);
    gs_graph_ask_for_time(graph);
    ask_for_held(engine, set);
    for (uint32_t i = 0; i < engine->interface_count; i++)
        if (engine->interfaces[i].wanted_ns != GS_BOUND_NONE)
            gs_graph_want(graph, i, engine->interfaces[i].wanted_ns);
    gs_attached_end_turn(set);
}

/* What is wanted still, and what is wanted no more, is found by asking all who may want. */
static void ask_all(struct gs_engine *engine)
{
    for (uint32_t s = 0; s < engine->running_count; s++)
        engine->running[s]->wanted_before = gs_wanted_forget(&engine->running[s]->wanted);
    for (uint32_t s = 0; s < engine->set_count; s++)
        if (gs_attached_is_running(engine->sets[s])) ask_set(engine, engine->sets[s]);
    for (uint32_t s = 0; s < engine->running_count; s++)
        gs_wanted_compare(&engine->running[s]->wanted, engine->running[s]->wanted_before);
}

/* True where it has promised what was wanted of it. */
static bool answer(const struct gs_engine *engine, struct gs_source *source,
                   struct gs_clock_reading reading)
{
    if (!engine->settings.is_on_demand || source->is_ended ||
        source->wanted.value <= source->time.promise_ns)
        return false;
    int64_t promise_ns = gs_source_answer(source, reading);
    if (promise_ns < source->wanted.value) return false;
    gs_source_time_raise_by_clock(&source->time, promise_ns);
    source->statistics.answered++;
    return true;
}

/* LFTAs answer of what their sources have promised, now or before: it may be that no consumer was
 * to be told of that growth. */
static bool answer_of_interface(struct gs_engine *engine, uint32_t index)
{
    struct gs_interface *interface = &engine->interfaces[index];
    bool has_answered = false;
    gs_engine_advance_due(engine, index);
    for (uint32_t s = 0; s < engine->set_count; s++)
        if (gs_attached_is_running(engine->sets[s]) && !interface->is_ended)
            has_answered |= gs_graph_answer(&engine->sets[s]->graph, index, interface->high_ns,
                                            interface->promise_ns);
    if (interface->wanted_ns <= interface->promise_ns) interface->wanted_ns = GS_BOUND_NONE;
    return has_answered;
}

bool gs_engine_serve_requests(struct gs_engine *engine)
{
    bool was_of_use = false;
    if (!serves(engine)) return false;
    /* read before any ring is looked at, as for the timer */
    struct gs_clock_reading reading = gs_engine_now(engine);
    ask_all(engine);
    for (uint32_t s = 0; s < engine->running_count; s++)
        was_of_use |= answer(engine, engine->running[s], reading);
    for (uint32_t i = 0; i < engine->interface_count; i++)
        was_of_use |= answer_of_interface(engine, i);
    return was_of_use;
}

int64_t gs_engine_answers_at(const struct gs_engine *engine)
{
    int64_t least_ns = INT64_MAX;
    for (uint32_t s = 0; s < engine->running_count && engine->settings.is_on_demand; s++) {
        int64_t at_ns = gs_source_answers_at(engine->running[s]);
        if (at_ns < least_ns) least_ns = at_ns;
    }
    return least_ns;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages of a packet's way cost, where somebody asks (--stats stages). What every burst
 * passes is measured of one burst in eight; what happens now and then, as a flush, always. A clock
 * that is read twice a burst costs less than a hundredth of it. */
#ifndef GS_BASE_STAGES_H
#define GS_BASE_STAGES_H

#include "clocks.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define GS_STAGES_ONE_IN 8

enum gs_stage {
    GS_STAGE_READ,   /* records are found in bytes that are here, and their time */
    GS_STAGE_DECODE, /* their headers */
    GS_STAGE_UNPACK, /* fields to columns, and the prefilter */
    GS_STAGE_LFTA,   /* predicates, groups, rows */
    GS_STAGE_ALWAYS, /* from here on what happens now and then, and is always measured */
    GS_STAGE_OPEN = GS_STAGE_ALWAYS, /* sources are opened, and bytes read ahead */
    GS_STAGE_FLUSH,                  /* groups of windows that are over leave the tables */
    GS_STAGE_HIGH,                   /* operators above the border */
    GS_STAGE_COUNT
};

struct gs_stages {
    bool is_asked, is_sampled;
    uint64_t bursts, packets, packets_sampled;
    uint64_t since;  /* the stage that runs began then */
    uint64_t nested; /* ticks of what is measured within others, and counted by itself */
    uint64_t nested_since;
    uint64_t ticks[GS_STAGE_COUNT];
    uint64_t began; /* ticks and nanoseconds of one moment: how long a tick is */
    int64_t began_ns;
};

struct gs_stage_span {
    uint64_t began, nested;
};

static inline uint64_t gs_stage_ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return (uint64_t)gs_monotonic_ns();
#endif
}

static inline void gs_stages_ask(struct gs_stages *stages)
{
    *stages = (struct gs_stages){.is_asked = true};
    stages->began_ns = gs_monotonic_ns();
    stages->began = gs_stage_ticks();
}

/* A burst begins; it counts when it ends. */
static inline void gs_stages_begin(struct gs_stages *stages)
{
    stages->is_sampled = stages->is_asked && stages->bursts % GS_STAGES_ONE_IN == 0;
    if (!stages->is_sampled) return;
    stages->nested_since = stages->nested;
    stages->since = gs_stage_ticks();
}

/* What has passed since the mark before was of this stage. NULL: nobody asks. */
static inline void gs_stages_mark(struct gs_stages *stages, enum gs_stage stage)
{
    if (stages == NULL || !stages->is_sampled) return;
    uint64_t now = gs_stage_ticks();
    stages->ticks[stage] += now - stages->since - (stages->nested - stages->nested_since);
    stages->nested_since = stages->nested;
    stages->since = now;
}

/* There was no burst: another way to its packets begins anew. */
static inline void gs_stages_give_up(struct gs_stages *stages)
{
    stages->is_sampled = false;
}

/* The burst was of so many packets. */
static inline void gs_stages_end(struct gs_stages *stages, uint64_t packets)
{
    if (!stages->is_asked) return;
    stages->bursts++;
    stages->packets += packets;
    if (stages->is_sampled) stages->packets_sampled += packets;
    stages->is_sampled = false;
}

/* Around what is always measured, within another stage or not. */
static inline struct gs_stage_span gs_stages_enter(const struct gs_stages *stages)
{
    if (stages == NULL || !stages->is_asked) return (struct gs_stage_span){0, 0};
    return (struct gs_stage_span){gs_stage_ticks(), stages->nested};
}

static inline void gs_stages_leave(struct gs_stages *stages, enum gs_stage stage,
                                   struct gs_stage_span span)
{
    if (stages == NULL || !stages->is_asked) return;
    uint64_t passed = gs_stage_ticks() - span.began;
    stages->ticks[stage] += passed - (stages->nested - span.nested);
    stages->nested = span.nested + passed;
}

/* What they have cost until now in nanoseconds, by stage: of some bursts as if of all. */
static inline void gs_stages_read(const struct gs_stages *stages, uint64_t ns[GS_STAGE_COUNT])
{
    uint64_t passed = gs_stage_ticks() - stages->began, sampled = stages->packets_sampled;
    double passed_ns = (double)(gs_monotonic_ns() - stages->began_ns);
    double tick_ns = passed == 0 ? 0 : passed_ns / (double)passed;
    double of_all = sampled == 0 ? 0 : (double)stages->packets / (double)sampled;
    for (int stage = 0; stage < GS_STAGE_COUNT; stage++) {
        double ticks = (double)stages->ticks[stage] * (stage < GS_STAGE_ALWAYS ? of_all : 1);
        ns[stage] = (uint64_t)(ticks * tick_ns);
    }
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdatomic.h>
#include <stdlib.h>

#define TABLES_PART 4 /* tables that grow have at most this part of the limit */

struct gs_memory {
    uint64_t limit_bytes;
    _Atomic uint64_t held_bytes, peak_bytes;
};

struct gs_memory *gs_memory_new(uint64_t limit_bytes)
{
    struct gs_memory *memory = calloc(1, sizeof *memory);
    if (memory != NULL) memory->limit_bytes = limit_bytes;
    return memory;
}

uint64_t gs_memory_limit(const struct gs_memory *memory)
{
    return memory->limit_bytes;
}

uint64_t gs_memory_held(const struct gs_memory *memory)
{
    return atomic_load_explicit(&memory->held_bytes, memory_order_relaxed);
}

uint64_t gs_memory_peak(const struct gs_memory *memory)
{
    return atomic_load_explicit(&memory->peak_bytes, memory_order_relaxed);
}

static void raise_peak(struct gs_memory *memory, uint64_t before, uint64_t bytes)
{
    uint64_t peak = gs_memory_peak(memory);
    if (before == 0) atomic_store_explicit(&memory->peak_bytes, bytes, memory_order_relaxed);
    while (before + bytes > peak)
        if (atomic_compare_exchange_weak(&memory->peak_bytes, &peak, before + bytes)) return;
}

static bool take(struct gs_memory *memory, uint64_t bytes, uint64_t limit_bytes)
{
    uint64_t held = gs_memory_held(memory);
    do {
        if (bytes > limit_bytes || held > limit_bytes - bytes) return false;
    } while (!atomic_compare_exchange_weak(&memory->held_bytes, &held, held + bytes));
    raise_peak(memory, held, bytes);
    return true;
}

static bool hold(struct gs_holder *holder, uint64_t bytes, uint64_t limit_bytes)
{
    if (holder->memory != NULL && !take(holder->memory, bytes, limit_bytes)) return false;
    holder->held_bytes += bytes;
    if (holder->held_bytes > holder->peak_bytes) holder->peak_bytes = holder->held_bytes;
    return true;
}

bool gs_hold(struct gs_holder *holder, uint64_t bytes)
{
    return hold(holder, bytes, holder->memory != NULL ? holder->memory->limit_bytes : 0);
}

bool gs_hold_for_table(struct gs_holder *holder, uint64_t bytes)
{
    uint64_t limit = holder->memory != NULL ? holder->memory->limit_bytes : 0;
    return hold(holder, bytes, limit / TABLES_PART);
}

void gs_hold_anyway(struct gs_holder *holder, uint64_t bytes)
{
    hold(holder, bytes, UINT64_MAX);
}

void gs_let_go(struct gs_holder *holder, uint64_t bytes)
{
    holder->held_bytes -= bytes;
    if (holder->memory != NULL) atomic_fetch_sub(&holder->memory->held_bytes, bytes);
}

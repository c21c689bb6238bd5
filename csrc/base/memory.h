/* SPDX-License-Identifier: Apache-2.0 */
/* The memory budget of a process, in bytes. An account is shared by all engines of a session, which
 * may run in several threads; each table, operator and queue has a holder, which says how much of
 * the account is its own. Bytes are asked for before they are allocated, by whole tables, chunks
 * and batches: never for a packet. */
#ifndef GS_MEMORY_H
#define GS_MEMORY_H

#include "gs_types.h"

struct gs_memory;

/* NULL where there is no memory for it. At most a quarter of the limit is given to the tables of
 * the low level as they grow. */
struct gs_memory *gs_memory_new(uint64_t limit_bytes);
void gs_memory_free(struct gs_memory *memory);
uint64_t gs_memory_limit(const struct gs_memory *memory);
uint64_t gs_memory_held(const struct gs_memory *memory);
/* The most that was held since it was last empty. */
uint64_t gs_memory_peak(const struct gs_memory *memory);

/* What one owner has of an account; without an account (NULL) it is only counted. */
struct gs_holder {
    struct gs_memory *memory;
    uint64_t held_bytes, peak_bytes;
};

/* Counts the bytes, unless they would be more than the account has left. */
bool gs_hold(struct gs_holder *holder, uint64_t bytes);
/* The same where the tables of the low level would not have more than their part. */
bool gs_hold_for_table(struct gs_holder *holder, uint64_t bytes);
/* What cannot be refused. */
void gs_hold_anyway(struct gs_holder *holder, uint64_t bytes);
void gs_let_go(struct gs_holder *holder, uint64_t bytes);

#endif

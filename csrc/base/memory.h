/* SPDX-License-Identifier: Apache-2.0 */
/* What takes of an account of memory: each table, operator and queue has a holder, which says how
 * much of the account is its own. Bytes are asked for before they are allocated, by whole tables,
 * chunks and batches: never for a packet. */
#ifndef GS_BASE_MEMORY_H
#define GS_BASE_MEMORY_H

#include "account.h"

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

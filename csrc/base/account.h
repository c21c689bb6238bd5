/* SPDX-License-Identifier: Apache-2.0 */
/* The memory budget of a process, in bytes: an account that all query sets of a session share,
 * whose engines may run in several threads. */
#ifndef GS_BASE_ACCOUNT_H
#define GS_BASE_ACCOUNT_H

#include "gs_types.h"

struct gs_memory;

/* NULL where there is no memory for it. At most a quarter of the limit is given to the tables of
 * the low level as they grow. Whatever takes of it lives no longer. */
struct gs_memory *gs_memory_new(uint64_t limit_bytes);
uint64_t gs_memory_limit(const struct gs_memory *memory);
uint64_t gs_memory_held(const struct gs_memory *memory);
/* The most that was held since it was last empty. */
uint64_t gs_memory_peak(const struct gs_memory *memory);

#endif

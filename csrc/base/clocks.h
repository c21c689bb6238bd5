/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GS_BASE_CLOCKS_H
#define GS_BASE_CLOCKS_H

#include "gs_types.h"

/* Nanoseconds of the clock that nobody sets. */
int64_t gs_monotonic_ns(void);
/* Nanoseconds since the epoch, as the host has it. */
int64_t gs_wall_ns(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A window of a stream is known by its values, one a temporal variable: how they compare, and when
 * bounds have passed it. */
#ifndef GS_STREAM_WINDOW_H
#define GS_STREAM_WINDOW_H

#include "gs_types.h"

int gs_window_compare(const gs_bound *a, const gs_bound *b, uint32_t count);
/* Any temporal column of the window is below its bound. */
bool gs_window_passed(const gs_bound *window, const gs_bound *bounds, uint32_t count);

#endif

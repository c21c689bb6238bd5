/* SPDX-License-Identifier: Apache-2.0 */
#include "window.h"

int gs_window_compare(const gs_bound *a, const gs_bound *b, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
    return 0;
}

bool gs_window_passed(const gs_bound *window, const gs_bound *bounds, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (window[k] < bounds[k]) return true;
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Windows under two clocks, as many as are asked for: `windows_driver COUNT ORDER BY` makes COUNT
 * of them, whose clocks run the same way (0), against each other (1), or as they like (2); then the
 * bound of the first clock (0), or a joint one (1), passes them one by one. Prints how many left,
 * how often one left out of its order or with a wrong bound behind it, and the comparisons that
 * were made. */
#include <stdio.h>
#include <stdlib.h>

#include "hfta/windows.h"
#include "stream/window.h"

static const uint64_t key[GS_HASH_KEY_WORDS] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};

struct made {
    struct gs_window window;
};

static int64_t second_clock(int64_t first, int64_t count, int order)
{
    if (order == 0) return first / 10;
    return order == 1 ? count - first : first * 7919 % count;
}

/* The least value of each clock among the windows, by a scan. */
static bool bounds_are_right(const struct gs_windows *windows, int64_t count, int order, int64_t at)
{
    gs_bound found[2] = {GS_BOUND_END, GS_BOUND_END}, wanted[2] = {GS_BOUND_END, GS_BOUND_END};
    gs_windows_lower(windows, found);
    for (int64_t first = at + 1; first < count; first++) {
        int64_t second = second_clock(first, count, order);
        if (first < wanted[0]) wanted[0] = first;
        if (second < wanted[1]) wanted[1] = second;
    }
    return found[0] == wanted[0] && found[1] == wanted[1];
}

int main(int argc, char **argv)
{
    if (argc < 4) return EXIT_FAILURE;
    int64_t count = atoll(argv[1]), left = 0, wrong = 0;
    int order = atoi(argv[2]), is_joint = atoi(argv[3]);
    struct gs_holder holder = {0};
    struct gs_windows windows = {0};
    if (!gs_windows_open(&windows, 2, key, &holder)) return EXIT_FAILURE;
    for (int64_t first = count - 1; first >= 0; first--) {
        gs_bound values[2] = {first, second_clock(first, count, order)};
        gs_hold_anyway(&holder, gs_windows_bytes(&windows, sizeof(struct made)));
        if (gs_windows_add(&windows, values, sizeof(struct made)) == NULL) return EXIT_FAILURE;
        if (gs_windows_find(&windows, values) == NULL) return EXIT_FAILURE;
    }
    for (int64_t at = 0; at < count; at++) {
        gs_bound bounds[2] = {is_joint ? GS_BOUND_NONE : at + 1, GS_BOUND_NONE};
        struct gs_punctuation promised = {.bounds = bounds};
        if (is_joint) promised.joint = gs_joint_bound(0, at + 1, 1, count + 1);
        struct gs_window *window;
        gs_windows_pass(&windows, &promised);
        while ((window = gs_windows_due(&windows)) != NULL) {
            wrong += window->values[0] != at;
            gs_windows_remove(&windows, window, sizeof(struct made));
            left++;
        }
        if (at % 101 == 0) wrong += !bounds_are_right(&windows, count, order, at);
    }
    gs_windows_close(&windows);
    printf("%lld %lld %llu %llu\n", (long long)left, (long long)wrong,
           (unsigned long long)windows.comparisons, (unsigned long long)holder.held_bytes);
    return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that slide, as an operator meets them: `sliding_driver RANGE SLIDE` reads lines
 *   row VALUE CLOCK   a row of that value, of windows under a second clock (0: under one alone)
 *   bound VALUE       no later row is below it
 *   end
 * and prints `ids VALUE FIRST COUNT` for a row that is taken, `late VALUE` for one below the bound,
 * `window ID CLOCK ROWS SUM` for a window that leaves, `promise ID` behind each bound, and at the
 * end `work COMPARISONS HELD`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gs_sliding.h"
#include "hfta/windows.h"

static const uint64_t key[GS_HASH_KEY_WORDS] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};

struct counted {
    struct gs_window window; /* first */
    uint64_t rows;
    int64_t sum;
};

static struct gs_window *admit(void *owner, const gs_bound *values)
{
    struct gs_windows *windows = owner;
    gs_hold_anyway(windows->holder, gs_windows_bytes(windows, sizeof(struct counted)));
    return gs_windows_add(windows, values, sizeof(struct counted));
}

/* The ids are the second value, so that the first may be another clock. */
static void row(struct gs_windows *windows, struct gs_sliding sliding, int64_t value, int64_t clock)
{
    struct gs_window_ids ids = gs_sliding_ids(sliding, value);
    gs_bound values[2] = {clock, ids.first};
    if (gs_windows_have_passed(windows, values)) {
        printf("late %" PRId64 "\n", value);
        return;
    }
    printf("ids %" PRId64 " %" PRId64 " %" PRIu64 "\n", value, ids.first, ids.count);
    for (uint64_t i = 0; i < ids.count; i++, values[1]++) {
        struct counted *window = (struct counted *)gs_windows_meet(windows, values, admit, windows);
        if (window == NULL || window->window.values[1] != values[1]) abort();
        window->rows++;
        window->sum += value % 1000;
    }
}

static void leave(struct gs_windows *windows)
{
    struct gs_window *window;
    while ((window = gs_windows_due(windows)) != NULL) {
        const struct counted *due = (const struct counted *)window;
        printf("window %" PRId64 " %" PRId64 " %" PRIu64 " %" PRId64 "\n", window->values[1],
               window->values[0], due->rows, due->sum);
        gs_windows_remove(windows, window, sizeof *due);
    }
}

static void bound(struct gs_windows *windows, struct gs_sliding sliding, int64_t value)
{
    gs_bound bounds[2] = {GS_BOUND_NONE, gs_bound_floor_div(value, sliding.slide)}, promised[2];
    struct gs_punctuation given = {.bounds = bounds}, promise = {.bounds = promised};
    gs_windows_pass(windows, &given);
    gs_windows_promise(windows, &promise);
    if (gs_windows_due(windows) != NULL && promised[1] >= bounds[1]) abort();
    leave(windows);
    gs_windows_promise(windows, &promise);
    printf("promise %" PRId64 "\n", promised[1]);
}

int main(int argc, char **argv)
{
    if (argc < 3) return EXIT_FAILURE;
    struct gs_sliding sliding = {atoll(argv[1]), atoll(argv[2])};
    struct gs_holder holder = {0};
    struct gs_windows windows = {0};
    int64_t value, clock;
    char word[8];
    if (!gs_windows_open(&windows, 2, key, &holder)) return EXIT_FAILURE;
    while (scanf("%7s", word) == 1) {
        if (word[0] == 'r' && scanf("%" SCNd64 " %" SCNd64, &value, &clock) == 2)
            row(&windows, sliding, value, clock);
        else if (word[0] == 'b' && scanf("%" SCNd64, &value) == 1)
            bound(&windows, sliding, value);
        else if (word[0] == 'e')
            gs_windows_end(&windows);
        else
            return EXIT_FAILURE;
    }
    leave(&windows);
    gs_windows_close(&windows);
    printf("work %" PRIu64 " %" PRIu64 "\n", windows.comparisons, holder.held_bytes);
    return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up a line of numbers as generated code does: `f` and floats, or `s` (`u`) and signed
 * (unsigned) numbers in slots that `|` ends. The answer is sum, average and variance of floats,
 * variance and the number of slots of whole numbers; `none` for what is not finite. */
#include "gs_aggregates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static char line[1 << 20];

static void print(bool has_value, double x, char end)
{
    if (has_value) printf("%a%c", x, end);
    if (!has_value) printf("none%c", end);
}

static void floats(void)
{
    struct gs_float_sum sum = {{0}};
    struct gs_float_moments moments = {0};
    for (char *word = strtok(line + 1, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        gs_float_sum_add(&sum, strtod(word, NULL));
        gs_float_moments_add(&moments, strtod(word, NULL));
    }
    double total, average, variance = 0;
    bool has_total = gs_float_sum_quotient(&sum, 1, &total);
    bool has_average = gs_float_sum_quotient(&sum, moments.count, &average);
    bool has_variance = moments.count > 1 && gs_float_moments_variance(&moments, &variance);
    print(has_total, total, ' ');
    print(has_average, average, ' ');
    print(has_variance, variance, '\n');
}

static __int128 read_whole(const char *word)
{
    return line[0] == 'u' ? (__int128)strtoull(word, NULL, 10) : strtoll(word, NULL, 10);
}

static __int128 origin_of(const struct gs_shifted_moments *slot)
{
    return line[0] == 'u' ? (__int128)slot->origin : (__int128)(int64_t)slot->origin;
}

static void whole_numbers(void)
{
    struct gs_whole_moments merged = {0}, plain = {0};
    struct gs_shifted_moments slot = {0};
    unsigned slots = 0;
    for (char *word = strtok(line + 1, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        bool ends = *word == '|';
        __int128 x = ends ? 0 : read_whole(word);
        if (!ends) gs_whole_moments_add(&plain, x);
        if (!ends && slot.count > 0 && !gs_shifted_moments_overflow(&slot, x - origin_of(&slot))) {
            gs_shifted_moments_add(&slot, (int64_t)(x - origin_of(&slot)));
            continue;
        }
        slots += slot.count > 0;
        if (slot.count > 0) gs_whole_moments_merge(&merged, slot, origin_of(&slot));
        slot = ends ? (struct gs_shifted_moments){0} : gs_shifted_moments_of((uint64_t)x);
    }
    slots += slot.count > 0;
    if (slot.count > 0) gs_whole_moments_merge(&merged, slot, origin_of(&slot));
    double x, y;
    bool has_value = gs_whole_moments_variance(&merged, &x);
    bool agrees = gs_whole_moments_variance(&plain, &y) == has_value && (!has_value || x == y);
    print(agrees && merged.count > 1 && has_value, x, ' ');
    printf("%u\n", slots);
}

int main(void)
{
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (line[0] == 'f') floats();
        if (line[0] != 'f') whole_numbers();
        fflush(stdout);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Two streams in order of time, joined by hand on a key and within a band (bench/joins.py):
 *
 *     joins FILE BAND BATCH
 *
 * Rows are held in rings, in chains by their key that are never taken apart: they end at the first
 * row that is too old. That needs input in order, which the engine does not. Rows of a burst are
 * prefetched. The time is the processor's, from the first row until the last one is out. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BURST = 32, OUTPUT_ROWS = 4096, RING = 1 << 20, HEADS = 1 << 18 };

struct row {
    int64_t time_ns;
    uint32_t key, length;
};

struct held {
    struct row row;
    uint64_t next; /* older, of the same chain; 0: none */
};

struct joined {
    int64_t times_ns[2];
    uint32_t key, lengths[2];
};

struct side {
    const struct row *rows;
    struct held *ring;
    uint64_t *heads;
    uint64_t count;
};

struct output {
    struct joined rows[OUTPUT_ROWS];
    uint32_t used;
    uint64_t total;
};

static inline uint32_t chain_of(uint32_t key)
{
    return (uint32_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 46);
}

static inline void put(struct output *output, const struct row *a, const struct row *b)
{
    if (output->used == OUTPUT_ROWS) {
        output->total += output->used;
        output->used = 0;
    }
    output->rows[output->used++] =
        (struct joined){{a->time_ns, b->time_ns}, a->key, {a->length, b->length}};
}

static inline void meet(const struct side *other, uint32_t chain, const struct row *row,
                        int64_t band_ns, bool is_first, struct output *output)
{
    uint64_t at = other->heads[chain];
    while (at != 0 && at + RING > other->count) {
        const struct held *held = &other->ring[at & (RING - 1)];
        if (held->row.time_ns < row->time_ns - band_ns) return;
        if (held->row.key == row->key && held->row.time_ns <= row->time_ns + band_ns)
            put(output, is_first ? row : &held->row, is_first ? &held->row : row);
        at = held->next;
    }
}

static void burst(struct side *own, const struct side *other, const struct row *rows,
                  uint32_t count, int64_t band_ns, bool is_first, struct output *output)
{
    uint32_t chains[BURST];
    for (uint32_t i = 0; i < count; i++) {
        chains[i] = chain_of(rows[i].key);
        __builtin_prefetch(&other->heads[chains[i]]);
        __builtin_prefetch(&own->heads[chains[i]], 1);
    }
    for (uint32_t i = 0; i < count; i++)
        __builtin_prefetch(&other->ring[other->heads[chains[i]] & (RING - 1)]);
    for (uint32_t i = 0; i < count; i++) {
        meet(other, chains[i], &rows[i], band_ns, is_first, output);
        uint64_t at = ++own->count;
        own->ring[at & (RING - 1)] = (struct held){rows[i], own->heads[chains[i]]};
        own->heads[chains[i]] = at;
    }
}

static uint64_t join(struct side sides[2], uint64_t count, int64_t band_ns, uint64_t batch)
{
    static struct output output;
    for (uint64_t from = 0; from < count; from += batch)
        for (uint32_t side = 0; side < 2; side++) {
            uint64_t end = from + batch < count ? from + batch : count;
            for (uint64_t at = from; at < end; at += BURST)
                burst(&sides[side], &sides[1 - side], sides[side].rows + at,
                      end - at < BURST ? (uint32_t)(end - at) : BURST, band_ns, side == 0, &output);
        }
    return output.total + output.used;
}

static bool side_open(struct side *side, FILE *file, uint64_t count)
{
    struct row *rows = malloc(count * sizeof *rows);
    side->rows = rows;
    side->ring = calloc(RING, sizeof *side->ring);
    side->heads = calloc(HEADS, sizeof *side->heads);
    return rows != NULL && side->ring != NULL && side->heads != NULL &&
           fread(rows, sizeof *rows, count, file) == count;
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int count, char **arguments)
{
    struct side sides[2] = {{0}};
    uint64_t rows = 0;
    FILE *file = count == 4 ? fopen(arguments[1], "rb") : NULL;
    if (file == NULL || fread(&rows, sizeof rows, 1, file) != 1 ||
        !side_open(&sides[0], file, rows) || !side_open(&sides[1], file, rows)) {
        fprintf(stderr, "usage: %s FILE BAND BATCH\n", arguments[0]);
        return 2;
    }
    double start = processor_seconds();
    uint64_t joined = join(sides, rows, atoll(arguments[2]), strtoull(arguments[3], NULL, 10));
    printf("%.6f %" PRIu64 "\n", processor_seconds() - start, joined);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop of `reference` with what the low level owes besides: a source's time is kept, record by
 * record (H, the greatest timestamp that two have reached; the least of a block of bytes, from
 * which W comes; what is late; what is cut short), and a group lies in its slot or beside it, so
 * that fewer partial tuples leave. What the low level has as its limit. */
#include "loop.h"
#include "table.h"

enum { BURST_PACKETS = 128, BLOCK_BYTES = 16 << 20 };
#include "burst.h"

/* As OPERATORS has it: no later packet is below the least of the last two blocks. */
struct source_time {
    int64_t high_ns, previous_ns, promise_ns, least_ns, least_before_ns;
    uint64_t block_end, offset, late, truncated;
};

static inline int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static __attribute__((noinline)) void time_enter_block(struct source_time *time)
{
    int64_t promise_ns = earlier(time->least_ns, time->least_before_ns);
    if (promise_ns != INT64_MAX && promise_ns > time->promise_ns) time->promise_ns = promise_ns;
    time->least_before_ns = time->least_ns;
    time->least_ns = INT64_MAX;
    time->block_end += BLOCK_BYTES;
}

/* False: the packet is late. */
static inline bool time_observe(struct source_time *time, const struct record *record)
{
    int64_t now_ns = record->seconds * INT64_C(1000000000) + record->microseconds * INT64_C(1000);
    if (__builtin_expect(time->offset >= time->block_end, 0)) time_enter_block(time);
    int64_t both_ns = earlier(now_ns, time->previous_ns);
    time->high_ns = both_ns > time->high_ns ? both_ns : time->high_ns;
    time->previous_ns = now_ns;
    time->least_ns = earlier(time->least_ns, now_ns);
    time->truncated += record->captured_bytes < record->length_bytes;
    time->offset += RECORD_HEADER_BYTES + record->captured_bytes;
    return now_ns >= time->promise_ns;
}

static inline bool is_of(const struct tuple *slot, const struct tuple *fresh)
{
    return slot->source == fresh->source && slot->dest == fresh->dest &&
           slot->minute == fresh->minute;
}

static inline void pairs_enter(struct table *table, uint32_t index, const struct tuple *fresh,
                               struct output *output)
{
    bool is_taken = table->slots[index].packets && !table->slots[index ^ 1].packets;
    table_replace(table, is_taken ? index ^ 1 : index, fresh, output);
}

static inline void pairs_add(struct table *table, uint32_t index, const struct tuple *fresh,
                             struct output *output)
{
    struct tuple *slot = &table->slots[index];
    if (!is_of(slot, fresh)) slot = &table->slots[index ^ 1];
    if (!is_of(slot, fresh)) {
        pairs_enter(table, index, fresh, output);
        return;
    }
    slot->packets++;
    slot->length_bytes += fresh->length_bytes;
}

static inline void burst_drain(struct burst *burst, struct table *table, struct output *output)
{
    for (uint32_t i = 0; i < burst->used; i++) {
        table_advance(table, burst->fresh[i].minute, output);
        pairs_add(table, burst->index[i], &burst->fresh[i], output);
    }
    burst->used = 0;
}

static int run_loop(const struct loop_options *options, struct loop_result *result)
{
    struct capture capture;
    struct table table;
    struct record record;
    struct network_layer ip;
    struct burst burst = {0};
    struct source_time time = {.high_ns = INT64_MIN,
                               .previous_ns = INT64_MIN,
                               .promise_ns = INT64_MIN,
                               .least_ns = INT64_MAX,
                               .least_before_ns = INT64_MAX,
                               .block_end = BLOCK_BYTES};
    struct output *output = output_open(options);
    if (!output || table_open(&table, options->slots_log2) != 0) return -1;
    if (capture_open(&capture, options->path, options->reads) != 0) return -1;
    for (; capture_next(&capture, &record); result->packets++) {
        if (!time_observe(&time, &record)) {
            time.late++;
            continue;
        }
        if (!parse_ipv4(&record, &ip)) continue;
        burst_add(&burst, &table, &record, &ip);
        if (burst.used == BURST_PACKETS) burst_drain(&burst, &table, output);
    }
    burst_drain(&burst, &table, output);
    table_flush(&table, output);
    result_from_output(result, output);
    capture_close(&capture);
    table_close(&table);
    free(output);
    return time.late || time.high_ns < 0 ? -1 : 0; /* our captures come in order */
}

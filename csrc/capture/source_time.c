/* SPDX-License-Identifier: Apache-2.0 */
#include "source_time.h"

struct gs_source_time gs_source_time_without_bound(void)
{
    return (struct gs_source_time){
        .high_timestamp_ns = GS_BOUND_NONE,
        .promise_ns = GS_BOUND_NONE,
        .previous_timestamp_ns = GS_BOUND_NONE,
        .clock_promise_ns = GS_BOUND_NONE,
        .block_end_offset = UINT64_MAX,
        .least_in_block_ns = INT64_MAX,
        .least_in_previous_block_ns = INT64_MAX,
    };
}

struct gs_source_time gs_source_time_by_blocks(uint64_t block_bytes)
{
    struct gs_source_time time = gs_source_time_without_bound();
    time.block_bytes = block_bytes;
    time.block_end_offset = 0; /* the first record enters the first block */
    return time;
}

struct gs_source_time gs_source_time_by_slack(int64_t slack_ns)
{
    struct gs_source_time time = gs_source_time_without_bound();
    time.has_slack = true;
    time.slack_ns = slack_ns;
    return time;
}

void gs_source_time_raise(struct gs_source_time *time, int64_t promise_ns)
{
    if (promise_ns > time->promise_ns) time->promise_ns = promise_ns;
}

void gs_source_time_raise_by_clock(struct gs_source_time *time, int64_t promise_ns)
{
    if (promise_ns <= time->promise_ns) return;
    time->promise_ns = time->clock_promise_ns = promise_ns;
}

int64_t gs_source_time_least_of_two_blocks(const struct gs_source_time *time)
{
    return time->least_in_block_ns < time->least_in_previous_block_ns
               ? time->least_in_block_ns
               : time->least_in_previous_block_ns;
}

void gs_source_time_enter_block(struct gs_source_time *time, uint64_t offset)
{
    int64_t least = gs_source_time_least_of_two_blocks(time);
    /* two blocks without a usable timestamp say nothing, least of all that the stream has ended */
    if (time->blocks_begun >= 2 && least != INT64_MAX) gs_source_time_raise(time, least);
    time->blocks_begun++;
    time->least_in_previous_block_ns = time->least_in_block_ns;
    time->least_in_block_ns = INT64_MAX;
    uint64_t block = offset / time->block_bytes;
    if (__builtin_mul_overflow(block + 1, time->block_bytes, &time->block_end_offset))
        time->block_end_offset = UINT64_MAX;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

/* What pcap_offline_filter is told of a packet: libpcap's struct pcap_pkthdr. */
struct filter_header {
    struct timeval time;
    uint32_t caplen;
    uint32_t len;
};

static struct gs_source_time time_of(const struct gs_source_config *config,
                                     const struct gs_engine_settings *settings)
{
    if (config->live != NULL) return gs_source_time_by_slack(config->live_slack_ns);
    if (config->is_pipe || settings->file_by_slack)
        return gs_source_time_by_slack(settings->slack_ns);
    if (settings->disorder_bytes == 0) return gs_source_time_without_bound();
    return gs_source_time_by_blocks(settings->disorder_bytes);
}

static bool copy_live(struct gs_source *source, const struct gs_source_config *config)
{
    source->live = *config->live;
    source->live.device = strdup(config->live->device);
    source->config.live = &source->live;
    source->max_skew_ns = source->clock.max_skew_ns = config->max_skew_ns;
    return source->live.device != NULL;
}

int gs_source_init(struct gs_source *source, const struct gs_source_config *config,
                   const struct gs_engine_settings *settings, struct gs_error *error)
{
    memset(source, 0, sizeof *source);
    source->label = strdup(config->label);
    source->path = config->path != NULL ? strdup(config->path) : NULL;
    if (source->label == NULL || (config->path != NULL && source->path == NULL))
        return gs_fail(error, GS_ERROR, "no memory for source %s", config->label);
    source->config = (struct gs_capture_config){
        .path = source->path, .descriptor = config->descriptor, .use_mmap = config->use_mmap};
    if (config->live != NULL && !copy_live(source, config))
        return gs_fail(error, GS_ERROR, "no memory for source %s", config->label);
    source->time = time_of(config, settings);
    if (config->promise_ns == INT64_MIN) return GS_OK;
    /* not yet read, it has come as far as it promises */
    gs_source_time_raise(&source->time, config->promise_ns);
    source->time.high_timestamp_ns = config->promise_ns;
    return GS_OK;
}

int gs_source_open(struct gs_source *source, struct gs_error *error)
{
    struct gs_error local = {0};
    int status;
    if (gs_source_is_live(source)) {
        source->ops = source->live.libpcap != NULL ? &gs_pcap_capture : &gs_ring_capture;
        status = source->ops->open(&source->capture, &source->config, &local);
    } else {
        status = gs_capture_open_file(&source->config, &source->ops, &source->capture, &local);
    }
    source->is_open = status == GS_OK;
    if (source->is_open) return GS_OK;
    return gs_fail(error, GS_REFUSED, "%.120s: %.380s", source->label, local.message);
}

/* pcapng: an interface by its if_name or its number; elsewhere the Gigastream interface's name. */
static bool name_interfaces(struct gs_source *source)
{
    uint32_t count = source->ops->interface_count(source->capture);
    if (count <= source->name_count) return true;
    struct gs_string *names = realloc(source->names, count * sizeof *names);
    if (names == NULL) return false;
    source->names = names;
    for (; source->name_count < count; source->name_count++) {
        const struct gs_capture_interface *interface =
            source->ops->interface(source->capture, source->name_count);
        struct gs_string *name = &names[source->name_count];
        *name = source->interface_name;
        if (interface->name[0] == '\0') continue;
        char *copy = strdup(interface->name);
        if (copy == NULL) return false;
        *name = (struct gs_string){(const uint8_t *)copy, (uint32_t)strlen(copy)};
    }
    return true;
}

static void end(struct gs_source *source, int status, const struct gs_error *error)
{
    source->is_ended = true;
    source->is_damaged = status == GS_DAMAGED;
    if (source->ops->refresh != NULL) source->ops->refresh(source->capture);
    if (status != GS_DAMAGED) return;
    snprintf(source->message, sizeof source->message, "%s", error->message);
}

int gs_source_fill(struct gs_source *source, int timeout_ms, struct gs_error *error)
{
    struct gs_error local = {0};
    if (source->cursor < source->filled) return GS_OK;
    if (source->is_ended) return GS_END;
    if (source->filled > 0) source->ops->release(source->capture);
    source->cursor = source->filled = 0;
    int status = source->ops->next_burst(source->capture, source->packets, GS_BURST_CAPACITY,
                                         timeout_ms, &source->filled, &local);
    if (status == GS_OK && !name_interfaces(source))
        return gs_fail(error, GS_ERROR, "no memory for interface names");
    if (status == GS_OK || status == GS_AGAIN) return status;
    if (status == GS_ERROR)
        return gs_fail(error, GS_REFUSED, "%.120s: %.380s", source->label, local.message);
    end(source, status, &local);
    return GS_END;
}

bool gs_source_is_ready(const struct gs_source *source)
{
    if (source->cursor < source->filled) return true;
    if (!source->is_waiting) return true;
    return source->ops->has_unread != NULL && source->ops->has_unread(source->capture);
}

static bool has_waiting(const struct gs_source *source)
{
    return source->cursor < source->filled || source->ops->has_unread(source->capture);
}

void gs_source_heartbeat(struct gs_source *source, struct gs_clock_reading reading)
{
    int64_t believed_ns = gs_clock_believe(&source->clock, reading);
    source->ops->refresh(source->capture);
    if (has_waiting(source)) return;
    gs_source_time_raise_by_clock(&source->time, believed_ns - source->max_skew_ns);
}

void gs_source_finish(struct gs_source *source)
{
    if (source->is_open && source->ops->finish != NULL)
        source->ops->finish(source->capture);
    else
        source->is_ended = true;
}

int gs_source_descriptor(const struct gs_source *source)
{
    if (!source->is_open || source->ops->descriptor == NULL) return source->config.descriptor;
    return source->ops->descriptor(source->capture);
}

int64_t gs_source_next_timestamp(const struct gs_source *source)
{
    if (source->cursor < source->filled &&
        !(source->packets[source->cursor].flags & GS_FRAME_NO_TIME))
        return source->packets[source->cursor].timestamp_ns;
    return source->is_open ? source->time.previous_timestamp_ns : source->time.promise_ns;
}

int64_t gs_source_lag(const struct gs_source *source, int64_t wall_ns)
{
    int64_t last_ns = source->time.previous_timestamp_ns;
    bool is_running = gs_source_is_live(source) && source->is_open && !source->is_ended;
    if (!is_running || last_ns == GS_BOUND_NONE || last_ns > wall_ns || !has_waiting(source))
        return 0;
    return wall_ns - last_ns;
}

void gs_source_statistics(const struct gs_source *source, struct gs_source_statistics *statistics)
{
    struct gs_capture_stats stats = {0};
    if (source->is_open) source->ops->stats(source->capture, &stats);
    *statistics = source->statistics;
    statistics->label = source->label;
    statistics->interface = (const char *)source->interface_name.bytes;
    statistics->bytes = stats.bytes;
    statistics->total_bytes = stats.total_bytes;
    statistics->kernel_received = stats.kernel_received;
    statistics->kernel_dropped = stats.kernel_dropped;
    statistics->freezes = stats.freezes;
    statistics->nic_dropped = stats.nic_dropped;
    statistics->link_state = stats.link_state;
    statistics->is_open = source->is_open;
    statistics->is_ended = source->is_ended;
    statistics->is_damaged = source->is_damaged;
    statistics->message = source->message;
}

void gs_source_close(struct gs_source *source)
{
    if (source->is_open) source->ops->close(source->capture);
    for (uint32_t i = 0; i < source->name_count; i++)
        if (source->names[i].bytes != source->interface_name.bytes)
            free((void *)source->names[i].bytes);
    free(source->names);
    free((void *)source->live.device);
    free(source->label);
    free(source->path);
}

static bool passes_filter(struct gs_source *source, const struct gs_burst_limits *limits,
                          const struct gs_packet *packet)
{
    const struct gs_capture_interface *interface =
        source->ops->interface(source->capture, packet->interface);
    struct filter_header header = {.caplen = packet->caplen, .len = packet->len};
    for (uint32_t i = 0; i < limits->filter_count; i++)
        if (limits->filters[i].link_type == interface->link_type)
            return limits->filters[i].function(limits->filters[i].program, &header,
                                               packet->bytes) != 0;
    return false;
}

/* `late` or `skew` by what raised W last. */
static void count_late(struct gs_source *source, const struct gs_packet *packet)
{
    int64_t lateness = source->time.promise_ns - packet->timestamp_ns;
    if (source->time.promise_ns == source->time.clock_promise_ns)
        source->statistics.skew++;
    else
        source->statistics.late++;
    if (lateness > source->statistics.worst_lateness_ns)
        source->statistics.worst_lateness_ns = lateness;
}

/* The first cause that applies counts (OPERATORS section 7). */
static __attribute__((noinline)) bool is_tuple(struct gs_source *source,
                                               const struct gs_burst_limits *limits,
                                               const struct gs_packet *packet,
                                               enum gs_timeliness timeliness)
{
    struct gs_source_statistics *statistics = &source->statistics;
    statistics->truncated += (packet->flags & GS_FRAME_TRUNCATED) != 0;
    if (timeliness == GS_TIMELESS || (packet->flags & GS_FRAME_UNSUPPORTED)) {
        statistics->undecodable++;
        return false;
    }
    if (limits->filter_count > 0 && !(packet->flags & GS_FRAME_FILTERED) &&
        !passes_filter(source, limits, packet)) {
        statistics->filtered++;
        return false;
    }
    if (timeliness == GS_LATE) {
        count_late(source, packet);
        return false;
    }
    statistics->decoded++;
    return true;
}

/* What the records of a run have in common. */
struct run {
    int64_t high_ns, previous_ns, least_ns, greatest_ns;
    uint32_t any_flags, all_flags, truncated;
};

static struct run look_over(const struct gs_source_time *time, const struct gs_packet *packets,
                            uint32_t count)
{
    struct run run = {time->high_timestamp_ns,
                      time->previous_timestamp_ns,
                      INT64_MAX,
                      INT64_MIN,
                      0,
                      UINT32_MAX,
                      0};
    for (uint32_t i = 0; i < count; i++) {
        int64_t timestamp = packets[i].timestamp_ns;
        int64_t both_reached = timestamp < run.previous_ns ? timestamp : run.previous_ns;
        run.high_ns = both_reached > run.high_ns ? both_reached : run.high_ns;
        run.least_ns = timestamp < run.least_ns ? timestamp : run.least_ns;
        run.greatest_ns = timestamp > run.greatest_ns ? timestamp : run.greatest_ns;
        run.any_flags |= packets[i].flags;
        run.all_flags &= packets[i].flags;
        run.truncated += packets[i].flags & GS_FRAME_TRUNCATED;
        run.previous_ns = timestamp;
    }
    return run;
}

/* W when all of the run have been read; before, it is no greater. */
static int64_t promise_after(const struct gs_source_time *time, const struct run *run)
{
    int64_t promise_ns;
    bool raises = time->has_slack &&
                  !__builtin_sub_overflow(run->high_ns, time->slack_ns, &promise_ns) &&
                  promise_ns > time->promise_ns;
    return raises ? promise_ns : time->promise_ns;
}

/* A run of records in which nothing happens: none is to be dropped, none late, no block and no
 * limit reached. That is seen from what all of them have in common, without asking each. */
static bool take_quiet(struct gs_source *source, const struct gs_burst_limits *limits,
                       uint32_t count)
{
    struct gs_source_time *time = &source->time;
    const struct gs_packet *packets = &source->packets[source->cursor];
    if (count == 0) return false;
    struct run run = look_over(time, packets, count);
    int64_t promise_ns = promise_after(time, &run);
    bool all_pass = limits->filter_count == 0 || run.all_flags & GS_FRAME_FILTERED;
    if (!all_pass || run.any_flags & (GS_FRAME_NO_TIME | GS_FRAME_UNSUPPORTED) ||
        promise_ns >= limits->promise_ns || run.high_ns >= limits->high_ns ||
        run.least_ns < promise_ns || run.greatest_ns > limits->until_ns ||
        packets[count - 1].offset >= time->block_end_offset)
        return false;
    time->promise_ns = promise_ns;
    time->high_timestamp_ns = run.high_ns;
    time->previous_timestamp_ns = run.previous_ns;
    if (run.least_ns < time->least_in_block_ns) time->least_in_block_ns = run.least_ns;
    source->cursor += count;
    source->statistics.decoded += count;
    source->statistics.truncated += run.truncated / GS_FRAME_TRUNCATED;
    return true;
}

static uint32_t most(const struct gs_source *source, const struct gs_burst_limits *limits)
{
    uint32_t count = source->filled - source->cursor;
    if (count > limits->burst) count = limits->burst;
    return count < limits->packets ? count : (uint32_t)limits->packets;
}

bool gs_source_take(struct gs_source *source, const struct gs_burst_limits *limits, uint32_t *first,
                    uint32_t *count, uint64_t *records)
{
    uint32_t kept = 0, begin = source->cursor;
    bool reached = false;
    *records = 0;
    if (!source->is_observed && take_quiet(source, limits, most(source, limits)))
        *records = kept = source->cursor - begin;
    while (source->cursor < source->filled && kept < limits->burst && *records < limits->packets) {
        struct gs_packet *packet = &source->packets[source->cursor];
        if (GS_UNLIKELY(packet->timestamp_ns > limits->until_ns)) break;
        if (!source->is_observed) {
            source->timeliness = gs_source_time_observe(&source->time, packet);
            reached = source->time.high_timestamp_ns >= limits->high_ns ||
                      source->time.promise_ns >= limits->promise_ns;
            if (GS_UNLIKELY(reached)) {
                source->is_observed = true; /* it enters after time has advanced */
                break;
            }
        }
        source->is_observed = false;
        source->cursor++;
        ++*records;
        if (!is_tuple(source, limits, packet, source->timeliness)) continue;
        if (begin + kept != source->cursor - 1) source->packets[begin + kept] = *packet;
        kept++;
    }
    source->statistics.read += *records;
    *first = begin;
    *count = kept;
    return reached;
}

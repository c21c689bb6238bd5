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
    source->clock.max_skew_ns = config->max_skew_ns;
    source->carries_until_ns = source->empty_at_ns = INT64_MIN;
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
        .path = source->path, .descriptor = -1, .use_mmap = config->use_mmap};
    source->open = config->open;
    source->close = config->close;
    source->context = config->context;
    source->first_ns = config->first_ns;
    source->wanted.value = GS_BOUND_NONE;
    source->is_pipe = config->is_pipe || config->live != NULL;
    if (config->live != NULL && !copy_live(source, config))
        return gs_fail(error, GS_ERROR, "no memory for source %s", config->label);
    source->time = time_of(config, settings);
    gs_source_promise(source, config->promise_ns);
    return GS_OK;
}

void gs_source_promise(struct gs_source *source, int64_t promise_ns)
{
    if (promise_ns == INT64_MIN) return;
    gs_source_time_raise(&source->time, promise_ns);
    source->time.high_timestamp_ns = promise_ns;
}

/* The host opens what may be compressed, or a pipe. */
static int ask_host(struct gs_source *source, struct gs_opened *opened, struct gs_error *error)
{
    int status = source->open(source->context, opened, error);
    source->config.descriptor = opened->descriptor;
    source->config.first_bytes = opened->first_bytes;
    source->config.first_byte_count = opened->first_byte_count;
    source->wants_room = status == GS_AGAIN && opened->wants_room;
    source->is_waiting = status == GS_AGAIN && !opened->wants_room;
    return status;
}

static int open_capture(struct gs_source *source, struct gs_error *error)
{
    struct gs_error local = {0};
    int status;
    source->packets = malloc(GS_BURST_CAPACITY * sizeof *source->packets);
    if (source->packets == NULL) return gs_fail(error, GS_ERROR, "no memory for packets");
    if (gs_source_is_live(source)) {
        source->ops = source->live.libpcap != NULL ? &gs_pcap_capture : &gs_ring_capture;
        status = source->ops->open(&source->capture, &source->config, &local);
    } else {
        status = gs_capture_open_file(&source->config, &source->ops, &source->capture, &local);
    }
    source->is_open = status == GS_OK;
    if (source->is_open) return GS_OK;
    return gs_fail(error, GS_REFUSED, "%s: %.500s", source->label, local.message);
}

int gs_source_open(struct gs_source *source, struct gs_error *error)
{
    struct gs_opened opened = {.descriptor = -1};
    if (source->open != NULL) GS_RETURN_IF_ERROR(ask_host(source, &opened, error));
    int status = open_capture(source, error);
    source->config.first_bytes = NULL;
    return status;
}

static void forget_names(struct gs_source *source)
{
    for (uint32_t i = 0; i < source->name_count; i++)
        if (source->names[i].bytes != source->interface_name.bytes)
            free((void *)source->names[i].bytes);
    free(source->names);
    source->names = NULL;
    source->name_count = 0;
}

/* Nothing of it is needed any more but what is told of it. */
static void shut(struct gs_source *source)
{
    if (source->is_open) {
        source->ops->stats(source->capture, &source->last_stats);
        source->ops->close(source->capture);
    }
    source->is_open = false;
    forget_names(source);
    free(source->packets);
    source->packets = NULL;
    source->cursor = source->filled = 0;
    if (source->close != NULL) source->close(source->context);
    source->close = NULL;
}

/* pcapng: an interface by its if_name or its number; elsewhere the Gigastream interface's name. */
static bool name_interfaces(struct gs_source *source)
{
    uint32_t count = source->ops->interface_count(source->capture);
    uint64_t section = source->ops->section(source->capture);
    if (section != source->section) forget_names(source);
    source->section = section;
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
    if (source->is_damaged) source->message = strdup(error->message);
    if (source->ops->refresh != NULL) source->ops->refresh(source->capture);
    shut(source);
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
        return gs_fail(error, GS_REFUSED, "%s: %.500s", source->label, local.message);
    end(source, status, &local);
    return GS_END;
}

bool gs_source_is_ready(const struct gs_source *source)
{
    if (source->cursor < source->filled) return true;
    if (!source->is_waiting) return true;
    return source->is_open && source->ops->has_unread != NULL &&
           source->ops->has_unread(source->capture);
}

static bool has_waiting(const struct gs_source *source)
{
    return source->cursor < source->filled || source->ops->has_unread(source->capture);
}

/* What is stamped before the clock has come to W comes within max_skew after that, or is skew. */
static void expect_carried(struct gs_source *source)
{
    int64_t behind_ns = 0;
    if (source->believed_ns < source->time.promise_ns)
        behind_ns = source->time.promise_ns - source->believed_ns;
    source->carries_until_ns = source->read_at_ns + behind_ns + source->clock.max_skew_ns;
}

static void read_clock(struct gs_source *source, struct gs_clock_reading reading)
{
    uint64_t steps = source->clock.steps;
    source->believed_ns = gs_clock_believe(&source->clock, reading);
    source->read_at_ns = reading.monotonic_ns;
    bool is_behind = source->believed_ns < source->time.promise_ns;
    int64_t latest_ns = source->read_at_ns + source->clock.max_skew_ns;
    if (source->clock.steps > steps || is_behind)
        expect_carried(source);
    else if (source->carries_until_ns > latest_ns)
        source->carries_until_ns = latest_ns; /* it has come there sooner, by a step ahead */
}

/* A glitch that came and went between two readings is seen by its packets alone: it is told like a
 * step, once. One that was read has been told. */
static void see_packets_ahead(struct gs_source *source, int64_t ahead_ns)
{
    struct gs_clock *clock = &source->clock;
    int64_t since_ns = source->read_at_ns - clock->stepped_at_ns;
    bool was_read = clock->steps > 0 && since_ns <= clock->max_skew_ns;
    if (was_read || source->is_ahead) return;
    clock->steps++;
    clock->step_ns = ahead_ns;
    clock->stepped_at_ns = source->read_at_ns;
}

void gs_source_hold(struct gs_source *source, struct gs_clock_reading reading)
{
    int64_t ahead_ns = 0;
    read_clock(source, reading);
    for (uint32_t i = source->cursor; i < source->filled; i++) {
        struct gs_packet *packet = &source->packets[i];
        if (packet->timestamp_ns - source->clock.max_skew_ns <= source->believed_ns) continue;
        if (ahead_ns == 0) ahead_ns = packet->timestamp_ns - source->believed_ns;
        packet->timestamp_ns = source->believed_ns;
        packet->flags |= GS_FRAME_CARRIED;
    }
    if (ahead_ns > 0) {
        see_packets_ahead(source, ahead_ns);
        expect_carried(source);
    }
    source->is_ahead = ahead_ns > 0;
}

/* When a packet came, by its stamp: it may be read long after that, but what was found empty since
 * did not hold it. */
static int64_t came_at(const struct gs_source *source, const struct gs_packet *packet)
{
    if (packet->timestamp_ns >= source->believed_ns) return source->read_at_ns;
    int64_t by_stamp_ns = source->read_at_ns - (source->believed_ns - packet->timestamp_ns);
    return by_stamp_ns > source->empty_at_ns ? by_stamp_ns : source->empty_at_ns;
}

/* A packet below W is none that lost its way if the clock had just stepped: W carries it along. */
static void carry(struct gs_source *source, struct gs_packet *packet)
{
    int64_t promise_ns = source->time.promise_ns;
    if (packet->timestamp_ns >= promise_ns) return;
    if (source->believed_ns < promise_ns) expect_carried(source);
    if (came_at(source, packet) > source->carries_until_ns) return;
    packet->timestamp_ns = promise_ns;
    packet->flags |= GS_FRAME_CARRIED;
}

void gs_source_heartbeat(struct gs_source *source, struct gs_clock_reading reading)
{
    read_clock(source, reading);
    source->ops->refresh(source->capture);
    if (has_waiting(source)) return;
    source->empty_at_ns = source->read_at_ns;
    gs_source_time_raise_by_clock(&source->time, source->believed_ns - source->clock.max_skew_ns);
}

void gs_source_finish(struct gs_source *source)
{
    if (source->is_ended) return;
    if (source->is_open && source->ops->finish != NULL) {
        source->ops->finish(source->capture);
        return;
    }
    source->is_ended = true;
    shut(source);
}

/* Nothing comes in any more, and the kernel's count is the last. */
static void count_at_last(struct gs_source *source)
{
    source->ops->finish(source->capture);
    source->ops->refresh(source->capture);
}

void gs_source_halt(struct gs_source *source)
{
    if (source->is_ended) return;
    if (gs_source_is_live(source) && source->is_open) count_at_last(source);
    source->is_ended = true;
    shut(source);
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
    return source->is_open ? source->time.previous_timestamp_ns : source->first_ns;
}

int64_t gs_source_lag(const struct gs_source *source, struct gs_clock_reading reading)
{
    int64_t last_ns = source->time.previous_timestamp_ns;
    bool is_running = gs_source_is_live(source) && source->is_open && !source->is_ended;
    if (!is_running || last_ns == GS_BOUND_NONE || source->clock.count == 0) return 0;
    int64_t now_ns = reading.monotonic_ns + source->clock.least[0].difference_ns;
    return last_ns < now_ns && has_waiting(source) ? now_ns - last_ns : 0;
}

/* The kernel is asked now and then: what has been read since was received, too. What it counted and
 * nobody has read yet, or will read, is unread. */
static void balance(struct gs_source_statistics *statistics)
{
    uint64_t known = statistics->kernel_dropped + statistics->read;
    if (statistics->kernel_received < known) statistics->kernel_received = known;
    statistics->unread = statistics->kernel_received - known;
}

void gs_source_statistics(const struct gs_source *source, struct gs_source_statistics *statistics)
{
    struct gs_capture_stats stats = source->last_stats;
    if (source->is_open) source->ops->stats(source->capture, &stats);
    *statistics = source->statistics;
    statistics->wanted = source->wanted;
    statistics->label = source->label;
    statistics->interface = (const char *)source->interface_name.bytes;
    statistics->bytes = stats.bytes;
    statistics->total_bytes = stats.total_bytes;
    statistics->kernel_received = stats.kernel_received;
    statistics->kernel_dropped = stats.kernel_dropped;
    statistics->freezes = stats.freezes;
    statistics->nic_dropped = stats.nic_dropped;
    statistics->oversized = stats.oversized;
    statistics->link_state = stats.link_state;
    statistics->clock_steps = source->clock.steps;
    statistics->clock_step_ns = source->clock.step_ns;
    statistics->high_timestamp_ns = source->time.high_timestamp_ns;
    statistics->promise_ns = source->time.promise_ns;
    if (gs_source_is_live(source)) balance(statistics);
    statistics->is_ended = source->is_ended;
    statistics->is_damaged = source->is_damaged;
    statistics->message = source->message != NULL ? source->message : "";
}

void gs_source_close(struct gs_source *source)
{
    source->close = NULL; /* the host frees the engine and knows */
    shut(source);
    free((void *)source->live.device);
    free(source->message);
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

/* Its filter sees other bytes than that of the same packet without a tag. */
static bool has_tag(const struct gs_packet *packet)
{
    if (packet->link != GS_LINK_ETHERNET || packet->caplen < 14) return false;
    uint32_t type = (uint32_t)packet->bytes[12] << 8 | packet->bytes[13];
    return type == 0x8100 || type == 0x88a8 || type == 0x9100;
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
        statistics->filtered_tagged += has_tag(packet);
        return false;
    }
    if (timeliness == GS_LATE) {
        count_late(source, packet);
        return false;
    }
    statistics->decoded++;
    statistics->carried += (packet->flags & GS_FRAME_CARRIED) != 0;
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
    if (!all_pass || run.any_flags & (GS_FRAME_NO_TIME | GS_FRAME_UNSUPPORTED | GS_FRAME_CARRIED) ||
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
            if (gs_source_is_live(source)) carry(source, packet);
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <stdlib.h>

#include "../capture/extents_entry.h"

static struct gs_source_time time_of(const struct gs_source_config *config,
                                     const struct gs_engine_settings *settings)
{
    if (config->timestamps != GS_TIMESTAMPS_EXTERNAL) return gs_source_time_by_slack(0);
    if (config->live != NULL) return gs_source_time_by_slack(config->live_slack_ns);
    if (config->is_pipe || config->is_records || settings->file_by_slack)
        return gs_source_time_by_slack(settings->slack_ns);
    if (settings->disorder_bytes == 0) return gs_source_time_without_bound();
    return gs_source_time_by_blocks(settings->disorder_bytes);
}

static bool copy_live(struct gs_source *source, const struct gs_source_config *config)
{
    source->live = *config->live;
    source->live.device = strdup(config->live->device);
    source->config.live = &source->live;
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
    source->config =
        (struct gs_capture_config){.path = source->path,
                                   .descriptor = -1,
                                   .use_mmap = config->use_mmap && config->extents == NULL,
                                   .extents = config->extents,
                                   .divided_file = config->divided_file,
                                   .reader = config->reader,
                                   .time = &source->time,
                                   .is_records = config->is_records,
                                   .link_types = &settings->link_types};
    source->open = config->open;
    source->close = config->close;
    source->context = config->context;
    source->first_ns = config->first_ns;
    source->greatest_ns = INT64_MIN;
    source->timestamps = (enum gs_timestamps)config->timestamps;
    source->clock.max_skew_ns = config->max_skew_ns;
    source->carries_until_ns = source->empty_at_ns = source->rose_at_ns = INT64_MIN;
    source->wanted.value = GS_BOUND_NONE;
    source->liveness_ns = config->liveness_ns;
    source->on_failure = config->on_failure;
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
    source->fill_most = GS_BURST_CAPACITY;
    if (source->is_open) return GS_OK;
    return gs_fail(error, GS_REFUSED, "%s: %.500s", source->label, local.message);
}

static int open_alone(struct gs_source *source, struct gs_error *error)
{
    struct gs_opened opened = {.descriptor = -1};
    if (source->open != NULL) GS_RETURN_IF_ERROR(ask_host(source, &opened, error));
    int status = open_capture(source, error);
    source->config.first_bytes = NULL;
    return status;
}

/* All that divide it read on in what the first of them has opened. */
static int open_divided(struct gs_source *source, struct gs_error *error)
{
    struct gs_extents *extents = source->config.extents;
    switch (gs_extents_enter(extents, source->config.divided_file, source->config.reader)) {
    case GS_ENTRY_IS_OVER:
        source->is_ended = true;
        return GS_END;
    case GS_ENTRY_JOINS:
        return open_capture(source, error);
    case GS_ENTRY_OPENS:
        break;
    }
    int status = open_alone(source, error);
    gs_extents_end_entry(extents, source->config.divided_file, source->config.descriptor);
    source->config.descriptor = -1;
    return status;
}

int gs_source_open(struct gs_source *source, struct gs_error *error)
{
    if (source->config.extents != NULL) return open_divided(source, error);
    return open_alone(source, error);
}

bool gs_source_has_room(const struct gs_source *source)
{
    const struct gs_capture_config *config = &source->config;
    return config->extents != NULL &&
           gs_extents_has_room(config->extents, config->divided_file, config->reader);
}

bool gs_source_await_room(const struct gs_source *source)
{
    struct gs_extents *extents = source->config.extents;
    return extents != NULL && gs_extents_await_room(extents, source->config.reader);
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

static bool is_ethernet(const struct gs_source *source)
{
    return source->ops->interface_count(source->capture) == 1 &&
           source->ops->interface(source->capture, 0)->link == GS_LINK_ETHERNET;
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
    int status = source->ops->next_burst(source->capture, source->packets, source->fill_most,
                                         timeout_ms, &source->filled, &local);
    if (source->fill_most < GS_BURST_CAPACITY) source->fill_most *= 2;
    if (status == GS_OK && !name_interfaces(source))
        return gs_fail(error, GS_ERROR, "no memory for interface names");
    if (status == GS_OK) source->is_ethernet = is_ethernet(source);
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

int gs_source_renew(struct gs_source *source, int socket, struct gs_error *error)
{
    struct gs_error local = {0};
    if (!source->is_open || source->ops->renew == NULL)
        return gs_fail(error, GS_ERROR, "%s: it takes no other ring", source->label);
    if (source->cursor < source->filled) return GS_AGAIN;
    if (source->filled > 0) source->ops->release(source->capture);
    source->cursor = source->filled = 0;
    int status = source->ops->renew(source->capture, socket, &local);
    if (status != GS_ERROR) return status;
    return gs_fail(error, GS_ERROR, "%s: %.500s", source->label, local.message);
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
    statistics->taken_before = stats.taken_before;
    statistics->dropped_before = stats.dropped_before;
    statistics->ring_blocks = stats.ring_blocks;
    statistics->ring_used = stats.ring_used;
    statistics->link_state = stats.link_state;
    statistics->clock_steps = source->clock.steps;
    statistics->clock_step_ns = source->clock.step_ns;
    statistics->high_timestamp_ns = source->time.high_timestamp_ns;
    statistics->promise_ns = source->time.promise_ns;
    if (gs_source_is_live(source)) balance(statistics);
    statistics->is_failed = source->is_failed;
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "parcels.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/memory.h"
#include "gs_exchange_rows.h"

#define SPARES_MAX 4
#define PAGE_BYTES 4096u /* smaller ones are made anew: none of them has room that nobody needs */

/* What one part is sent. */
struct inbox {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct gs_parcel *first, **last;
    struct gs_parcel *spares;
    uint32_t spare_count;
    struct gs_holder holder; /* of all parcels that were made for the part */
    _Atomic uint32_t count;  /* looked at between bursts, without the lock */
};

struct gs_exchange {
    uint32_t parts;
    atomic_bool has_ended;
    struct {
        _Alignas(64) struct inbox inbox;
    } of[GS_PARTS_MAX];
};

static struct inbox *inbox_of(struct gs_exchange *exchange, uint32_t part)
{
    return &exchange->of[part].inbox;
}

static bool open_inbox(struct inbox *inbox)
{
    pthread_condattr_t monotonic;
    inbox->last = &inbox->first;
    if (pthread_condattr_init(&monotonic) != 0) return false;
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    bool is_open = pthread_cond_init(&inbox->filled, &monotonic) == 0;
    pthread_condattr_destroy(&monotonic);
    if (!is_open) return false;
    if (pthread_mutex_init(&inbox->lock, NULL) == 0) return true;
    pthread_cond_destroy(&inbox->filled);
    return false;
}

struct gs_exchange *gs_exchange_new(uint32_t parts, struct gs_memory *memory)
{
    struct gs_exchange *exchange = NULL;
    size_t bytes = sizeof *exchange;
    if (parts < 1 || parts > GS_PARTS_MAX) return NULL;
    if (posix_memalign((void **)&exchange, 64, bytes) != 0) return NULL;
    memset(exchange, 0, bytes);
    for (; exchange->parts < parts; exchange->parts++) {
        inbox_of(exchange, exchange->parts)->holder.memory = memory;
        if (open_inbox(inbox_of(exchange, exchange->parts))) continue;
        gs_exchange_free(exchange);
        return NULL;
    }
    return exchange;
}

static void discard(struct inbox *inbox, struct gs_parcel *parcel)
{
    gs_let_go(&inbox->holder, sizeof *parcel + parcel->bytes);
    free(parcel);
}

static void discard_all(struct inbox *inbox, struct gs_parcel *parcels)
{
    while (parcels != NULL) {
        struct gs_parcel *next = parcels->next;
        discard(inbox, parcels);
        parcels = next;
    }
}

void gs_exchange_free(struct gs_exchange *exchange)
{
    if (exchange == NULL) return;
    for (uint32_t part = 0; part < exchange->parts; part++) {
        struct inbox *inbox = inbox_of(exchange, part);
        discard_all(inbox, inbox->first);
        discard_all(inbox, inbox->spares);
        pthread_cond_destroy(&inbox->filled);
        pthread_mutex_destroy(&inbox->lock);
    }
    free(exchange);
}

void gs_exchange_end(struct gs_exchange *exchange)
{
    atomic_store(&exchange->has_ended, true);
    for (uint32_t part = 0; part < exchange->parts; part++) {
        struct inbox *inbox = inbox_of(exchange, part);
        pthread_mutex_lock(&inbox->lock);
        pthread_cond_broadcast(&inbox->filled);
        pthread_mutex_unlock(&inbox->lock);
    }
}

bool gs_exchange_has_ended(const struct gs_exchange *exchange)
{
    return atomic_load_explicit(&exchange->has_ended, memory_order_relaxed);
}

uint32_t gs_exchange_parts(const struct gs_exchange *exchange)
{
    return exchange->parts;
}

/* One that has been read, if it is large enough. */
static struct gs_parcel *spare_of(struct inbox *inbox, size_t bytes)
{
    struct gs_parcel *spare = inbox->spares;
    if (spare == NULL || bytes < PAGE_BYTES) return NULL;
    inbox->spares = spare->next;
    inbox->spare_count--;
    if (spare->bytes >= bytes) return spare;
    discard(inbox, spare);
    return NULL;
}

static struct gs_parcel *allocate(struct inbox *inbox, size_t bytes)
{
    struct gs_parcel *parcel;
    if (bytes >= PAGE_BYTES) bytes = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    if (posix_memalign((void **)&parcel, 64, sizeof *parcel + bytes) != 0) return NULL;
    gs_hold_anyway(&inbox->holder, sizeof *parcel + bytes);
    parcel->bytes = bytes;
    return parcel;
}

struct gs_parcel *gs_parcel_new(struct gs_exchange *exchange, uint32_t to, size_t bytes)
{
    struct inbox *inbox = inbox_of(exchange, to);
    pthread_mutex_lock(&inbox->lock);
    struct gs_parcel *parcel = spare_of(inbox, bytes);
    if (parcel == NULL) parcel = allocate(inbox, bytes);
    pthread_mutex_unlock(&inbox->lock);
    if (parcel != NULL) parcel->count = 0;
    return parcel;
}

void gs_parcel_send(struct gs_exchange *exchange, uint32_t to, struct gs_parcel *parcel)
{
    struct inbox *inbox = inbox_of(exchange, to);
    parcel->next = NULL;
    pthread_mutex_lock(&inbox->lock);
    *inbox->last = parcel;
    inbox->last = &parcel->next;
    atomic_fetch_add_explicit(&inbox->count, 1, memory_order_release);
    pthread_cond_signal(&inbox->filled);
    pthread_mutex_unlock(&inbox->lock);
}

struct gs_parcel *gs_parcels_take(struct gs_exchange *exchange, uint32_t part)
{
    struct inbox *inbox = inbox_of(exchange, part);
    if (atomic_load_explicit(&inbox->count, memory_order_acquire) == 0) return NULL;
    pthread_mutex_lock(&inbox->lock);
    struct gs_parcel *parcels = inbox->first;
    inbox->first = NULL;
    inbox->last = &inbox->first;
    atomic_store_explicit(&inbox->count, 0, memory_order_relaxed);
    pthread_mutex_unlock(&inbox->lock);
    return parcels;
}

void gs_parcel_give_back(struct gs_exchange *exchange, uint32_t part, struct gs_parcel *parcel)
{
    struct inbox *inbox = inbox_of(exchange, part);
    pthread_mutex_lock(&inbox->lock);
    if (inbox->spare_count < SPARES_MAX && parcel->bytes >= PAGE_BYTES) {
        parcel->next = inbox->spares;
        inbox->spares = parcel;
        inbox->spare_count++;
    } else {
        discard(inbox, parcel);
    }
    pthread_mutex_unlock(&inbox->lock);
}

static struct timespec in_ms(int timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

bool gs_parcels_wait(struct gs_exchange *exchange, uint32_t part, int timeout_ms)
{
    struct inbox *inbox = inbox_of(exchange, part);
    struct timespec until = in_ms(timeout_ms);
    int status = 0;
    pthread_mutex_lock(&inbox->lock);
    while (inbox->first == NULL && !gs_exchange_has_ended(exchange) && status == 0)
        status = pthread_cond_timedwait(&inbox->filled, &inbox->lock, &until);
    bool is_there = inbox->first != NULL;
    pthread_mutex_unlock(&inbox->lock);
    return is_there;
}

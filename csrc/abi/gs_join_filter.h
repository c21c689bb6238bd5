/* SPDX-License-Identifier: Apache-2.0 */
/* What a FILTER_JOIN keeps of S packets (GSQL section 6.9): keys and times, the times in granules.
 *
 * By hash a granule is as long as the window of n + 1 ticks, so that the window of an R packet lies
 * in two of them: in its own granule it matches what is not later, in the one before what is not
 * too early, and the first and the last time of each key in each granule say so exactly. An entry
 * dies when the source promises no packet that could match it.
 *
 * By Bloom filters a granule is a part of the window, and the filters hold pairs of key and
 * granule: one is filled after the other, and is emptied when no packet can match what is in it.
 * Times that lie ahead of those that two packets in a row have reached have a filter of their own,
 * so that they keep none of the others from being emptied. What is added stays until it is dead:
 * nothing is lost. */
#ifndef GS_JOIN_FILTER_H
#define GS_JOIN_FILTER_H

#include "gs_hash.h"

#define GS_BLOOM_PARTS 4u  /* granules of a window */
#define GS_BLOOM_HASHES 6u /* bits of a pair, all in one block */
#define GS_BLOOM_WORDS 7u  /* of a block, beside its epoch: a line of the cache */
#define GS_BLOOM_MOST 64u  /* filters */

struct gs_join_filter_ops {
    uint32_t key_size;
    bool is_bloom;
    uint32_t filter_count; /* that are filled one after the other */
    uint64_t filter_bits;  /* of each */
};

/* A key in a granule of time; the key follows. */
struct gs_join_filter_entry {
    uint64_t hash;
    int64_t granule;
    gs_bound first, last; /* times */
    uint32_t next;        /* in its chain, or among those that are free; from 1 on, 0: none */
    bool is_used;
};

struct gs_bloom_block {
    uint64_t epoch; /* its bits count in this epoch of its filter only */
    uint64_t bits[GS_BLOOM_WORDS];
};

struct gs_bloom {
    struct gs_bloom_block *blocks;
    uint64_t epoch, count;   /* pairs that were put in */
    int64_t least, greatest; /* granules of them */
};

struct gs_join_filter {
    struct gs_join_filter_ops ops;
    int64_t promised, reached; /* granules of W and of H, as the burst began */
    uint64_t forgotten;        /* entries that gave way though they were alive */
    uint64_t held_bytes;
    /* by hash */
    uint8_t *entries;
    uint32_t *heads; /* of chains */
    uint32_t entry_size, capacity, end, free, hand;
    /* by Bloom filters; the last is for times that lie ahead */
    struct gs_bloom blooms[GS_BLOOM_MOST + 1];
    uint64_t block_count;
    uint32_t current;
};

/* ---- by hash ---- */

static inline struct gs_join_filter_entry *gs_join_filter_at(const struct gs_join_filter *filter,
                                                             uint32_t number)
{
    return (struct gs_join_filter_entry *)(filter->entries +
                                           (size_t)(number - 1) * filter->entry_size);
}

static inline uint64_t gs_join_filter_hash(uint64_t hash, int64_t granule)
{
    return gs_hash_fold(hash ^ (uint64_t)granule * UINT64_C(0x9e3779b97f4a7c15),
                        UINT64_C(0xd6e8feb86659fd93));
}

static inline uint32_t *gs_join_filter_head(const struct gs_join_filter *filter, uint64_t hash)
{
    return &filter->heads[(hash >> 16) & (filter->capacity - 1)];
}

static inline struct gs_join_filter_entry *gs_join_filter_find(const struct gs_join_filter *filter,
                                                               const void *key, uint64_t hash,
                                                               int64_t granule)
{
    uint64_t whole = gs_join_filter_hash(hash, granule);
    for (uint32_t at = *gs_join_filter_head(filter, whole); at != 0;) {
        struct gs_join_filter_entry *entry = gs_join_filter_at(filter, at);
        if (entry->hash == whole && entry->granule == granule &&
            memcmp(entry + 1, key, filter->ops.key_size) == 0)
            return entry;
        at = entry->next;
    }
    return NULL;
}

/* No packet that is still to come can match it. */
static inline bool gs_join_filter_is_dead(const struct gs_join_filter *filter, int64_t granule)
{
    return filter->promised > granule && filter->promised - 1 > granule;
}

static inline void gs_join_filter_drop(struct gs_join_filter *filter, uint32_t number)
{
    struct gs_join_filter_entry *entry = gs_join_filter_at(filter, number);
    uint32_t *at = gs_join_filter_head(filter, entry->hash);
    while (*at != number)
        at = &gs_join_filter_at(filter, *at)->next;
    *at = entry->next;
    entry->is_used = false;
    entry->next = filter->free;
    filter->free = number;
}

/* The hand goes round all places, two for each entry that is made: while no more than half of them
 * are alive, one is free. */
static inline void gs_join_filter_sweep(struct gs_join_filter *filter)
{
    for (int i = 0; i < 2 && filter->end > 0; i++) {
        filter->hand = filter->hand >= filter->end ? 1 : filter->hand + 1;
        struct gs_join_filter_entry *entry = gs_join_filter_at(filter, filter->hand);
        if (entry->is_used && gs_join_filter_is_dead(filter, entry->granule))
            gs_join_filter_drop(filter, filter->hand);
    }
}

/* A place; where all are taken, that at which the hand stands. */
static inline uint32_t gs_join_filter_place(struct gs_join_filter *filter)
{
    gs_join_filter_sweep(filter);
    if (filter->free == 0 && filter->end < filter->capacity) return ++filter->end;
    if (filter->free == 0) {
        gs_join_filter_drop(filter, filter->hand);
        filter->forgotten++;
    }
    uint32_t number = filter->free;
    filter->free = gs_join_filter_at(filter, number)->next;
    return number;
}

static inline void gs_join_filter_hash_add(struct gs_join_filter *filter, const void *key,
                                           uint64_t hash, int64_t granule, gs_bound time)
{
    struct gs_join_filter_entry *entry = gs_join_filter_find(filter, key, hash, granule);
    if (entry != NULL) {
        if (time < entry->first) entry->first = time;
        if (time > entry->last) entry->last = time;
        return;
    }
    uint32_t number = gs_join_filter_place(filter);
    uint64_t whole = gs_join_filter_hash(hash, granule);
    uint32_t *head = gs_join_filter_head(filter, whole);
    entry = gs_join_filter_at(filter, number);
    *entry = (struct gs_join_filter_entry){whole, granule, time, time, *head, true};
    memcpy(entry + 1, key, filter->ops.key_size);
    *head = number;
}

static inline bool gs_join_filter_hash_holds(const struct gs_join_filter *filter, const void *key,
                                             uint64_t hash, int64_t granule, gs_bound time,
                                             gs_bound earliest)
{
    const struct gs_join_filter_entry *entry = gs_join_filter_find(filter, key, hash, granule);
    if (entry != NULL && entry->first <= time) return true;
    entry = gs_join_filter_find(filter, key, hash, granule - 1);
    return entry != NULL && entry->last >= earliest;
}

/* ---- by Bloom filters ---- */

static inline struct gs_bloom_block *gs_bloom_block(const struct gs_join_filter *filter,
                                                    const struct gs_bloom *bloom, uint64_t hash)
{
    return &bloom->blocks[(hash >> 32) * filter->block_count >> 32];
}

/* Six bits of a pair: a word and a place in it each. */
static inline void gs_bloom_bits(uint64_t hash, uint64_t *bits)
{
    uint64_t state = hash;
    memset(bits, 0, GS_BLOOM_WORDS * sizeof *bits);
    for (uint32_t i = 0; i < GS_BLOOM_HASHES; i++) {
        state = gs_hash_fold(state + UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9));
        bits[(state >> 8) % GS_BLOOM_WORDS] |= UINT64_C(1) << (state & 63);
    }
}

static inline void gs_bloom_empty(struct gs_bloom *bloom)
{
    bloom->epoch++;
    bloom->count = 0;
    bloom->least = INT64_MAX;
    bloom->greatest = INT64_MIN;
}

static inline bool gs_bloom_is_dead(const struct gs_join_filter *filter,
                                    const struct gs_bloom *bloom)
{
    return bloom->count == 0 || (filter->promised > bloom->greatest &&
                                 filter->promised - bloom->greatest > (int64_t)GS_BLOOM_PARTS);
}

/* Pairs that a filter may have while another can follow it: 16 bits each. */
static inline uint64_t gs_bloom_most(const struct gs_join_filter *filter)
{
    return filter->block_count * 32;
}

/* The filter that a granule goes into. */
static inline struct gs_bloom *gs_bloom_for(struct gs_join_filter *filter, int64_t granule)
{
    struct gs_bloom *ahead = &filter->blooms[filter->ops.filter_count];
    if (filter->reached != INT64_MIN && granule > filter->reached &&
        granule - 1 > filter->reached) {
        if (gs_bloom_is_dead(filter, ahead)) gs_bloom_empty(ahead);
        return ahead;
    }
    if (filter->blooms[filter->current].count >= gs_bloom_most(filter)) {
        uint32_t next = (filter->current + 1) % filter->ops.filter_count;
        if (gs_bloom_is_dead(filter, &filter->blooms[next])) {
            gs_bloom_empty(&filter->blooms[next]);
            filter->current = next;
        }
    }
    return &filter->blooms[filter->current];
}

static inline void gs_bloom_add(struct gs_join_filter *filter, uint64_t hash, int64_t granule)
{
    uint64_t whole = gs_join_filter_hash(hash, granule), bits[GS_BLOOM_WORDS];
    struct gs_bloom *bloom = gs_bloom_for(filter, granule);
    struct gs_bloom_block *block = gs_bloom_block(filter, bloom, whole);
    bool is_new = block->epoch != bloom->epoch;
    if (is_new) *block = (struct gs_bloom_block){.epoch = bloom->epoch};
    gs_bloom_bits(whole, bits);
    for (uint32_t w = 0; w < GS_BLOOM_WORDS; w++) {
        is_new |= (bits[w] & ~block->bits[w]) != 0;
        block->bits[w] |= bits[w];
    }
    bloom->count += is_new;
    if (granule < bloom->least) bloom->least = granule;
    if (granule > bloom->greatest) bloom->greatest = granule;
}

static inline bool gs_bloom_has(const struct gs_join_filter *filter, uint64_t hash, int64_t granule)
{
    uint64_t whole = gs_join_filter_hash(hash, granule), bits[GS_BLOOM_WORDS];
    gs_bloom_bits(whole, bits);
    for (uint32_t i = 0; i <= filter->ops.filter_count; i++) {
        const struct gs_bloom *bloom = &filter->blooms[i];
        if (granule < bloom->least || granule > bloom->greatest) continue;
        const struct gs_bloom_block *block = gs_bloom_block(filter, bloom, whole);
        bool has = block->epoch == bloom->epoch;
        for (uint32_t w = 0; w < GS_BLOOM_WORDS; w++)
            has &= (bits[w] & ~block->bits[w]) == 0;
        if (has) return true;
    }
    return false;
}

/* ---- both ---- */

/* An S packet. */
static inline void gs_join_filter_add(struct gs_join_filter *filter, const void *key, uint64_t hash,
                                      gs_bound time, uint64_t step)
{
    int64_t granule = (int64_t)((uint64_t)time / step);
    if (filter->ops.is_bloom)
        gs_bloom_add(filter, hash, granule);
    else
        gs_join_filter_hash_add(filter, key, hash, granule, time);
}

/* Whether an S packet with the key came before, at most `ticks` earlier. */
static inline bool gs_join_filter_holds(const struct gs_join_filter *filter, const void *key,
                                        uint64_t hash, gs_bound time, uint64_t step, uint64_t ticks)
{
    int64_t granule = (int64_t)((uint64_t)time / step);
    gs_bound earliest = (uint64_t)time < ticks ? 0 : time - (gs_bound)ticks;
    if (!filter->ops.is_bloom)
        return gs_join_filter_hash_holds(filter, key, hash, granule, time, earliest);
    for (int64_t from = (int64_t)((uint64_t)earliest / step); granule >= from; granule--)
        if (gs_bloom_has(filter, hash, granule)) return true;
    return false;
}

#endif

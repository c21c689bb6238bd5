/* SPDX-License-Identifier: Apache-2.0 */
#include "row_runs.h"

#include <stdlib.h>

#include "../stream/punctuation.h"
#include "gs_bounds.h"

/* Of rows, or runs, that there is room for: with fewer, room is given back. */
#define SPARSE_PART 4
#define SMALL_ROWS 64u
#define FEW_RUNS 4u

struct least_value {
    gs_bound value;
    uint64_t number; /* of the row in its run */
};

bool gs_row_runs_open(struct gs_row_runs *runs, const struct gs_schema *schema, uint32_t key_column,
                      struct gs_holder *holder)
{
    runs->key_column = key_column;
    runs->followed = calloc(schema->column_count + 1u, sizeof *runs->followed);
    if (runs->followed == NULL) return false;
    for (uint32_t c = 0; c < schema->column_count; c++)
        if (schema->fields[c].temporal != 0 && c != key_column)
            runs->followed[runs->followed_count++] = c;
    return gs_row_store_open(&runs->store, schema, holder);
}

/* ---- runs ---- */

static uint64_t run_bytes(const struct gs_row_runs *runs)
{
    return sizeof(struct gs_row_run) + runs->followed_count * sizeof(struct gs_ring);
}

static void run_free(struct gs_row_runs *runs, struct gs_row_run *run)
{
    struct gs_holder *holder = runs->store.holder;
    gs_ring_close(&run->rows, holder);
    for (uint32_t f = 0; f < runs->followed_count; f++)
        gs_ring_close(&run->least[f], holder);
    gs_let_go(holder, run_bytes(runs));
    free(run);
}

static struct gs_row_run *run_new(struct gs_row_runs *runs)
{
    if (!gs_hold(runs->store.holder, run_bytes(runs))) return NULL;
    struct gs_row_run *run = calloc(1, run_bytes(runs));
    if (run == NULL) {
        gs_let_go(runs->store.holder, run_bytes(runs));
        return NULL;
    }
    run->rows.item_size = sizeof(struct gs_held_row);
    for (uint32_t f = 0; f < runs->followed_count; f++)
        run->least[f].item_size = sizeof(struct least_value);
    return run;
}

static bool run_reserve(struct gs_row_runs *runs, struct gs_row_run *run)
{
    struct gs_holder *holder = runs->store.holder;
    bool has_room = gs_ring_reserve(&run->rows, holder);
    for (uint32_t f = 0; f < runs->followed_count && has_room; f++)
        has_room = gs_ring_reserve(&run->least[f], holder);
    return has_room;
}

/* The lists with room for so many runs, which is enough; false where there is no memory. */
static bool lists_move(struct gs_row_runs *runs, uint32_t capacity)
{
    struct gs_holder *holder = runs->store.holder;
    uint64_t before = 2ull * runs->run_capacity * sizeof *runs->runs;
    uint64_t bytes = 2ull * capacity * sizeof *runs->runs;
    if (bytes > before && !gs_hold(holder, bytes - before)) return false;
    struct gs_row_run **list = realloc(runs->runs, capacity * sizeof *list);
    if (list != NULL) runs->runs = list;
    struct gs_row_run **heap = realloc(runs->heap, capacity * sizeof *heap);
    if (heap != NULL) runs->heap = heap;
    bool has_room = bytes <= before || (list != NULL && heap != NULL);
    if (bytes > before && !has_room) gs_let_go(holder, bytes - before);
    if (bytes < before) gs_let_go(holder, before - bytes);
    if (has_room) runs->run_capacity = capacity;
    return has_room;
}

/* Room in the lists for one more run. */
static bool lists_reserve(struct gs_row_runs *runs)
{
    if (runs->run_count < runs->run_capacity) return true;
    return lists_move(runs, runs->run_capacity == 0 ? FEW_RUNS : 2 * runs->run_capacity);
}

/* One may have room though the other had no memory for it. */
static void lists_free(struct gs_row_runs *runs)
{
    if (runs->run_capacity > 0)
        gs_let_go(runs->store.holder, 2ull * runs->run_capacity * sizeof *runs->runs);
    free(runs->runs);
    free(runs->heap);
    runs->runs = runs->heap = NULL;
    runs->run_capacity = 0;
}

/* Where it cannot, the lists stay as they are. */
static void lists_tidy(struct gs_row_runs *runs)
{
    if (runs->run_count == 0 && runs->run_capacity > 0)
        lists_free(runs);
    else if (runs->run_capacity > FEW_RUNS && runs->run_count < runs->run_capacity / SPARSE_PART)
        lists_move(runs, 2 * runs->run_count < FEW_RUNS ? FEW_RUNS : 2 * runs->run_count);
}

static bool is_before(const struct gs_held_row *row, gs_bound key, uint64_t place)
{
    return row->key != key ? row->key < key : row->place < place;
}

/* The run whose last row is the greatest that is not behind this one; `run_count` where there is
 * none. Of rows of the same key and place, as a union has a packet twice, no two runs end in one.
 */
static uint32_t run_of(const struct gs_row_runs *runs, gs_bound key, uint64_t place)
{
    uint32_t low = 0, high = runs->run_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct gs_held_row *last = gs_ring_last(&runs->runs[middle]->rows);
        if (last->key < key || (last->key == key && last->place <= place))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- the heap of runs ---- */

static bool heap_is_before(const struct gs_row_runs *runs, uint32_t a, uint32_t b)
{
    const struct gs_held_row *row = gs_ring_first(&runs->heap[b]->rows);
    return is_before(gs_ring_first(&runs->heap[a]->rows), row->key, row->place);
}

static void heap_swap(struct gs_row_runs *runs, uint32_t a, uint32_t b)
{
    struct gs_row_run *run = runs->heap[a];
    runs->heap[a] = runs->heap[b];
    runs->heap[b] = run;
}

static void heap_rise(struct gs_row_runs *runs, uint32_t at)
{
    for (; at > 0 && heap_is_before(runs, at, (at - 1) / 2); at = (at - 1) / 2)
        heap_swap(runs, at, (at - 1) / 2);
}

static void heap_sink_first(struct gs_row_runs *runs)
{
    uint32_t at = 0;
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < runs->run_count; child++)
            if (heap_is_before(runs, child, least)) least = child;
        if (least == at) return;
        heap_swap(runs, at, least);
        at = least;
    }
}

/* A run that has its first row now. */
static void enlist(struct gs_row_runs *runs, struct gs_row_run *run)
{
    uint32_t at = runs->run_count++;
    runs->runs[at] = runs->heap[at] = run; /* no other ends before it: it would be that one's */
    heap_rise(runs, at);
}

/* The first run of the heap has no row any more. Its last row was the least that was held, so that
 * it is the last of the list. */
static void dismiss_first(struct gs_row_runs *runs)
{
    struct gs_row_run *run = runs->heap[0];
    runs->run_count--;
    runs->heap[0] = runs->heap[runs->run_count];
    if (runs->run_count > 0) heap_sink_first(runs);
    run_free(runs, run);
}

/* ---- rows ---- */

static void follow(struct gs_row_runs *runs, struct gs_row_run *run, const struct gs_batch *batch,
                   uint32_t row)
{
    uint64_t number = run->left + run->rows.count - 1;
    for (uint32_t f = 0; f < runs->followed_count; f++) {
        struct gs_ring *ring = &run->least[f];
        gs_bound value = gs_row_held_bound(batch, runs->followed[f], row);
        for (const struct least_value *last = gs_ring_last(ring);
             last != NULL && last->value >= value; last = gs_ring_last(ring))
            gs_ring_pop_last(ring);
        *(struct least_value *)gs_ring_push(ring) = (struct least_value){value, number};
    }
}

bool gs_row_runs_add(struct gs_row_runs *runs, const struct gs_batch *batch, uint32_t row,
                     gs_bound key, uint64_t place)
{
    uint32_t at = run_of(runs, key, place);
    bool is_new = at == runs->run_count;
    if (is_new && !lists_reserve(runs)) return false;
    struct gs_row_run *run = is_new ? run_new(runs) : runs->runs[at];
    struct gs_row_chunk *chunk = NULL;
    if (run != NULL && run_reserve(runs, run)) chunk = gs_row_store_add(&runs->store, batch, row);
    if (chunk == NULL) {
        if (is_new && run != NULL) run_free(runs, run);
        return false;
    }
    *(struct gs_held_row *)gs_ring_push(&run->rows) =
        (struct gs_held_row){key, place, chunk, chunk->batch->row_count - 1, batch->is_partial};
    follow(runs, run, batch, row);
    if (is_new) enlist(runs, run);
    return true;
}

const struct gs_held_row *gs_row_runs_first(const struct gs_row_runs *runs)
{
    return runs->run_count == 0 ? NULL : gs_ring_first(&runs->heap[0]->rows);
}

void gs_row_runs_remove_first(struct gs_row_runs *runs)
{
    struct gs_row_run *run = runs->heap[0];
    struct gs_holder *holder = runs->store.holder;
    const struct gs_held_row *row = gs_ring_first(&run->rows);
    gs_row_store_remove(&runs->store, row->chunk);
    for (uint32_t f = 0; f < runs->followed_count; f++) {
        const struct least_value *first = gs_ring_first(&run->least[f]);
        if (first->number == run->left) gs_ring_pop_first(&run->least[f], holder);
    }
    gs_ring_pop_first(&run->rows, holder);
    run->left++;
    if (run->rows.count == 0)
        dismiss_first(runs);
    else
        heap_sink_first(runs);
}

/* Rows of sparse chunks to a new one; those for which there is no room stay where they are. */
static void move_rows(struct gs_row_runs *runs)
{
    struct gs_row_chunk *before = runs->store.newest;
    runs->store.newest = NULL;
    for (uint32_t r = 0; r < runs->run_count; r++)
        for (uint32_t i = 0; i < runs->runs[r]->rows.count; i++) {
            struct gs_held_row *held = gs_ring_at(&runs->runs[r]->rows, i);
            if (gs_row_store_move(&runs->store, &held->chunk, &held->row)) continue;
            if (r == 0 && i == 0) runs->store.newest = before;
            return;
        }
}

void gs_row_runs_tidy(struct gs_row_runs *runs)
{
    const struct gs_row_store *store = &runs->store;
    if (store->filled > SMALL_ROWS && store->filled / SPARSE_PART > store->count) move_rows(runs);
    lists_tidy(runs);
}

void gs_row_runs_close(struct gs_row_runs *runs)
{
    while (runs->run_count > 0)
        gs_row_runs_remove_first(runs);
    lists_free(runs);
    free(runs->followed);
    gs_row_store_close(&runs->store);
}

/* ---- what is held ---- */

static gs_bound least_followed(const struct gs_row_runs *runs, uint32_t f)
{
    gs_bound least = GS_BOUND_END;
    for (uint32_t r = 0; r < runs->run_count; r++) {
        const struct least_value *first = gs_ring_first(&runs->runs[r]->least[f]);
        if (first->value < least) least = first->value;
    }
    return least;
}

gs_bound gs_row_runs_least(const struct gs_row_runs *runs, uint32_t column)
{
    const struct gs_held_row *first = gs_row_runs_first(runs);
    if (column == runs->key_column)
        return first == NULL ? GS_BOUND_END : gs_bound_of_held(first->key);
    uint32_t f = 0;
    while (runs->followed[f] != column)
        f++;
    return least_followed(runs, f);
}

static bool is_below(const struct gs_held_row *held, const struct gs_joint_bound *joint)
{
    const struct gs_batch *batch = held->chunk->batch;
    return gs_row_bound(batch, joint->columns[0], held->row) < joint->bounds[0] &&
           gs_row_bound(batch, joint->columns[1], held->row) < joint->bounds[1];
}

/* Where one of the two columns orders the rows, only those are looked at that are below it. */
static bool run_has_below(const struct gs_row_runs *runs, const struct gs_row_run *run,
                          const struct gs_joint_bound *joint)
{
    gs_bound limit = GS_BOUND_END;
    for (uint32_t i = 0; i < 2; i++)
        if (joint->columns[i] == runs->key_column) limit = joint->bounds[i];
    for (uint32_t i = 0; i < run->rows.count; i++) {
        const struct gs_held_row *held = gs_ring_at(&run->rows, i);
        if (held->key >= limit) return false;
        if (is_below(held, joint)) return true;
    }
    return false;
}

bool gs_row_runs_has_below(const struct gs_row_runs *runs, const struct gs_joint_bound *joint)
{
    for (uint32_t i = 0; i < 2; i++)
        if (gs_row_runs_least(runs, joint->columns[i]) >= joint->bounds[i]) return false;
    for (uint32_t r = 0; r < runs->run_count; r++)
        if (run_has_below(runs, runs->runs[r], joint)) return true;
    return false;
}

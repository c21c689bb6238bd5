/* SPDX-License-Identifier: Apache-2.0 */
/* What readers that divide files among themselves know together (extents.h), for each of them
 * (extent_reader.c). */
#ifndef GS_CAPTURE_EXTENTS_STATE_H
#define GS_CAPTURE_EXTENTS_STATE_H

#include <pthread.h>

#include "extents.h"
#include "file_capture.h"

struct gs_divided_file {
    bool is_begun, is_over;
    uint32_t users; /* readers that have it open, */
    int descriptor; /* by this one; -1: it is not yet, or nobody will read on in it */
    uint64_t total_bytes, begins_at; /* of it; where its records do */
    uint32_t extent_bytes;
    const struct gs_file_format *format;
    gs_read_records *read_records; /* as the format has them for this file */
    gs_peek_frames *peek_frames;
    struct gs_file_place header; /* what is known behind it */
    uint64_t taken;              /* extents that somebody has gone to fetch */
    uint64_t walked; /* of them; the next one's reader has the turn, and the fields below */
    uint64_t offset; /* of the first record that was not walked over */
    struct gs_file_place place;
    struct gs_source_time time;
};

/* One of them. */
struct gs_extents_reader {
    uint64_t at; /* when it took its last, counted in extents; UINT64_MAX: it is not waited for,
                  * since it waits, has not begun or has no file left */
    uint32_t files_left;
    uint64_t given_back; /* descriptors, by all, before it last went to open a file */
};

struct gs_extents {
    uint32_t extent_bytes;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint32_t reader_count;
    struct gs_extents_reader readers[GS_READERS_MAX];
    uint64_t taken;  /* extents of all files */
    bool is_opening; /* somebody is, a file */
    uint32_t descriptors;
    uint64_t given_back; /* descriptors so far */
    bool is_over;
    uint32_t file_count;
    struct gs_divided_file files[];
};

/* The first reader of a file has opened it: what it has found of it, and where it is read from on,
 * is for all, and so is its descriptor. GS_ERROR: it cannot be divided. */
int gs_extents_begin(struct gs_extents *extents, struct gs_divided_file *file,
                     struct gs_capture *capture, const struct gs_source_time *time,
                     struct gs_error *error);
/* A reader has it open no longer. */
void gs_extents_end_use(struct gs_extents *extents, struct gs_divided_file *file, uint32_t reader);

/* The reader has answered for what it had of the file, and has the next of its extents, unless all
 * are taken. Who waits is waited for by nobody. */
bool gs_extents_take(struct gs_extents *extents, struct gs_divided_file *file, uint32_t reader,
                     uint64_t *extent);
/* All before it has been walked over. False: it is over before. */
bool gs_extents_await_turn(struct gs_extents *extents, const struct gs_divided_file *file,
                           uint64_t extent);
void gs_extents_end_turn(struct gs_extents *extents, struct gs_divided_file *file, bool is_last);

/* What there was before gives its room. */
int gs_file_place_copy(struct gs_file_place *to, const struct gs_file_place *from,
                       struct gs_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "extents.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "extents_entry.h"
#include "extents_state.h"

/* Most of what is fetched stays in the L2 cache until it is read. */
#define EXTENT_BYTES ((uint32_t)512 << 10)
/* Of each reader, that may be gone to before the slowest has answered for its own: all that is
 * ahead of it is held above, since it may have more of every window. */
#define AHEAD_OF_EACH 2
#define NOBODY_WAITS UINT64_MAX
#define ROOM_WAIT_MS 10

struct gs_extents *gs_extents_new(uint32_t files, uint32_t readers, uint32_t extent_bytes)
{
    struct gs_extents *extents = calloc(1, sizeof *extents + files * sizeof *extents->files);
    if (extents == NULL) return NULL;
    extents->file_count = files;
    for (uint32_t file = 0; file < files; file++)
        extents->files[file].descriptor = -1;
    extents->reader_count = readers;
    for (uint32_t reader = 0; reader < readers; reader++)
        extents->readers[reader] =
            (struct gs_extents_reader){.at = NOBODY_WAITS, .files_left = files};
    extents->extent_bytes = extent_bytes > 0 ? extent_bytes : EXTENT_BYTES;
    pthread_mutex_init(&extents->lock, NULL);
    pthread_cond_init(&extents->moved, NULL);
    return extents;
}

void gs_extents_free(struct gs_extents *extents)
{
    if (extents == NULL) return;
    pthread_cond_destroy(&extents->moved);
    pthread_mutex_destroy(&extents->lock);
    for (uint32_t file = 0; file < extents->file_count; file++) {
        if (extents->files[file].descriptor >= 0) close(extents->files[file].descriptor);
        free(extents->files[file].header.interfaces);
        free(extents->files[file].place.interfaces);
    }
    free(extents);
}

void gs_extents_end(struct gs_extents *extents)
{
    pthread_mutex_lock(&extents->lock);
    extents->is_over = true;
    pthread_cond_broadcast(&extents->moved);
    pthread_mutex_unlock(&extents->lock);
}

/* ---- opening ---- */

/* It has no more of one of its files. */
static void leave_one(struct gs_extents *extents, uint32_t reader)
{
    if (--extents->readers[reader].files_left > 0) return;
    extents->readers[reader].at = NOBODY_WAITS;
    pthread_cond_broadcast(&extents->moved);
}

enum gs_extents_entry gs_extents_enter(struct gs_extents *extents, uint32_t file, uint32_t reader)
{
    struct gs_divided_file *divided = &extents->files[file];
    enum gs_extents_entry entry = GS_ENTRY_JOINS;
    pthread_mutex_lock(&extents->lock);
    while (extents->is_opening && !divided->is_begun && !extents->is_over)
        pthread_cond_wait(&extents->moved, &extents->lock);
    if (extents->is_over || divided->is_over) {
        entry = GS_ENTRY_IS_OVER;
        leave_one(extents, reader);
    } else if (divided->is_begun) {
        divided->users++;
    } else {
        entry = GS_ENTRY_OPENS;
        extents->is_opening = true;
        extents->readers[reader].given_back = extents->given_back;
    }
    pthread_mutex_unlock(&extents->lock);
    return entry;
}

void gs_extents_end_entry(struct gs_extents *extents, uint32_t file, int descriptor)
{
    pthread_mutex_lock(&extents->lock);
    if (descriptor >= 0 && !extents->files[file].is_begun) close(descriptor);
    extents->is_opening = false;
    pthread_cond_broadcast(&extents->moved);
    pthread_mutex_unlock(&extents->lock);
}

bool gs_extents_await_room(struct gs_extents *extents, uint32_t reader)
{
    struct gs_extents_reader *own = &extents->readers[reader];
    pthread_mutex_lock(&extents->lock);
    own->at = NOBODY_WAITS;
    pthread_cond_broadcast(&extents->moved);
    bool was_given_back = own->given_back != extents->given_back;
    bool may_be = was_given_back || extents->descriptors > 0;
    pthread_mutex_unlock(&extents->lock);
    if (may_be && !was_given_back) (void)poll(NULL, 0, ROOM_WAIT_MS);
    return may_be;
}

/* What there was before gives its room. */
int gs_file_place_copy(struct gs_file_place *to, const struct gs_file_place *from,
                       struct gs_error *error)
{
    struct gs_file_interface *interfaces = to->interfaces;
    uint32_t room = to->interface_room;
    if (room < from->interface_count) {
        interfaces = realloc(interfaces, from->interface_count * sizeof *interfaces);
        if (interfaces == NULL) return gs_fail(error, GS_ERROR, "out of memory");
        room = from->interface_count;
    }
    if (from->interface_count > 0)
        memcpy(interfaces, from->interfaces, from->interface_count * sizeof *interfaces);
    *to = *from;
    to->interfaces = interfaces;
    to->interface_room = room;
    return GS_OK;
}

bool gs_extents_has_room(struct gs_extents *extents, uint32_t file, uint32_t reader)
{
    const struct gs_divided_file *divided = &extents->files[file];
    pthread_mutex_lock(&extents->lock);
    bool has_room = divided->is_begun || divided->is_over || extents->is_over ||
                    extents->readers[reader].given_back != extents->given_back;
    pthread_mutex_unlock(&extents->lock);
    return has_room;
}

static int share(struct gs_extents *extents, struct gs_divided_file *file,
                 struct gs_capture *capture, struct gs_error *error)
{
    struct gs_byte_input *input = &capture->input;
    uint64_t bytes = input->total_bytes + 1; /* so that a small file's first extent is its last */
    GS_RETURN_IF_ERROR(gs_file_place_copy(&file->header, &capture->place, error));
    GS_RETURN_IF_ERROR(gs_file_place_copy(&file->place, &capture->place, error));
    file->descriptor = input->descriptor;
    input->owns_descriptor = false;
    file->extent_bytes = bytes < extents->extent_bytes ? (uint32_t)bytes : extents->extent_bytes;
    file->total_bytes = input->total_bytes;
    file->format = capture->format;
    file->read_records = capture->read_records;
    file->peek_frames = capture->peek_frames;
    file->begins_at = file->offset = gs_byte_input_offset(input);
    return GS_OK;
}

int gs_extents_begin(struct gs_extents *extents, struct gs_divided_file *file,
                     struct gs_capture *capture, const struct gs_source_time *time,
                     struct gs_error *error)
{
    const struct gs_byte_input *input = &capture->input;
    if (capture->is_records || input->waits || gs_byte_input_is_mapped(input))
        return gs_fail(error, GS_ERROR, "is no capture file that can be divided among readers");
    GS_RETURN_IF_ERROR(share(extents, file, capture, error));
    file->time = *time;
    pthread_mutex_lock(&extents->lock);
    extents->descriptors++;
    file->is_begun = true;
    file->users = 1;
    pthread_cond_broadcast(&extents->moved);
    pthread_mutex_unlock(&extents->lock);
    return GS_OK;
}

/* Nobody will read on in it. */
static void give_back(struct gs_extents *extents, struct gs_divided_file *file)
{
    close(file->descriptor);
    file->descriptor = -1;
    extents->descriptors--;
    extents->given_back++;
}

void gs_extents_end_use(struct gs_extents *extents, struct gs_divided_file *file, uint32_t reader)
{
    pthread_mutex_lock(&extents->lock);
    file->users--;
    if (file->users == 0 && (file->is_over || extents->is_over)) give_back(extents, file);
    leave_one(extents, reader);
    pthread_mutex_unlock(&extents->lock);
}

/* ---- turns ---- */

static bool is_far_ahead(const struct gs_extents *extents)
{
    uint64_t most = (uint64_t)AHEAD_OF_EACH * extents->reader_count;
    for (uint32_t r = 0; r < extents->reader_count; r++) {
        uint64_t at = extents->readers[r].at;
        if (at != NOBODY_WAITS && extents->taken - at >= most) return true;
    }
    return false;
}

bool gs_extents_take(struct gs_extents *extents, struct gs_divided_file *file, uint32_t reader,
                     uint64_t *extent)
{
    struct gs_extents_reader *own = &extents->readers[reader];
    pthread_mutex_lock(&extents->lock);
    uint64_t before = own->at;
    own->at = NOBODY_WAITS;
    pthread_cond_broadcast(&extents->moved);
    while (!extents->is_over && !file->is_over && is_far_ahead(extents))
        pthread_cond_wait(&extents->moved, &extents->lock);
    bool is_there = !extents->is_over && !file->is_over;
    if (is_there) *extent = file->taken++;
    own->at = is_there ? extents->taken++ : before; /* it may have pieces of other files */
    pthread_mutex_unlock(&extents->lock);
    return is_there;
}

bool gs_extents_await_turn(struct gs_extents *extents, const struct gs_divided_file *file,
                           uint64_t extent)
{
    pthread_mutex_lock(&extents->lock);
    while (file->walked != extent)
        pthread_cond_wait(&extents->moved, &extents->lock);
    bool is_there = !extents->is_over && !file->is_over;
    pthread_mutex_unlock(&extents->lock);
    return is_there;
}

void gs_extents_end_turn(struct gs_extents *extents, struct gs_divided_file *file, bool is_last)
{
    pthread_mutex_lock(&extents->lock);
    file->walked++;
    file->is_over |= is_last;
    pthread_cond_broadcast(&extents->moved);
    pthread_mutex_unlock(&extents->lock);
}

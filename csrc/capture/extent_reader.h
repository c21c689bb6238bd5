/* SPDX-License-Identifier: Apache-2.0 */
/* One of the readers that divide a capture file (extents.h). */
#ifndef GS_CAPTURE_EXTENT_READER_H
#define GS_CAPTURE_EXTENT_READER_H

#include "file_capture.h"

/* Whether one of them has opened the file that is meant, so that the others join. */
bool gs_extents_has_begun(const struct gs_capture_config *config);
/* The capture of the first of them, which has read the header of the file, goes on by extents.
 * GS_ERROR: it is none that can be divided; no memory. */
int gs_extents_found(struct gs_capture *capture, const struct gs_capture_config *config,
                     struct gs_error *error);
/* Another's does, which has not opened it. */
int gs_extents_join(struct gs_capture *capture, const struct gs_capture_config *config,
                    struct gs_error *error);

/* gs_capture_ops.peek: records have been looked at when they were walked over. */
uint32_t gs_extents_peek(const struct gs_capture *capture, struct gs_frame *frames,
                         uint32_t capacity, const struct gs_frame_reach *reach,
                         struct gs_frame_run *run);

/* It has read its last, and nobody waits for it. */
void gs_extents_leave(struct gs_capture *capture);

/* The next extent takes the place of the window, whose records have all been given out, and the
 * source's time is what it is there. GS_END: nobody has more; what is left in the window is of a
 * record that is cut off. GS_DAMAGED: the file cannot be read on. */
int gs_extents_next(struct gs_capture *capture, struct gs_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Errors are values with a message: every function that can fail returns a code and fills one of
 * these; only the command line turns it into text for a person. */
#ifndef GS_BASE_ERROR_H
#define GS_BASE_ERROR_H

#include "gs_types.h"

/* A whole path and a sentence about it: a path that is cut helps nobody. */
enum { GS_MESSAGE_BYTES = 4096 + 512 };

struct gs_error {
    int code;
    char message[GS_MESSAGE_BYTES];
};

/* Fills `error` (which may be NULL) and returns `code`, so that a caller writes
 * `return gs_fail(error, GS_ERROR, "...")`. */
int gs_fail(struct gs_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define GS_RETURN_IF_ERROR(expression)                                                             \
    do {                                                                                           \
        int gs_status_ = (expression);                                                             \
        if (gs_status_ != GS_OK) return gs_status_;                                                \
    } while (0)

#endif

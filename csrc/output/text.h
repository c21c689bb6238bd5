/* SPDX-License-Identifier: Apache-2.0 */
/* A growing buffer of text that is filled, written out and filled again: it keeps its memory, so
 * that printing allocates only until the longest batch has been seen. Starts as all zeros. */
#ifndef GS_OUTPUT_TEXT_H
#define GS_OUTPUT_TEXT_H

#include "gs_types.h"

struct gs_text {
    uint8_t *bytes;
    size_t length;
    size_t capacity;
};

/* Empties the text and keeps its memory. */
void gs_text_reset(struct gs_text *text);

/* Gives the memory back; the text is empty and can be used again. */
void gs_text_free(struct gs_text *text);

/* Makes room for `extra` more bytes. GS_OK, or GS_ERROR where there is no memory. */
int gs_text_reserve(struct gs_text *text, size_t extra);

#endif

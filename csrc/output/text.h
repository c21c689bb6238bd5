/* SPDX-License-Identifier: Apache-2.0 */
/* A growing buffer of text. Starts as all zeros; filled again from length 0 on it keeps its
 * memory. */
#ifndef GS_OUTPUT_TEXT_H
#define GS_OUTPUT_TEXT_H

#include "gs_types.h"

struct gs_text {
    uint8_t *bytes;
    size_t length;
    size_t capacity;
};

/* Gives the memory back; the text is empty and can be used again. */
void gs_text_free(struct gs_text *text);

#endif

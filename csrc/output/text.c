/* SPDX-License-Identifier: Apache-2.0 */
#include "row_format.h"

#include <stdlib.h>

#define FIRST_CAPACITY 65536

void gs_text_free(struct gs_text *text)
{
    free(text->bytes);
    *text = (struct gs_text){0};
}

int gs_text_reserve(struct gs_text *text, size_t extra)
{
    if (text->capacity - text->length >= extra) return GS_OK;
    size_t capacity = text->capacity == 0 ? FIRST_CAPACITY : text->capacity;
    while (capacity - text->length < extra) {
        if (capacity > SIZE_MAX / 2) return GS_ERROR;
        capacity *= 2;
    }
    uint8_t *bytes = realloc(text->bytes, capacity);
    if (bytes == NULL) return GS_ERROR;
    text->bytes = bytes;
    text->capacity = capacity;
    return GS_OK;
}

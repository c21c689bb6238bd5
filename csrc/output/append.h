/* SPDX-License-Identifier: Apache-2.0 */
/* What the writers of rows share. */
#ifndef GS_OUTPUT_APPEND_H
#define GS_OUTPUT_APPEND_H

#include "text.h"
#include "value.h"

/* Makes room for `extra` more bytes. GS_OK, or GS_ERROR where there is no memory. */
int gs_text_reserve(struct gs_text *text, size_t extra);

#endif

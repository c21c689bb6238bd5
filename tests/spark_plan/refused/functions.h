/* SPDX-License-Identifier: Apache-2.0 */
/* Of nothing a table can be made. */
#include "gs_extension.h"

static inline uint64_t gs_function_entropy_ullong_string(uint64_t value, const void *table)
{
    (void)table;
    return value;
}

static inline void *gs_handle_entropy_ullong_string_new(struct gs_string text, char *message,
                                                        size_t message_size)
{
    (void)text;
    snprintf(message, message_size, "there is no such table");
    return NULL;
}

static inline void gs_handle_entropy_ullong_string_free(void *table)
{
    (void)table;
}

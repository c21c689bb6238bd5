/* SPDX-License-Identifier: Apache-2.0 */
/* States that go on: what docs/extensions.md tells of, and one that is told of silence. */
#include "gs_extension.h"

static inline void gs_udaf_fading_uint_init(uint64_t *left)
{
    *left = 0;
}
static inline void gs_udaf_fading_uint_update(uint64_t *left, uint32_t bytes)
{
    *left += bytes;
}
static inline void gs_udaf_fading_uint_merge(uint64_t *left, const uint64_t *more)
{
    *left += *more;
}
static inline bool gs_udaf_fading_uint_valid(const uint64_t *left)
{
    (void)left;
    return true;
}
static inline uint64_t gs_udaf_fading_uint_output(const uint64_t *left)
{
    return *left;
}
static inline void gs_udaf_fading_uint_moved(uint64_t *left, uint64_t windows)
{
    *left = windows > 63 ? 0 : *left >> windows;
}

struct idle {
    uint32_t windows;
    uint32_t has_rows;
};

static inline void gs_udaf_idle_uint_init(void *state)
{
    (void)state;
}
static inline void gs_udaf_idle_uint_update(void *state, uint32_t bytes)
{
    (void)bytes;
    ((struct idle *)state)->has_rows = 1;
}
static inline void gs_udaf_idle_uint_merge(void *state, const void *other)
{
    if (((const struct idle *)other)->has_rows) ((struct idle *)state)->windows = 0;
}
static inline bool gs_udaf_idle_uint_valid(const void *state)
{
    (void)state;
    return true;
}
static inline uint32_t gs_udaf_idle_uint_output(const void *state)
{
    return ((const struct idle *)state)->windows;
}
static inline void gs_udaf_idle_uint_moved(void *state, uint64_t windows)
{
    ((struct idle *)state)->windows += (uint32_t)windows;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the user of a file knows of its link types: of those that are user-defined only he does. */
#ifndef GS_CAPTURE_LINK_TYPES_H
#define GS_CAPTURE_LINK_TYPES_H

#include <stdint.h>

#define GS_LINK_TYPES_MAX 16

struct gs_link_type {
    uint32_t number, taken_as; /* LINKTYPE_ numbers: where the first stands, the other is meant */
};

struct gs_link_types {
    uint32_t count;
    struct gs_link_type types[GS_LINK_TYPES_MAX];
};

#endif

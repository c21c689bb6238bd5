/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine has of its own in supergroups and their groups (GSQL section 6.5). */
#ifndef GS_SUPERGROUPS_H
#define GS_SUPERGROUPS_H

#include <stdbool.h>
#include <stdint.h>

struct gs_group_table;

/* What generated code's own supergroups begin with. */
struct gs_supergroup {
    uint32_t control;            /* as struct gs_group_table has it */
    uint32_t first, last;        /* of its groups in order: their numbers from 1; 0: it has none */
    uint64_t count;              /* of them */
    struct gs_group_table *kept; /* where its texts lie; NULL: it has none */
};

/* The engine's in an entry. */
struct gs_sample_link {
    uint32_t supergroup, next;   /* numbers: from 0; of the group behind it from 1 */
    bool is_gone;                /* cleaned away: it is found no more, and does not leave */
    struct gs_group_table *kept; /* where what it keeps lies; NULL: it keeps nothing */
};

#endif

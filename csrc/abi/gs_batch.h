/* SPDX-License-Identifier: Apache-2.0 */
/* The one message that flows between operators: Arrow columns and a punctuation (OPERATORS
 * section 1). A heartbeat is a batch of no rows. Columns have Arrow's memory layout, so that giving
 * one away is handing over its buffers. */
#ifndef GS_BATCH_H
#define GS_BATCH_H

#include "gs_types.h"

struct gs_field {
    const char *name;
    const char *subtype; /* presentation: "mac" or "" */
    uint8_t type;        /* enum gs_type */
    uint8_t nullable;
    int8_t temporal; /* 1 increasing, -1 decreasing (its bounds are of the negative), 0 varying */
    uint16_t size;   /* GS_OPAQUE: bytes of a value, 1 to GS_OPAQUE_MAX; 0 for all others */
};

struct gs_schema {
    const char *stream; /* the query's name, or an inner stream's */
    uint32_t column_count;
    const struct gs_field *fields;
};

/* One column. `values`: fixed-width values in Arrow's layout (GS_BOOL: one bit a row, least bit
 * first; GS_INET and GS_IPV6: 16 bytes; GS_OPAQUE: the field's size); for GS_STRING the bytes, row
 * i being those from offsets[i] to offsets[i + 1]. `validity` is NULL where the field is not
 * nullable, else one bit a row. */
struct gs_column {
    void *values;
    int32_t *offsets;
    uint8_t *validity;
    uint32_t string_capacity; /* bytes of `values` of a string column */
};

#define GS_TRACE_CAPACITY 16

/* What a heartbeat met on its way (Johnson et al., VLDB 2005, sections 3 and 6). */
struct gs_trace_step {
    uint32_t origin;            /* a node; of an LFTA the number of nodes + its port */
    uint32_t queue_length;      /* rows that waited to go on when it came */
    int64_t received_ns;        /* monotonic clock */
    uint64_t rows_in, rows_out; /* so far, what goes on with it among them */
    uint64_t held;              /* rows or groups that stay */
    int64_t cost_ns;            /* from then until it went on, without what consumers took */
};

struct gs_trace {
    uint64_t trace_id;
    uint32_t step_count;
    struct gs_trace_step steps[GS_TRACE_CAPACITY];
};

/* No later row is below the first bound in the first column *and* below the second in the second:
 * what a join knows of its two clocks before it knows as much of either. */
struct gs_joint_bound {
    bool is_given;
    uint32_t columns[2]; /* the lesser first */
    gs_bound bounds[2];
};

struct gs_punctuation {
    gs_bound *bounds; /* one a column: no later row is below it; GS_BOUND_NONE where varying */
    struct gs_joint_bound joint;
};

struct gs_shared_object;

struct gs_batch {
    const struct gs_schema *schema;
    struct gs_column *columns;
    struct gs_punctuation punctuation;
    uint32_t row_count;
    uint32_t row_capacity;
    uint32_t source;    /* node and interface that made it */
    uint64_t sequence;  /* of this stream, from 0 */
    int64_t made_at_ns; /* monotonic clock */
    bool is_heartbeat;  /* sent by the timer, with or without rows */
    bool is_end;        /* the stream's last: every bound is infinite */
    bool is_partial;    /* rows of a window in which groups were refused */
    /* Interfaces, by their ordinals, of which a source had failed: of what this punctuation closes
     * rows of theirs may be missing, as of what its own rows were made of (Johnson et al., VLDB
     * 2005, section 6.1). GS_MISSING_CUT: its set came, or went, amid the windows of its rows. */
    uint64_t missing;
    uint64_t still_missing; /* of what is sent behind it, until a batch says otherwise */
    struct gs_trace trace;
    uint32_t references;          /* from here on each batch has its own, a view too */
    struct gs_batch *parent;      /* whose columns these are, where this is a view; else NULL */
    struct gs_schema *own_schema; /* freed with the batch, where no query set owns it; else NULL */
    struct gs_shared_object *object; /* with the schema, once it may outlive its query set */
};

#define GS_MISSING_CUT (UINT64_C(1) << 63)

/* The last stands for all interfaces behind it. */
static inline uint64_t gs_missing_bit(uint32_t interface)
{
    return UINT64_C(1) << (interface < 62 ? interface : 62);
}

static inline void gs_bit_set(void *bits, uint32_t row, bool value)
{
    uint8_t *byte = (uint8_t *)bits + (row >> 3);
    uint8_t mask = (uint8_t)(1u << (row & 7));
    *byte = value ? (uint8_t)(*byte | mask) : (uint8_t)(*byte & ~mask);
}

static inline bool gs_bit_get(const void *bits, uint32_t row)
{
    return (((const uint8_t *)bits)[row >> 3] >> (row & 7)) & 1;
}

static inline bool gs_column_is_null(const struct gs_column *column, uint32_t row)
{
    return column->validity != NULL && !gs_bit_get(column->validity, row);
}

static inline struct gs_string gs_column_string(const struct gs_column *column, uint32_t row)
{
    struct gs_string s = {(const uint8_t *)column->values + column->offsets[row],
                          (uint32_t)(column->offsets[row + 1] - column->offsets[row])};
    return s;
}

/* Whether a string of this length can be put into row `row` as it is. */
static inline bool gs_column_fits(const struct gs_column *column, uint32_t row, uint32_t length)
{
    return length <= column->string_capacity - (uint32_t)column->offsets[row];
}

/* Appends; the caller has made sure of the room (lfta_room, operator_room). */
static inline void gs_column_put_string(struct gs_column *column, uint32_t row, struct gs_string s)
{
    int32_t at = column->offsets[row];
    if (s.length > 0) memcpy((uint8_t *)column->values + at, s.bytes, s.length);
    column->offsets[row + 1] = at + (int32_t)s.length;
}

#endif

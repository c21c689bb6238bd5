/* SPDX-License-Identifier: Apache-2.0 */
/* What a query puts together and in order before it looks (GSQL section 2: defragment, tcp_order),
 * and what became of it. */
#ifndef GS_REASSEMBLY_H
#define GS_REASSEMBLY_H

#include "gs_types.h"

/* What a view is told to do. */
struct gs_reassembly {
    bool datagrams; /* put together, of their fragments */
    bool segments;  /* of TCP: in the order of their sequence */
};

/* Fragments, by what became of them; but for `datagrams` all are of `fragments`, and what is of
 * none of them is waiting, or part of a datagram. */
struct gs_reassembled {
    uint64_t fragments;
    uint64_t datagrams;   /* that were put together */
    uint64_t incomplete;  /* the rest did not come in time, or before the end */
    uint64_t no_room;     /* given up, the oldest first, for others */
    uint64_t overlapping; /* of a datagram whose fragments contradict each other */
    uint64_t malformed;   /* that cannot be part of any datagram */
    uint64_t repeated;    /* that were there already */
};

/* Segments, and what of the sequence was missing when they went on. */
struct gs_sequenced {
    uint64_t segments;
    uint64_t held;     /* since they came before those that they follow */
    uint64_t repeated; /* nothing in them was new, or they came when it had been given up */
    /* gaps that were given up: */
    uint64_t waited;    /* nothing came in time */
    uint64_t no_room;   /* the oldest first, for others */
    uint64_t ended;     /* the input ended, or another stream began */
    uint64_t forgotten; /* directions, the one first of which nothing has come for the longest */
};

#endif

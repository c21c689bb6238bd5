/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel refuses a process that reads packets, should one of them ever take it over: a
 * list of system calls that it never needs (seccomp), and files outside the folders that it writes
 * (Landlock). Both are for good. A kernel without one of them refuses less; that is no failure. */
#ifndef GS_PROCESS_CONFINEMENT_H
#define GS_PROCESS_CONFINEMENT_H

#include "gs_types.h"

struct gs_confinement {
    bool has_seccomp; /* of all threads */
    int landlock_abi; /* of this thread and those that it makes; 0: none */
};

/* Who it is. Filters add up in children: who forks all has what none of them lacks. */
enum gs_confined {
    GS_CONFINED_CAPTURE = 0, /* reads packets: no program, no process, no connection */
    GS_CONFINED_SUPERVISOR,  /* the same, but takes connections in, and sends */
    GS_CONFINED_COMPILER,    /* runs programs, makes processes, sends; connects to nobody */
    GS_CONFINED_OPENER,      /* makes raw packet sockets, and no others; changes no file */
    GS_CONFINED_LOADING,     /* forks loaders: a compiler that connects to databases, too */
    GS_CONFINED_LOADER       /* fills a table: connects and sends; no program, no process */
};

/* Confines this process; only below `folders` it makes, changes and removes files from now on. What
 * is open stays open. Call it after gs_give_up_privileges. An engine that was built to be measured
 * (sanitizers, coverage) is not confined: its reports need what is refused. */
void gs_confine(int32_t confined, const char *const *folders, uint32_t count,
                struct gs_confinement *done);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up what a capture needed to be opened: packets are a stranger's, and nothing that reads
 * them should be able to do more than read them.
 *
 * Some of it is each thread's own, and libraries make threads as they like. So it goes in two
 * steps: what opening does not need goes before there are other threads, which inherit that; the
 * rest goes by changing the user, which the C library does in all of them. */
#ifndef GS_RUNTIME_PRIVILEGES_H
#define GS_RUNTIME_PRIVILEGES_H

#include "../base/error.h"

/* Sets no_new_privs and empties the bounding, ambient and inheritable sets: of this thread and
 * those that it makes. What the process may do by itself stays as it is. */
int gs_gain_no_privileges(struct gs_error *error);

/* Gives up every capability and, where this process is root, makes it this user of this group, of
 * no other. For good. GS_ERROR where a thread would keep something. */
int gs_give_up_privileges(uint32_t user, uint32_t group, struct gs_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up what a capture needed to be opened: packets are a stranger's, and nothing that reads
 * them should be able to do more than read them.
 *
 * Some of it is each thread's own, and libraries make threads as they like. So nothing is gained
 * from before there are other threads on, and where the user does not change, which the C library
 * does in all threads, capabilities go then, too: but for one thread, which opens the links and
 * ends. */
#ifndef GS_PROCESS_PRIVILEGES_H
#define GS_PROCESS_PRIVILEGES_H

#include "../base/error.h"

#define GS_SAME_USER UINT32_MAX

/* Sets no_new_privs and empties the ambient and inheritable sets: of this thread and those that it
 * makes. What the process may do by itself stays as it is. */
int gs_gain_no_privileges(struct gs_error *error);

/* No program that this thread, or one that it makes from now on, runs has a capability. */
void gs_empty_bounding_set(void);

/* Gives up every capability of this thread, and of those that it makes from now on. */
int gs_drop_capabilities(struct gs_error *error);

/* Gives up every capability and makes the process this user of this group, of no other; or, with
 * GS_SAME_USER, of none but its groups. For good. GS_ERROR where a thread would keep something. */
int gs_give_up_privileges(uint32_t user, uint32_t group, struct gs_error *error);

/* The same, but for CAP_NET_RAW, which this thread keeps: it opens packet sockets and can be handed
 * on to no program. Call it with one thread. GS_ERROR where it is not there to be kept. */
int gs_keep_packet_sockets(uint32_t user, uint32_t group, struct gs_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel knows of a network device, asked through any socket: so that the answer is that
 * of the network namespace in which the socket was made. None of it needs a capability. */
#ifndef GS_CAPTURE_LINK_H
#define GS_CAPTURE_LINK_H

#include "capture.h"

/* 0: there is no device of this name. */
int gs_link_index(int descriptor, const char *device);
/* Of the device with this name and index. */
/* Of IF_NAMESIZE bytes; false: there is no device with this index. */
bool gs_link_name(int descriptor, int index, char *name);
enum gs_link_state gs_link_state(int descriptor, const char *device, int index);
/* The LINKTYPE_ number of its frames as a raw packet socket gives them; -1: not one that we know,
 * *hardware_type is the kernel's number of it. */
int64_t gs_link_type(int descriptor, const char *device, unsigned *hardware_type);
bool gs_link_is_of_type(int descriptor, const char *device, uint32_t link_type);
/* The longest frame that the device sends and takes, tags included; UINT32_MAX: there is no such.
 */
uint32_t gs_link_longest_frame(int descriptor, const char *device);
bool gs_link_is_loopback(int descriptor, const char *device);
/* Gives a packet socket to the device with this index: frames for others, too, where it is
 * promiscuous. The device forgets that when it goes, the socket when it is closed. 0, or -1 with
 * errno. */
int gs_link_bind(int descriptor, int index, bool promiscuous);
/* Packets that the device received and dropped by itself, by now; 0 where nobody knows. */
uint64_t gs_link_dropped(const char *device);

#endif

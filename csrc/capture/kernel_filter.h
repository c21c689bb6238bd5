/* SPDX-License-Identifier: Apache-2.0 */
/* The classic BPF program of a packet socket: what the kernel drops before it costs anything, and
 * how much of the rest it captures. */
#ifndef GS_CAPTURE_KERNEL_FILTER_H
#define GS_CAPTURE_KERNEL_FILTER_H

#include "capture.h"

/* Attaches the program for this link type, made to accept config->snap_length bytes, or one that
 * accepts everything up to that. *filters says which. */
int gs_kernel_filter_attach(int descriptor, const struct gs_live_config *config, uint32_t link_type,
                            bool *filters, struct gs_error *error);
/* From now on nothing passes. */
int gs_kernel_filter_close(int descriptor);

#endif

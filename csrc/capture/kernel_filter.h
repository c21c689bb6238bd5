/* SPDX-License-Identifier: Apache-2.0 */
/* The classic BPF program of a packet socket: what the kernel drops before it costs anything, and
 * how much of the rest it captures. */
#ifndef GS_CAPTURE_KERNEL_FILTER_H
#define GS_CAPTURE_KERNEL_FILTER_H

#include "capture.h"

struct sock_filter;

struct gs_kernel_filter {
    struct sock_filter *instructions;
    uint32_t length;
    uint32_t own_at; /* where the prefilter ends, and what the configuration says begins */
    uint32_t snap_length;
    bool filters; /* it does more than to cut packets, as the configuration says */
};

/* The program for this link type, made to accept config->snap_length bytes, or one that accepts
 * everything up to that. */
int gs_kernel_filter_make(struct gs_kernel_filter *filter, const struct gs_live_config *config,
                          uint32_t link_type, struct gs_error *error);
/* From now on it begins with this program, which knows no tags: what it rejects is rejected, what
 * it accepts is asked the rest. Of no instructions: with none. GS_ERROR leaves it as it was. */
int gs_kernel_filter_prefilter(struct gs_kernel_filter *filter,
                               const struct sock_filter *instructions, uint32_t length,
                               struct gs_error *error);
void gs_kernel_filter_free(struct gs_kernel_filter *filter);
int gs_kernel_filter_attach(int descriptor, const struct gs_kernel_filter *filter,
                            struct gs_error *error);
/* From now on nothing passes. */
int gs_kernel_filter_close(int descriptor);

#endif

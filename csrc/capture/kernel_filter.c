/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel has taken the outer VLAN tag out of a frame before a socket's filter sees it, so that
 * a filter would not say of a tagged frame what it says of the same frame in a file. So frames with
 * a tag all pass here, and the engine asks the same filter again when the tag is back in place
 * (gs_source_take, GS_FRAME_FILTERED). */
#include "kernel_filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PREFIX_LENGTH 3

static bool accepts(const struct sock_filter *instruction)
{
    return instruction->code == (BPF_RET | BPF_K) && instruction->k != 0;
}

static const struct gs_link_filter *find(const struct gs_live_config *config, uint32_t link_type)
{
    for (uint32_t i = 0; i < config->filter_count; i++)
        if (config->filters[i].link_type == link_type) return &config->filters[i];
    return NULL;
}

/* Frames with a tag pass: whoever looks next is the engine. */
static void pass_tagged(struct sock_filter *program, uint32_t snap_length)
{
    const struct sock_filter prefix[PREFIX_LENGTH] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, snap_length),
    };
    memcpy(program, prefix, sizeof prefix);
}

static uint32_t make(struct sock_filter *program, const struct gs_link_filter *filter,
                     uint32_t snap_length)
{
    if (filter == NULL) {
        program[0] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, snap_length);
        return 1;
    }
    pass_tagged(program, snap_length);
    memcpy(program + PREFIX_LENGTH, filter->instructions, filter->length * sizeof *program);
    for (uint32_t i = PREFIX_LENGTH; i < PREFIX_LENGTH + filter->length; i++)
        if (accepts(&program[i])) program[i].k = snap_length;
    return PREFIX_LENGTH + filter->length;
}

static int attach(int descriptor, struct sock_filter *instructions, uint32_t length)
{
    struct sock_fprog program = {(unsigned short)length, instructions};
    return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

int gs_kernel_filter_make(struct gs_kernel_filter *filter, const struct gs_live_config *config,
                          uint32_t link_type, struct gs_error *error)
{
    const struct gs_link_filter *found = find(config, link_type);
    struct sock_filter program[BPF_MAXINSNS];
    if (found != NULL && found->length > BPF_MAXINSNS - PREFIX_LENGTH)
        return gs_fail(error, GS_ERROR, "the filter is too long for the kernel");
    filter->filters = found != NULL;
    filter->snap_length = config->snap_length;
    filter->own_at = 0;
    filter->length = make(program, found, config->snap_length);
    filter->instructions = malloc(filter->length * sizeof *program);
    if (filter->instructions == NULL) return gs_fail(error, GS_ERROR, "out of memory");
    memcpy(filter->instructions, program, filter->length * sizeof *program);
    return GS_OK;
}

/* The union of the prefilters: what it accepts goes on behind it. */
static void put_prefilter(struct sock_filter *program, const struct sock_filter *instructions,
                          uint32_t length, uint32_t snap_length)
{
    pass_tagged(program, snap_length);
    for (uint32_t i = 0; i < length; i++) {
        struct sock_filter *line = &program[PREFIX_LENGTH + i];
        *line = instructions[i];
        if (accepts(line)) *line = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, length - i - 1);
    }
}

int gs_kernel_filter_prefilter(struct gs_kernel_filter *filter,
                               const struct sock_filter *instructions, uint32_t length,
                               struct gs_error *error)
{
    uint32_t own = filter->length - filter->own_at,
             before = length > 0 ? length + PREFIX_LENGTH : 0;
    if (length > BPF_MAXINSNS || before + own > BPF_MAXINSNS)
        return gs_fail(error, GS_ERROR, "the prefilter is too long for the kernel");
    struct sock_filter *program = malloc((before + own) * sizeof *program);
    if (program == NULL) return gs_fail(error, GS_ERROR, "out of memory");
    if (length > 0) put_prefilter(program, instructions, length, filter->snap_length);
    memcpy(program + before, filter->instructions + filter->own_at, own * sizeof *program);
    free(filter->instructions);
    filter->instructions = program;
    filter->length = before + own;
    filter->own_at = before;
    return GS_OK;
}

void gs_kernel_filter_free(struct gs_kernel_filter *filter)
{
    free(filter->instructions);
    filter->instructions = NULL;
}

int gs_kernel_filter_attach(int descriptor, const struct gs_kernel_filter *filter,
                            struct gs_error *error)
{
    if (attach(descriptor, filter->instructions, filter->length) == 0) return GS_OK;
    return gs_fail(error, GS_ERROR, "the kernel does not take the filter: %s", strerror(errno));
}

int gs_kernel_filter_close(int descriptor)
{
    struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
    return attach(descriptor, &nothing, 1);
}

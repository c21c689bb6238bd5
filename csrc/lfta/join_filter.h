/* SPDX-License-Identifier: Apache-2.0 */
/* Room for what a FILTER_JOIN keeps, all of it taken when its LFTA is opened. */
#ifndef GS_LFTA_JOIN_FILTER_H
#define GS_LFTA_JOIN_FILTER_H

#include "../base/error.h"
#include "../base/memory.h"
#include "gs_join_filter.h"

/* GS_REFUSED: the budget has no room for it. */
int gs_join_filter_open(const struct gs_join_filter_ops *ops, struct gs_holder *holder,
                        struct gs_join_filter **result, struct gs_error *error);
void gs_join_filter_close(struct gs_join_filter *filter, struct gs_holder *holder);

#endif

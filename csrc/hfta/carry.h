/* SPDX-License-Identifier: Apache-2.0 */
/* Promises carried through an operator's monotone expressions: forward with the joint bound, and
 * back, where one is asked for (OPERATORS sections 1 and 6). */
#ifndef GS_HFTA_CARRY_H
#define GS_HFTA_CARRY_H

#include "gs_query_set.h"

/* What `input`, the only port, promises of `count` expressions. `scratch` has room for as many
 * bounds; the input is as it was when this returns. */
void gs_carry(gs_carry_function carry, struct gs_punctuation *input, uint32_t count,
              struct gs_punctuation *output, gs_bound *scratch);
/* The least bound of the input's `column` by which expression `at` is bounded by `value` at least,
 * the other bounds being what they are. GS_BOUND_END: none but the end does that. */
gs_bound gs_carry_back(gs_carry_function carry, struct gs_punctuation *input, uint32_t column,
                       uint32_t at, gs_bound value, gs_bound *scratch);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GS_HFTA_LEAST_H
#define GS_HFTA_LEAST_H

#include "operator.h"

/* What is true of every row where it is true of every input's, to op->next: inputs and output have
 * the same columns. */
void gs_least_of_inputs(struct gs_operator_state *op);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The one header that a definition file's own C includes: types, strings, packets and the fields
 * that are there already, room for strings that a function makes. docs/extensions.md is the
 * contract for what is written with it. */
#ifndef GS_EXTENSION_H
#define GS_EXTENSION_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gs_fields.h"
#include "gs_functions.h"
#include "gs_packet.h"
#include "gs_scratch.h"
#include "gs_strings.h"
#include "gs_types.h"

#endif

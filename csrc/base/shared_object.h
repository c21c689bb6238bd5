/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object that was loaded, counted by reference: it is unloaded when nobody needs its code
 * or its data any more, in whichever thread that is. */
#ifndef GS_SHARED_OBJECT_H
#define GS_SHARED_OBJECT_H

#include "error.h"

struct gs_shared_object;

/* GS_ERROR with the loader's words. The caller has the first reference. */
int gs_shared_object_open(const char *path, struct gs_shared_object **object,
                          struct gs_error *error);
/* NULL: it has no such symbol. */
void *gs_shared_object_symbol(const struct gs_shared_object *object, const char *name);
struct gs_shared_object *gs_shared_object_retain(struct gs_shared_object *object);
void gs_shared_object_release(struct gs_shared_object *object);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "shared_object.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

struct gs_shared_object {
    void *handle;
    atomic_uint references;
};

int gs_shared_object_open(const char *path, struct gs_shared_object **object,
                          struct gs_error *error)
{
    struct gs_shared_object *opened = calloc(1, sizeof *opened);
    *object = NULL;
    if (opened == NULL) return gs_fail(error, GS_ERROR, "no memory for the compiled query set");
    atomic_init(&opened->references, 1);
    opened->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (opened->handle == NULL) {
        free(opened);
        return gs_fail(error, GS_ERROR, "cannot load the compiled query set: %s", dlerror());
    }
    *object = opened;
    return GS_OK;
}

void *gs_shared_object_symbol(const struct gs_shared_object *object, const char *name)
{
    return dlsym(object->handle, name);
}

struct gs_shared_object *gs_shared_object_retain(struct gs_shared_object *object)
{
    atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
    return object;
}

void gs_shared_object_release(struct gs_shared_object *object)
{
    if (object == NULL || atomic_fetch_sub(&object->references, 1) != 1) return;
    dlclose(object->handle);
    free(object);
}

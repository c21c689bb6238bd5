/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a prefix file as a query's code will, so that what is wrong with it is told while the query
 * is checked, not when it runs. */
#include "../gigastream.h"
#include "gs_lpm.h"

int gs_check_prefix_file(const uint8_t *path, uint32_t length, struct gs_error *error)
{
    struct gs_string name = {path, length};
    void *handle = gs_lpm_new(name, error->message, sizeof error->message);
    bool is_good = handle != NULL;
    gs_lpm_free(handle);
    error->code = is_good ? GS_OK : GS_REFUSED;
    return error->code;
}

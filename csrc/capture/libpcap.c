/* SPDX-License-Identifier: Apache-2.0 */
#include "libpcap.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static const struct symbol {
    const char *name;
    size_t offset; /* of the pointer to it */
} symbols[] = {
    {"pcap_create", offsetof(struct gs_libpcap, create)},
    {"pcap_set_snaplen", offsetof(struct gs_libpcap, set_snaplen)},
    {"pcap_set_promisc", offsetof(struct gs_libpcap, set_promisc)},
    {"pcap_set_timeout", offsetof(struct gs_libpcap, set_timeout)},
    {"pcap_set_buffer_size", offsetof(struct gs_libpcap, set_buffer_size)},
    {"pcap_set_tstamp_precision", offsetof(struct gs_libpcap, set_tstamp_precision)},
    {"pcap_activate", offsetof(struct gs_libpcap, activate)},
    {"pcap_setnonblock", offsetof(struct gs_libpcap, setnonblock)},
    {"pcap_setdirection", offsetof(struct gs_libpcap, setdirection)},
    {"pcap_datalink", offsetof(struct gs_libpcap, datalink)},
    {"pcap_set_datalink", offsetof(struct gs_libpcap, set_datalink)},
    {"pcap_get_selectable_fd", offsetof(struct gs_libpcap, get_selectable_fd)},
    {"pcap_dispatch", offsetof(struct gs_libpcap, dispatch)},
    {"pcap_breakloop", offsetof(struct gs_libpcap, breakloop)},
    {"pcap_stats", offsetof(struct gs_libpcap, stats)},
    {"pcap_statustostr", offsetof(struct gs_libpcap, statustostr)},
    {"pcap_geterr", offsetof(struct gs_libpcap, geterr)},
    {"pcap_close", offsetof(struct gs_libpcap, close)},
};

int gs_libpcap_load(struct gs_libpcap *libpcap, const char *path, struct gs_error *error)
{
    memset(libpcap, 0, sizeof *libpcap);
    libpcap->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (libpcap->object == NULL)
        return gs_fail(error, GS_ERROR, "libpcap cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(libpcap->object, symbols[i].name);
        if (found == NULL)
            return gs_fail(error, GS_ERROR, "libpcap is too old: it has no %s", symbols[i].name);
        memcpy((char *)libpcap + symbols[i].offset, &found, sizeof found);
    }
    return GS_OK;
}

void gs_libpcap_unload(struct gs_libpcap *libpcap)
{
    if (libpcap->object != NULL) dlclose(libpcap->object);
    libpcap->object = NULL;
}

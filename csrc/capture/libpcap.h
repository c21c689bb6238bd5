/* SPDX-License-Identifier: Apache-2.0 */
/* What is used of libpcap, found in its shared object when a device needs it: it is not there at
 * build time, and most captures do without. The types are its own (pcap/pcap.h). */
#ifndef GS_CAPTURE_LIBPCAP_H
#define GS_CAPTURE_LIBPCAP_H

#include <sys/time.h>

#include "../base/error.h"
#include "gs_types.h"

#define GS_LIBPCAP_ERROR_BYTES 256

typedef struct pcap pcap_t;

struct gs_libpcap_header {
    struct timeval time; /* nanoseconds in the place of microseconds, where that was asked for */
    uint32_t caplen, len;
};

struct gs_libpcap_stats {
    uint32_t received, dropped, interface_dropped;
};

typedef void (*gs_libpcap_handler)(uint8_t *user, const struct gs_libpcap_header *header,
                                   const uint8_t *bytes);

struct gs_libpcap {
    void *object;
    pcap_t *(*create)(const char *device, char *error);
    int (*set_snaplen)(pcap_t *, int bytes);
    int (*set_promisc)(pcap_t *, int on);
    int (*set_timeout)(pcap_t *, int milliseconds);
    int (*set_buffer_size)(pcap_t *, int bytes);
    int (*set_tstamp_precision)(pcap_t *, int precision);
    int (*activate)(pcap_t *);
    int (*setnonblock)(pcap_t *, int on, char *error);
    int (*setdirection)(pcap_t *, int direction);
    int (*datalink)(pcap_t *);
    int (*set_datalink)(pcap_t *, int link_type);
    int (*get_selectable_fd)(pcap_t *);
    int (*dispatch)(pcap_t *, int count, gs_libpcap_handler, uint8_t *user);
    void (*breakloop)(pcap_t *);
    int (*stats)(pcap_t *, struct gs_libpcap_stats *);
    const char *(*statustostr)(int status);
    char *(*geterr)(pcap_t *);
    void (*close)(pcap_t *);
};

/* GS_ERROR where there is no such object, or something is not in it. */
int gs_libpcap_load(struct gs_libpcap *libpcap, const char *path, struct gs_error *error);
void gs_libpcap_unload(struct gs_libpcap *libpcap);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the loop calls of libpcap, where the library is there without its headers: tcpdump brings it
 * so. These have been its ABI since 0.8. */
#ifndef BENCH_LIBPCAP_CALLS_H
#define BENCH_LIBPCAP_CALLS_H

#if __has_include(<pcap/pcap.h>)
#include <pcap/pcap.h>
#else
#include <stdint.h>
#include <sys/time.h>
#include <sys/types.h>

#define PCAP_ERRBUF_SIZE 256

typedef struct pcap pcap_t;

struct pcap_pkthdr {
    struct timeval ts;
    uint32_t caplen;
    uint32_t len;
};

pcap_t *pcap_open_offline(const char *path, char *message);
int pcap_loop(pcap_t *pcap, int count,
              void (*handler)(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes),
              u_char *user);
void pcap_close(pcap_t *pcap);
#endif

#endif

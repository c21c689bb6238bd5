/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of libpcap: a device on which nothing comes until `come_late` is called. The look
 * that is next finds nothing, and takes its time; the packet is there behind it. */
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define ETHERNET 1
#define FRAME_BYTES 60

struct header {
    struct timespec time;
    uint32_t caplen, len;
};
typedef void (*handler)(uint8_t *user, const struct header *header, const uint8_t *bytes);

static struct timespec takes;
static int state, descriptor; /* 0: nothing; 1: what comes is late; 2: it is there */

void come_late(int milliseconds);
void come_late(int milliseconds)
{
    takes.tv_sec = milliseconds / 1000;
    takes.tv_nsec = milliseconds % 1000 * 1000000L;
    state = 1;
}

int pcap_dispatch(void *pcap, int count, handler take, uint8_t *user);
int pcap_dispatch(void *pcap, int count, handler take, uint8_t *user)
{
    (void)pcap, (void)count;
    if (state == 0) return 0;
    if (state++ == 1) return nanosleep(&takes, NULL);
    struct header header = {.caplen = FRAME_BYTES, .len = FRAME_BYTES};
    uint8_t frame[FRAME_BYTES] = {0};
    state = 0;
    take(user, &header, frame);
    return 1;
}

int pcap_stats(void *pcap, uint32_t counts[3]);
int pcap_stats(void *pcap, uint32_t counts[3])
{
    (void)pcap;
    memset(counts, 0, 3 * sizeof *counts);
    return 0;
}

void *pcap_create(const char *device, char *error);
void *pcap_create(const char *device, char *error)
{
    (void)device, (void)error;
    descriptor = eventfd(0, EFD_CLOEXEC);
    return descriptor < 0 ? NULL : &state;
}

void pcap_close(void *pcap);
void pcap_close(void *pcap)
{
    (void)pcap;
    close(descriptor);
}

int pcap_get_selectable_fd(void *pcap);
int pcap_get_selectable_fd(void *pcap)
{
    (void)pcap;
    return descriptor;
}

int pcap_datalink(void *pcap);
int pcap_datalink(void *pcap)
{
    (void)pcap;
    return ETHERNET;
}

const char *pcap_statustostr(int status);
const char *pcap_statustostr(int status)
{
    (void)status;
    return "";
}

char *pcap_geterr(void *pcap);
char *pcap_geterr(void *pcap)
{
    static char none[1];
    (void)pcap;
    return none;
}

void pcap_breakloop(void *pcap);
void pcap_breakloop(void *pcap)
{
    (void)pcap;
}

#define IS_DONE(name)                                                                              \
    int name(void *pcap, int value, char *error);                                                  \
    int name(void *pcap, int value, char *error)                                                   \
    {                                                                                              \
        (void)pcap, (void)value, (void)error;                                                      \
        return 0;                                                                                  \
    }

IS_DONE(pcap_set_snaplen)
IS_DONE(pcap_set_promisc)
IS_DONE(pcap_set_timeout)
IS_DONE(pcap_set_buffer_size)
IS_DONE(pcap_set_tstamp_precision)
IS_DONE(pcap_activate)
IS_DONE(pcap_setnonblock)
IS_DONE(pcap_setdirection)
IS_DONE(pcap_set_datalink)

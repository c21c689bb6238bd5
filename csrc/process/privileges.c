/* SPDX-License-Identifier: Apache-2.0 */
#include "privileges.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPABILITY_MAX 63

static int failed(struct gs_error *error, const char *what)
{
    return gs_fail(error, GS_ERROR, "giving up privileges: %s: %s", what, strerror(errno));
}

struct capabilities {
    struct __user_cap_data_struct parts[_LINUX_CAPABILITY_U32S_3];
};

static long capabilities_call(long call, struct capabilities *capabilities)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(call, &header, capabilities->parts);
}

/* ---- before there are other threads ---- */

/* Only who has CAP_SETPCAP can empty the bounding set; to others no_new_privs says the same. */
void gs_empty_bounding_set(void)
{
    for (unsigned long capability = 0; capability <= CAPABILITY_MAX; capability++)
        if (prctl(PR_CAPBSET_READ, capability) == 1)
            (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

/* A child of a process that is confined has none, and may not ask. */
static int set_capabilities(const struct capabilities *own, struct capabilities *wanted,
                            struct gs_error *error)
{
    if (memcmp(own, wanted, sizeof *own) == 0) return GS_OK;
    return capabilities_call(SYS_capset, wanted) == 0 ? GS_OK : failed(error, "capset");
}

int gs_gain_no_privileges(struct gs_error *error)
{
    struct capabilities own, wanted;
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (capabilities_call(SYS_capget, &own) != 0) return failed(error, "capget");
    wanted = own;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        wanted.parts[i].inheritable = 0;
    GS_RETURN_IF_ERROR(set_capabilities(&own, &wanted, error));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed(error, "no_new_privs");
    return GS_OK;
}

int gs_drop_capabilities(struct gs_error *error)
{
    struct capabilities own, none = {0};
    gs_empty_bounding_set();
    if (capabilities_call(SYS_capget, &own) != 0) return failed(error, "capget");
    return set_capabilities(&own, &none, error);
}

/* ---- when all is open ---- */

static int become(uint32_t user, uint32_t group, struct gs_error *error)
{
    if (user == 0 || group == 0)
        return gs_fail(error, GS_ERROR, "a capture does not go on as root");
    if (setgroups(0, NULL) != 0) return failed(error, "setgroups");
    if (setresgid(group, group, group) != 0) return failed(error, "setresgid");
    if (setresuid(user, user, user) != 0) return failed(error, "setresuid");
    return GS_OK;
}

/* One line of /proc/PID/task/TID/status. Without its capabilities the root of a user namespace is
 * the ordinary user that it is outside. */
static bool is_given_up(const char *line, bool is_other_user)
{
    char name[16];
    unsigned long long set;
    if (sscanf(line, "NoNewPrivs: %llu", &set) == 1) return set == 1;
    if (sscanf(line, "Uid: %llu", &set) == 1) return set != 0 || !is_other_user;
    if (sscanf(line, "Cap%15[A-Za-z]: %llx", name, &set) != 2) return true;
    return set == 0 || strcmp(name, "Bnd") == 0;
}

static bool has_given_up(const char *thread, bool is_other_user)
{
    char path[64], line[256];
    bool all = true;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", thread);
    FILE *status = fopen(path, "re");
    if (status == NULL) return errno == ENOENT || errno == ESRCH; /* it has ended */
    while (fgets(line, sizeof line, status) != NULL)
        all = is_given_up(line, is_other_user) && all;
    fclose(status);
    return all;
}

static const struct capabilities packet_sockets = {
    .parts[0] = {.effective = 1u << CAP_NET_RAW, .permitted = 1u << CAP_NET_RAW}};

int gs_keep_packet_sockets(uint32_t user, uint32_t group, struct gs_error *error)
{
    struct capabilities wanted = packet_sockets;
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    gs_empty_bounding_set();
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return failed(error, "keeping a capability");
    if (user != GS_SAME_USER) GS_RETURN_IF_ERROR(become(user, group, error));
    (void)prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
    if (capabilities_call(SYS_capset, &wanted) != 0)
        return gs_fail(error, GS_ERROR, "links are opened again by the capability CAP_NET_RAW");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed(error, "no_new_privs");
    return GS_OK;
}

static int check_threads(bool is_other_user, struct gs_error *error)
{
    bool all = true;
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL) return failed(error, "/proc/self/task");
    for (struct dirent *thread; (thread = readdir(threads)) != NULL;)
        if (thread->d_name[0] != '.') all = has_given_up(thread->d_name, is_other_user) && all;
    closedir(threads);
    if (all) return GS_OK;
    return gs_fail(error, GS_ERROR, "giving up privileges: a thread would keep some");
}

int gs_give_up_privileges(uint32_t user, uint32_t group, struct gs_error *error)
{
    bool is_other_user = user != GS_SAME_USER;
    gs_empty_bounding_set();
    if (is_other_user) GS_RETURN_IF_ERROR(become(user, group, error));
    GS_RETURN_IF_ERROR(gs_drop_capabilities(error));
    return check_threads(is_other_user, error);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0
#endif

/* ---- seccomp: a list of what is refused, since libraries need calls that we do not know ---- */

static const uint32_t refused_calls[] = {
    /* other programs, other processes */
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_process_madvise,
    SYS_move_pages,
    SYS_migrate_pages,
    SYS_perf_event_open,
    SYS_personality,
    SYS_userfaultfd,
    /* other hosts: what is open is enough; AF_UNIX sockets, for questions about links, stay */
    SYS_connect,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
    /* the kernel, and ways past this list */
    SYS_bpf,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_syslog,
    SYS_acct,
    SYS_quotactl,
    SYS_swapon,
    SYS_swapoff,
    /* mounts and namespaces */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_unshare,
    SYS_setns,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    /* users and owners */
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_capset,
    SYS_fchown,
    SYS_fchownat,
    /* the host */
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_mknodat,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef __x86_64__
    SYS_fork,
    SYS_vfork,
    SYS_chown,
    SYS_lchown,
    SYS_mknod,
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
    SYS_ustat,
    SYS_sysfs,
#endif
};

#define REFUSED_COUNT (sizeof refused_calls / sizeof refused_calls[0])
#define X32_BIT 0x40000000u
#define OFFSET(member) ((uint32_t)offsetof(struct seccomp_data, member))
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(member))
/* Its lower half: both machines are little-endian. */
#define ARGUMENT(number) OFFSET(args[number])
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define REFUSE(error) RETURN(SECCOMP_RET_ERRNO | (error))
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count)

static const struct sock_filter begin[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
    REFUSE(ENOSYS),
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
    REFUSE(ENOSYS),
    /* a thread, not a process; the C library turns to clone where there is no clone3, whose flags a
     * filter cannot see */
    SKIP_UNLESS(SYS_clone3, 1),
    REFUSE(ENOSYS),
    SKIP_UNLESS(SYS_clone, 4),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
    REFUSE(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
    SKIP_UNLESS(SYS_socket, 4),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
    REFUSE(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
};

#define BEGIN_COUNT (sizeof begin / sizeof begin[0])

static bool filter_calls(void)
{
    struct sock_filter program[BEGIN_COUNT + 2 * REFUSED_COUNT + 1];
    uint16_t count = BEGIN_COUNT;
    memcpy(program, begin, sizeof begin);
    for (size_t i = 0; i < REFUSED_COUNT; i++) {
        program[count++] = (struct sock_filter)SKIP_UNLESS(refused_calls[i], 1);
        program[count++] = (struct sock_filter)REFUSE(EPERM);
    }
    program[count++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {.len = count, .filter = program};
    return ARCHITECTURE != 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

/* ---- Landlock: reading stays as the user may; making and changing is for folders ---- */

/* What the first interface has; each number is of the kernel's headers, which may be older. */
#define CHANGES                                                                                    \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                               \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |   \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)
#define REFER (1ull << 13)       /* from the second on: to move between folders */
#define TRUNCATE (1ull << 14)    /* from the third on */
#define BIND_AND_CONNECT 3ull    /* from the fourth on, of TCP */
#define ABSTRACT_AND_SIGNAL 3ull /* from the sixth on: sockets and processes outside */

/* struct landlock_ruleset_attr as the sixth interface has it. */
struct ruleset {
    uint64_t files, network, scoped;
};

static size_t size_of(int abi)
{
    if (abi >= 6) return sizeof(struct ruleset);
    return abi >= 4 ? offsetof(struct ruleset, scoped) : offsetof(struct ruleset, network);
}

static uint64_t changes_of(int abi)
{
    return CHANGES | (abi >= 2 ? REFER : 0) | (abi >= 3 ? TRUNCATE : 0);
}

static bool allow(int rules, const char *folder, uint64_t changes)
{
    struct landlock_path_beneath_attr below = {
        .allowed_access = changes,
        .parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC),
    };
    if (below.parent_fd < 0) return false;
    long status = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
    close(below.parent_fd);
    return status == 0;
}

/* There where lines are counted. */
extern void __gcov_init(void) __attribute__((weak));

static int confine_files(const char *const *folders, uint32_t count)
{
    int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 1) return 0;
    uint64_t changes = changes_of(abi);
    struct ruleset attributes = {
        .files = changes | LANDLOCK_ACCESS_FS_EXECUTE,
        .network = BIND_AND_CONNECT,
        .scoped = ABSTRACT_AND_SIGNAL,
    };
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, size_of(abi), 0);
    if (rules < 0) return 0;
    /* Its counts are written when the process ends, wherever they are. */
    bool all = __gcov_init == NULL || allow(rules, "/", changes);
    for (uint32_t i = 0; i < count; i++)
        all = allow(rules, folders[i], changes) && all;
    all = all && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return all ? abi : 0;
}

/* ---- both ---- */

/* A sanitizer traces its own process when it ends. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

void gs_confine(const char *const *folders, uint32_t count, struct gs_confinement *done)
{
    *done = (struct gs_confinement){0};
    if (IS_SANITIZED) return;
    done->landlock_abi = confine_files(folders, count);
    done->has_seccomp = filter_calls();
}

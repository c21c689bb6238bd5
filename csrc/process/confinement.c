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
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

static const uint32_t programs[] = {
    SYS_execve,
    SYS_execveat,
#ifdef __x86_64__
    SYS_fork,
    SYS_vfork,
#endif
};

/* to other hosts; AF_UNIX sockets, for questions about links, stay */
static const uint32_t reaching_out[] = {SYS_connect};
static const uint32_t taking_in[] = {SYS_accept, SYS_accept4};
/* Nothing of it is sent but descriptors, by sendmsg. */
static const uint32_t of_opener[] = {
    SYS_sendto, SYS_sendmmsg, SYS_openat2, SYS_tkill, SYS_kill, SYS_pidfd_send_signal,
#ifdef __x86_64__
    SYS_open,   SYS_creat,
#endif
};
static const uint32_t sending[] = {SYS_sendto, SYS_sendmsg, SYS_sendmmsg};

static const uint32_t of_all[] = {
    /* other processes */
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
    SYS_sched_setscheduler,
    SYS_sched_setparam,
    SYS_sched_setattr,
    SYS_ioprio_set,
    /* what is open is enough */
    SYS_listen,
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

#define CAPTURE (1u << GS_CONFINED_CAPTURE)
#define SUPERVISOR (1u << GS_CONFINED_SUPERVISOR)
#define COMPILER (1u << GS_CONFINED_COMPILER)
#define OPENER (1u << GS_CONFINED_OPENER)
#define LOADING (1u << GS_CONFINED_LOADING)
#define LOADER (1u << GS_CONFINED_LOADER)
#define ALL (CAPTURE | SUPERVISOR | COMPILER | OPENER | LOADING | LOADER)
#define RUNS_PROGRAMS (COMPILER | LOADING)
#define REACHES_OUT (LOADING | LOADER)
#define COUNT(list) (uint16_t)(sizeof(list) / sizeof *(list))

static const struct refusal {
    const uint32_t *calls;
    uint16_t count;
    unsigned whom;
} refusals[] = {
    {of_all, COUNT(of_all), ALL},
    {programs, COUNT(programs), ALL & ~RUNS_PROGRAMS},
    {reaching_out, COUNT(reaching_out), ALL & ~REACHES_OUT},
    {taking_in, COUNT(taking_in), ALL & ~SUPERVISOR},
    {sending, COUNT(sending), CAPTURE},
    {of_opener, COUNT(of_opener), OPENER},
};

#define PROGRAM_MAX 512
#define X32_BIT 0x40000000u
#define NAMESPACES                                                                                 \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)
#define OFFSET(member) ((uint32_t)offsetof(struct seccomp_data, member))
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(member))
/* Its lower half: both machines are little-endian. */
#define ARGUMENT(number) OFFSET(args[number])
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define REFUSE(error) RETURN(SECCOMP_RET_ERRNO | (error))
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count)

/* A thread, not a process; the C library turns to clone where there is no clone3, whose flags a
 * filter cannot see. */
static const struct sock_filter only_threads[] = {
    SKIP_UNLESS(SYS_clone3, 1),
    REFUSE(ENOSYS),
    SKIP_UNLESS(SYS_clone, 4),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
    REFUSE(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
};

/* The same, but a process may be made that gets no namespace of its own. */
static const struct sock_filter no_namespaces[] = {
    SKIP_UNLESS(SYS_clone3, 1),
    REFUSE(ENOSYS),
    SKIP_UNLESS(SYS_clone, 4),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1),
    REFUSE(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
};

static const struct sock_filter only_this_machine[] = {
    LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0), REFUSE(ENOSYS),
    LOAD(nr),   BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),      REFUSE(ENOSYS),
};

static const struct sock_filter only_unix_sockets[] = {
    SKIP_UNLESS(SYS_socket, 4),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
    REFUSE(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
};

static const struct sock_filter only_sockets_of_clients[] = {
    SKIP_UNLESS(SYS_socket, 6),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0),
    REFUSE(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
};

static const struct sock_filter only_packet_sockets[] = {
    SKIP_UNLESS(SYS_socket, 6),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_PACKET, 0, 2),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(1)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_RAW | SOCK_CLOEXEC, 1, 0),
    REFUSE(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
};

/* A limit of processor time, or the least priority, would end another process of its user as a
 * signal does. */
static const struct sock_filter only_own_limits[] = {
    SKIP_UNLESS(SYS_prlimit64, 4),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
    REFUSE(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
    SKIP_UNLESS(SYS_setpriority, 6),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PRIO_PROCESS, 0, 2),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(1)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
    REFUSE(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
};

#define NO_SET_USER_ID(call, argument)                                                             \
    SKIP_UNLESS(call, 4), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(argument)),                  \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, S_ISUID, 0, 1), REFUSE(EPERM),                        \
        RETURN(SECCOMP_RET_ALLOW)
#define FCHMODAT2 452 /* newer than some headers */

/* Who else runs such a file is the daemon's user, and not confined. */
static const struct sock_filter no_set_user_id[] = {
    NO_SET_USER_ID(SYS_fchmod, 1),
    NO_SET_USER_ID(SYS_fchmodat, 2),
    NO_SET_USER_ID(FCHMODAT2, 2),
#ifdef __x86_64__
    NO_SET_USER_ID(SYS_chmod, 1),
#endif
};

/* Also where the kernel has no Landlock. */
static const struct sock_filter only_reading[] = {
    SKIP_UNLESS(SYS_openat, 4),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(2)),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1),
    REFUSE(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
};

struct program {
    struct sock_filter code[PROGRAM_MAX];
    uint16_t length;
};

static void append(struct program *program, const struct sock_filter *code, uint16_t length)
{
    memcpy(program->code + program->length, code, length * sizeof *code);
    program->length = (uint16_t)(program->length + length);
}

static void refuse(struct program *program, const struct refusal *refusal)
{
    for (uint16_t i = 0; i < refusal->count; i++) {
        const struct sock_filter code[] = {SKIP_UNLESS(refusal->calls[i], 1), REFUSE(EPERM)};
        append(program, code, COUNT(code));
    }
}

static bool filter_calls(int32_t confined)
{
    static const struct sock_filter allow_rest = RETURN(SECCOMP_RET_ALLOW);
    struct program program = {.length = 0};
    append(&program, only_this_machine, COUNT(only_this_machine));
    append(&program, only_own_limits, COUNT(only_own_limits));
    append(&program, no_set_user_id, COUNT(no_set_user_id));
    unsigned who = 1u << confined;
    if (who & RUNS_PROGRAMS)
        append(&program, no_namespaces, COUNT(no_namespaces));
    else
        append(&program, only_threads, COUNT(only_threads));
    if (confined == GS_CONFINED_OPENER) {
        append(&program, only_packet_sockets, COUNT(only_packet_sockets));
        append(&program, only_reading, COUNT(only_reading));
    } else if (who & REACHES_OUT) {
        append(&program, only_sockets_of_clients, COUNT(only_sockets_of_clients));
    } else {
        append(&program, only_unix_sockets, COUNT(only_unix_sockets));
    }
    for (uint16_t i = 0; i < COUNT(refusals); i++)
        if (refusals[i].whom & who) refuse(&program, &refusals[i]);
    append(&program, &allow_rest, 1);
    struct sock_fprog filter = {.len = program.length, .filter = program.code};
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
#define REFER (1ull << 13)    /* from the second on: to move between folders */
#define TRUNCATE (1ull << 14) /* from the third on */
#define BIND 1ull             /* from the fourth on, of TCP */
#define BIND_AND_CONNECT 3ull
#define ABSTRACT_AND_SIGNAL 3ull /* from the sixth on: sockets and processes outside */
#define NULL_DEVICE "/dev/null"

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

static bool allow(int rules, const char *path, uint64_t changes)
{
    struct landlock_path_beneath_attr below = {
        .allowed_access = changes,
        .parent_fd = open(path, O_PATH | O_CLOEXEC),
    };
    if (below.parent_fd < 0) return false;
    long status = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
    close(below.parent_fd);
    return status == 0;
}

/* There where lines are counted. */
extern void __gcov_init(void) __attribute__((weak));

static struct ruleset attributes_of(int32_t confined, int abi)
{
    bool runs_programs = RUNS_PROGRAMS & 1u << confined;
    return (struct ruleset){
        .files = changes_of(abi) | (runs_programs ? 0 : LANDLOCK_ACCESS_FS_EXECUTE),
        .network = REACHES_OUT & 1u << confined ? BIND : BIND_AND_CONNECT,
        /* who watches over the others signals them, and says to the host's manager how it is */
        .scoped = confined == GS_CONFINED_SUPERVISOR ? 0 : ABSTRACT_AND_SIGNAL,
    };
}

static int confine_files(int32_t confined, const char *const *folders, uint32_t count)
{
    int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 1) return 0;
    uint64_t changes = changes_of(abi);
    struct ruleset attributes = attributes_of(confined, abi);
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, size_of(abi), 0);
    if (rules < 0) return 0;
    /* Its counts are written when the process ends, wherever they are. */
    bool all = __gcov_init == NULL || allow(rules, "/", changes);
    if (RUNS_PROGRAMS & 1u << confined)
        all = allow(rules, NULL_DEVICE, LANDLOCK_ACCESS_FS_WRITE_FILE) && all;
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

void gs_confine(int32_t confined, const char *const *folders, uint32_t count,
                struct gs_confinement *done)
{
    *done = (struct gs_confinement){0};
    if (IS_SANITIZED) return;
    /* Who reads packets may be taken over, and is of the same user: it must not reach the others'
     * memory by /proc where there is no Landlock, either. */
    if (confined != GS_CONFINED_CAPTURE) (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    done->landlock_abi = confine_files(confined, folders, count);
    done->has_seccomp = filter_calls(confined);
}

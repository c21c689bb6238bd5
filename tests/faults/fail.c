/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: lets one call of the system fail, or write only half. GIGASTREAM_FAIL is
 * "CALL NUMBER ERRNO PATH": the NUMBERth CALL whose file has PATH in its name fails with ERRNO; -1:
 * it writes or reads half of what it is given. What was done is said in the file
 * GIGASTREAM_FAIL_LOG. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SHORT = -1 };

static char wanted[32], path_part[256];
static int number, reason, seen;

__attribute__((constructor)) static void read_wish(void)
{
    const char *wish = getenv("GIGASTREAM_FAIL");
    if (wish == NULL || sscanf(wish, "%31s %d %d %255s", wanted, &number, &reason, path_part) != 4)
        wanted[0] = '\0';
}

static void say(const char *path)
{
    const char *log = getenv("GIGASTREAM_FAIL_LOG");
    int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    ssize_t (*real_write)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    int file = log == NULL ? -1 : real_open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file < 0) return;
    char line[600];
    int bytes = snprintf(line, sizeof line, "%s %s\n", wanted, path);
    if (real_write(file, line, (size_t)bytes) < 0) abort();
}

/* Whether this call is the one. */
static bool fails_at(const char *call, const char *path)
{
    if (strcmp(call, wanted) != 0 || strstr(path, path_part) == NULL) return false;
    if (__atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST) != number) return false;
    say(path);
    errno = reason == SHORT ? 0 : reason;
    return true;
}

static bool fails_on(const char *call, int file)
{
    char link[64], path[512];
    if (strcmp(call, wanted) != 0) return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t bytes = readlink(link, path, sizeof path - 1);
    if (bytes < 0) return false;
    path[bytes] = '\0';
    return fails_at(call, path);
}

static size_t half(size_t bytes)
{
    return bytes > 1 ? bytes / 2 : bytes;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *bytes, size_t count)
{
    if (!fails_on("write", file)) return REAL(write)(file, bytes, count);
    return reason == SHORT ? REAL(write)(file, bytes, half(count)) : -1;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at)
{
    if (!fails_on("write", file)) return REAL(pwrite)(file, bytes, count, at);
    return reason == SHORT ? REAL(pwrite)(file, bytes, half(count), at) : -1;
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    if (!fails_on("write", file)) return REAL(writev)(file, parts, count);
    return reason == SHORT ? REAL(writev)(file, parts, 1) : -1;
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at)
{
    if (!fails_on("write", file)) return REAL(pwrite64)(file, bytes, count, at);
    return reason == SHORT ? REAL(pwrite64)(file, bytes, half(count), at) : -1;
}

ssize_t read(int file, void *bytes, size_t count)
{
    if (!fails_on("read", file)) return REAL(read)(file, bytes, count);
    return reason == SHORT ? REAL(read)(file, bytes, half(count)) : -1;
}

ssize_t pread(int file, void *bytes, size_t count, off_t at)
{
    if (!fails_on("read", file)) return REAL(pread)(file, bytes, count, at);
    return reason == SHORT ? REAL(pread)(file, bytes, half(count), at) : -1;
}

ssize_t pread64(int file, void *bytes, size_t count, off64_t at)
{
    if (!fails_on("read", file)) return REAL(pread64)(file, bytes, count, at);
    return reason == SHORT ? REAL(pread64)(file, bytes, half(count), at) : -1;
}

ssize_t readv(int file, const struct iovec *parts, int count)
{
    if (!fails_on("read", file)) return REAL(readv)(file, parts, count);
    return reason == SHORT ? REAL(readv)(file, parts, 1) : -1;
}

ssize_t preadv(int file, const struct iovec *parts, int count, off_t at)
{
    if (!fails_on("read", file)) return REAL(preadv)(file, parts, count, at);
    return reason == SHORT ? REAL(preadv)(file, parts, 1, at) : -1;
}

ssize_t preadv64(int file, const struct iovec *parts, int count, off64_t at)
{
    if (!fails_on("read", file)) return REAL(preadv64)(file, parts, count, at);
    return reason == SHORT ? REAL(preadv64)(file, parts, 1, at) : -1;
}

int fsync(int file)
{
    return fails_on("fsync", file) ? -1 : REAL(fsync)(file);
}

int fdatasync(int file)
{
    return fails_on("fsync", file) ? -1 : REAL(fdatasync)(file);
}

int ftruncate(int file, off_t length)
{
    return fails_on("ftruncate", file) ? -1 : REAL(ftruncate)(file, length);
}

int ftruncate64(int file, off64_t length)
{
    return fails_on("ftruncate", file) ? -1 : REAL(ftruncate64)(file, length);
}

int close(int file)
{
    if (!fails_on("close", file)) return REAL(close)(file);
    int failed_with = errno;
    REAL(close)(file); /* the kernel lets go of it all the same */
    errno = failed_with;
    return -1;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t at)
{
    if (file >= 0 && fails_on("mmap", file)) return MAP_FAILED;
    return REAL(mmap)(address, bytes, protection, flags, file, at);
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int file, off64_t at)
{
    if (file >= 0 && fails_on("mmap", file)) return MAP_FAILED;
    return REAL(mmap64)(address, bytes, protection, flags, file, at);
}

/* Opening for writing. */
static bool open_fails(const char *path, int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY && fails_at("open", path);
}

static mode_t mode_of(int flags, va_list more)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode_t mode = mode_of(flags, more);                                                        \
        va_end(more);                                                                              \
        return open_fails(path, flags) ? -1 : REAL(name)(path, flags, mode);                       \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
    int name(int folder, const char *path, int flags, ...)                                         \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode_t mode = mode_of(flags, more);                                                        \
        va_end(more);                                                                              \
        return open_fails(path, flags) ? -1 : REAL(name)(folder, path, flags, mode);               \
    }
OPENAT(openat)
OPENAT(openat64)

int rename(const char *from, const char *to)
{
    return fails_at("rename", to) ? -1 : REAL(rename)(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return fails_at("rename", to) ? -1 : REAL(renameat)(from_folder, from, to_folder, to);
}

int link(const char *from, const char *to)
{
    return fails_at("link", to) ? -1 : REAL(link)(from, to);
}

int unlink(const char *path)
{
    return fails_at("unlink", path) ? -1 : REAL(unlink)(path);
}

int unlinkat(int folder, const char *path, int flags)
{
    return fails_at("unlink", path) ? -1 : REAL(unlinkat)(folder, path, flags);
}

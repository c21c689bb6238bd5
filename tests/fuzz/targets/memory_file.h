/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a fuzz input behind a descriptor: as a file in memory, or as a pipe. */
#ifndef GS_TESTS_FUZZ_MEMORY_FILE_H
#define GS_TESTS_FUZZ_MEMORY_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GS_PIPE_BYTES = 1 << 16 }; /* a pipe takes them without a reader */

/* -1 where there is none. */
static int memory_file(const uint8_t *data, size_t size)
{
    int file = memfd_create("input", MFD_CLOEXEC);
    if (file < 0) return -1;
    if (write(file, data, size) != (ssize_t)size || lseek(file, 0, SEEK_SET) != 0) {
        close(file);
        return -1;
    }
    return file;
}

static int memory_pipe(const uint8_t *data, size_t size)
{
    int ends[2];
    if (size > GS_PIPE_BYTES || pipe(ends) != 0) return -1;
    ssize_t wrote = write(ends[1], data, size);
    close(ends[1]);
    if (wrote == (ssize_t)size) return ends[0];
    close(ends[0]);
    return -1;
}

static inline int open_input(const uint8_t *data, size_t size, bool is_pipe)
{
    return is_pipe ? memory_pipe(data, size) : memory_file(data, size);
}

/* The name by which a descriptor is opened again. */
static inline const char *name_of(int file, char *room, size_t bytes)
{
    snprintf(room, bytes, "/proc/self/fd/%d", file);
    return room;
}

#endif

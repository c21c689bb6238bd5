/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: a capture that grows while two threads divide it. Who reads the extent in which it
 * ends waits until the other has found nothing behind it; then the file grows, and is read. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXTENT_BYTES (512 << 10)
#define LAST_EXTENT 1

typedef ssize_t read_at_function(int, void *, size_t, off_t);

static atomic_bool was_nothing;

static void append(const char *from, const char *to)
{
    char bytes[1 << 16];
    int input = open(from, O_RDONLY), output = open(to, O_WRONLY | O_APPEND);
    for (ssize_t got; (got = read(input, bytes, sizeof bytes)) > 0;)
        if (write(output, bytes, (size_t)got) != got) abort();
    close(input);
    close(output);
}

ssize_t pread(int file, void *bytes, size_t count, off_t at)
{
    read_at_function *real = (read_at_function *)dlsym(RTLD_NEXT, "pread");
    if (at == LAST_EXTENT * EXTENT_BYTES && count == EXTENT_BYTES) {
        for (int turn = 0; turn < 20000 && !was_nothing; turn++)
            usleep(1000);
        append(getenv("GROW_BY"), getenv("GROWING"));
    }
    ssize_t got = real(file, bytes, count, at);
    if (at == (LAST_EXTENT + 1) * EXTENT_BYTES && got == 0) was_nothing = true;
    return got;
}

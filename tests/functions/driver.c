/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the functions of csrc/abi as generated code does. A request is a line: the function's
 * suffix and its arguments (numbers; doubles as %a; strings and addresses in hexadecimal, `-` for
 * an empty string). The answer is `= value`, `none`, or `! message` of a handle. */
#include "gs_addresses.h"
#include "gs_bytes.h"
#include "gs_crypto_pan.h"
#include "gs_dates.h"
#include "gs_functions.h"
#include "gs_lpm.h"
#include "gs_regex.h"
#include "gs_strftime.h"
#include "gs_strings.h"
#include "gs_text.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>

#define SCRATCH_BYTES 65536

static char line[1 << 19];
static char *next_word;

static char *word(void)
{
    char *start = next_word;
    char *end = start + strcspn(start, " \n");
    next_word = *end == '\0' ? end : end + 1;
    *end = '\0';
    return start;
}

/* Exact-sized memory, so that a read past the end is seen. */
static struct gs_string read_string(void)
{
    char *digits = word();
    uint32_t length = *digits == '-' ? 0 : (uint32_t)strlen(digits) / 2;
    uint8_t *bytes = length == 0 ? NULL : malloc(length);
    for (uint32_t i = 0; i < length; i++) {
        unsigned value;
        sscanf(digits + 2 * i, "%2x", &value);
        bytes[i] = (uint8_t)value;
    }
    struct gs_string s = {bytes, length};
    return s;
}

static struct gs_inet read_inet(void)
{
    struct gs_string s = read_string();
    struct gs_inet address = gs_inet_from_bytes(s.bytes);
    free((void *)(uintptr_t)s.bytes);
    return address;
}

static void print_bytes(const uint8_t *bytes, uint32_t length)
{
    printf(length == 0 ? "= -" : "= ");
    for (uint32_t i = 0; i < length; i++)
        printf("%02x", bytes[i]);
    printf("\n");
}

#define read_unsigned() strtoull(word(), NULL, 10)
#define read_signed() strtoll(word(), NULL, 10)
#define read_float() strtod(word(), NULL)
#define print_unsigned(x) printf("= %" PRIu64 "\n", (uint64_t)(x))
#define print_signed(x) printf("= %" PRId64 "\n", (int64_t)(x))
#define print_float(x) printf("= %a\n", (x))
#define print_string(x) print_bytes((x).bytes, (x).length)
#define print_inet(x) print_bytes((const uint8_t *)&(x), 16)

static void answer(const char *suffix, struct gs_scratch *scratch)
{
#include "calls.h"
    printf("! no function %s\n", suffix);
}

int main(void)
{
    setlocale(LC_ALL, "");
    struct gs_scratch scratch = {malloc(SCRATCH_BYTES), 0, SCRATCH_BYTES};
    while (fgets(line, sizeof line, stdin) != NULL) {
        next_word = line;
        scratch.used = 0;
        const char *suffix = word();
        answer(suffix, &scratch);
        fflush(stdout);
    }
    free(scratch.bytes);
    return 0;
}

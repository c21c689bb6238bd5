/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: POSIX extended ones, matched against bytes. The C locale's rules hold
 * whatever the user's locale, so that an answer does not depend on who asks; `^` and `$` also match
 * at line ends and `.` does not cross one, as in Gigascope (protocols are made of lines). */
#ifndef GS_REGEX_H
#define GS_REGEX_H

#include "gs_scratch.h"

#include <locale.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef __USE_GNU
#error "compile with -D_GNU_SOURCE, for re_search and newlocale"
#endif

/* POSIX has no escapes for control characters, and takes [^\n] for "neither \ nor n", which no
 * user means: \n, \r and \t become the characters. `text` holds length + 1 bytes. */
static inline void gs_regex_unescape(struct gs_string pattern, char *text)
{
    static const char letters[] = "nrt\\", meanings[] = "\n\r\t\\";
    size_t n = 0;
    for (uint32_t i = 0; i < pattern.length; i++) {
        char c = (char)pattern.bytes[i];
        char next = i + 1 < pattern.length ? (char)pattern.bytes[i + 1] : '\0';
        const char *at = c == '\\' && next != '\0' ? strchr(letters, next) : NULL;
        if (at == NULL) {
            text[n++] = c;
            continue;
        }
        i++;
        if (next == '\\') text[n++] = '\\';
        text[n++] = meanings[at - letters];
    }
    text[n] = '\0';
}

/* regcomp in the C locale of this thread only. */
static inline int gs_regex_compile_text(regex_t *regex, const char *text)
{
    locale_t bytes = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (bytes == (locale_t)0) return REG_ESPACE;
    locale_t before = uselocale(bytes);
    int status = regcomp(regex, text, REG_EXTENDED | REG_NEWLINE);
    uselocale(before);
    freelocale(bytes);
    return status;
}

static inline bool gs_regex_compile(regex_t *regex, struct gs_string pattern, char *message,
                                    size_t message_size)
{
    if (pattern.length > 0 && memchr(pattern.bytes, 0, pattern.length) != NULL) {
        snprintf(message, message_size, "a regular expression cannot hold a zero byte");
        return false;
    }
    char *text = malloc((size_t)pattern.length + 1);
    int status = REG_ESPACE;
    if (text != NULL) {
        gs_regex_unescape(pattern, text);
        status = gs_regex_compile_text(regex, text);
    }
    free(text);
    if (status == 0) return true;
    char reason[128];
    regerror(status, regex, reason, sizeof reason);
    snprintf(message, message_size, "bad regular expression '%.*s': %s", (int)pattern.length,
             pattern.length == 0 ? "" : (const char *)pattern.bytes, reason);
    return false;
}

/* The compiled pattern, or NULL with a message. */
static inline void *gs_regex_new(struct gs_string pattern, char *message, size_t message_size)
{
    regex_t *regex = malloc(sizeof *regex);
    if (regex == NULL) {
        snprintf(message, message_size, "no memory for a regular expression");
        return NULL;
    }
    if (gs_regex_compile(regex, pattern, message, message_size)) return regex;
    free(regex);
    return NULL;
}

static inline void gs_regex_free(void *handle)
{
    if (handle == NULL) return;
    regfree(handle);
    free(handle);
}

/* Whether the pattern matches anywhere in x, and where. GNU's re_search, because regexec wants a
 * zero byte behind the text, which packets do not have. The pattern is shared by threads (the
 * library locks it): how registers are returned is said in a copy of its head. */
static inline bool gs_regex_search(struct gs_string x, const void *handle, regoff_t *start,
                                   regoff_t *end)
{
    regex_t regex = *(const regex_t *)handle;
    struct re_registers found = {1, start, end};
    regex.regs_allocated = REGS_FIXED;
    const char *text = x.bytes == NULL ? "" : (const char *)x.bytes;
    return re_search(&regex, text, (regoff_t)x.length, 0, (regoff_t)x.length, &found) >= 0;
}

static inline void *gs_handle_str_regex_match_string_string_new(struct gs_string pattern,
                                                                char *message, size_t message_size)
{
    return gs_regex_new(pattern, message, message_size);
}

static inline void gs_handle_str_regex_match_string_string_free(void *handle)
{
    gs_regex_free(handle);
}

static inline bool gs_function_str_regex_match_string_string(struct gs_string x, const void *handle)
{
    regoff_t start, end;
    return gs_regex_search(x, handle, &start, &end);
}

static inline void *gs_handle_str_extract_regex_string_string_new(struct gs_string pattern,
                                                                  char *message,
                                                                  size_t message_size)
{
    return gs_regex_new(pattern, message, message_size);
}

static inline void gs_handle_str_extract_regex_string_string_free(void *handle)
{
    gs_regex_free(handle);
}

/* The leftmost longest part that matches; no value where none does. */
static inline bool gs_function_str_extract_regex_string_string(struct gs_scratch *scratch,
                                                               struct gs_string x,
                                                               const void *handle,
                                                               struct gs_string *result)
{
    (void)scratch;
    regoff_t start, end;
    if (!gs_regex_search(x, handle, &start, &end)) return false;
    result->bytes = x.bytes == NULL ? NULL : x.bytes + start;
    result->length = (uint32_t)(end - start);
    return true;
}

#endif

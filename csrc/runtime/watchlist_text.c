/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a watchlist: CSV (RFC 4180, but that a cell ends with its line), cell by cell to the
 * types of its columns. A line that is wrong is left out and counted. What stands there is never
 * told: a query may name any file that its reader may read. */
#include <arpa/inet.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "watchlist.h"

#define MOST_CELLS 256u
#define MOST_LINE_BYTES 65536u
#define LONGEST_NUMBER 64u

/* ---- values ---- */

/* A copy that ends with a zero byte; false where it is too long to be an address or a number. */
static bool copied(struct gs_string text, char *copy)
{
    if (text.length == 0 || text.length >= LONGEST_NUMBER) return false;
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    return memchr(copy, '\0', text.length) == NULL;
}

/* Digits and nothing else. */
static bool digits(const char *text, uint64_t most, uint64_t *value)
{
    *value = 0;
    if (*text == '\0') return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') return false;
        if (__builtin_mul_overflow(*value, 10u, value)) return false;
        if (__builtin_add_overflow(*value, (uint64_t)(*text - '0'), value)) return false;
    }
    return *value <= most;
}

static bool parse_unsigned(const char *text, uint64_t most, struct gs_list_cell *cell)
{
    cell->a = 0;
    return digits(text, most, &cell->b);
}

static bool parse_signed(const char *text, uint64_t most, struct gs_list_cell *cell)
{
    bool is_negative = *text == '-';
    uint64_t size;
    if (!digits(text + is_negative, most + is_negative, &size)) return false;
    *cell = gs_list_number((int64_t)(is_negative ? -size : size));
    return true;
}

/* A host program's locale may have another point than the one that was looked for. */
static double point_number(const char *text, char **end)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = strtod_l(text, end, plain);
    freelocale(plain);
    return value;
}

static bool parse_float(const char *text, struct gs_list_cell *cell)
{
    char *end;
    if (text[strspn(text, "0123456789+-.eE")] != '\0') return false;
    double value = point_number(text, &end);
    cell->a = 0;
    memcpy(&cell->b, &value, sizeof value);
    return end != text && *end == '\0' && isfinite(value);
}

static bool parse_bool(const char *text, struct gs_list_cell *cell)
{
    bool is_true = strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0;
    *cell = gs_list_unsigned(is_true);
    return is_true || strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

/* An address of one of the families of the type. */
static bool parse_address(const char *text, uint8_t type, struct gs_inet *address, bool *is_ip)
{
    struct in_addr ipv4;
    uint8_t bytes[16];
    *is_ip = true;
    if (type != GS_IPV6 && inet_pton(AF_INET, text, &ipv4) == 1) {
        *address = gs_inet_from_ip(ntohl(ipv4.s_addr));
        return true;
    }
    *is_ip = false;
    if (type == GS_IP || inet_pton(AF_INET6, text, bytes) != 1) return false;
    *address = gs_inet_from_bytes(bytes);
    return true;
}

static bool parse_length(const char *text, bool is_ip, uint16_t *length)
{
    uint64_t bits;
    if (!digits(text, is_ip ? 32 : 128, &bits)) return false;
    *length = (uint16_t)(is_ip ? bits + 96 : bits);
    return true;
}

static bool has_only(struct gs_inet address, uint16_t length)
{
    return gs_inet_equal(address, gs_function_prefix_ipv6_uint(address, length));
}

/* `10.0.0.0/8`, or an address, which is the prefix of all its bits. ::ffff:a.b.c.d is a.b.c.d. */
static const char *parse_prefix(char *text, uint8_t type, uint32_t k, struct gs_list_line *line,
                                struct gs_list_cell *cell)
{
    struct gs_inet address;
    bool is_ip;
    char *slash = strchr(text, '/');
    line->lengths[k] = 128;
    if (slash != NULL) *slash = '\0';
    if (!parse_address(text, type, &address, &is_ip)) return "an address or a prefix is expected";
    if (slash != NULL && !parse_length(slash + 1, is_ip, &line->lengths[k]))
        return "the length of a prefix is expected behind the /";
    if (!has_only(address, line->lengths[k])) return "the prefix has bits beyond its length";
    line->is_ip[k] = gs_inet_is_ip(address) && line->lengths[k] >= 96;
    *cell = gs_list_inet(address);
    return NULL;
}

static const char *parse_number(uint8_t type, const char *text, struct gs_list_cell *cell)
{
    switch (type) {
    case GS_BOOL:
        return parse_bool(text, cell) ? NULL : "true or false is expected";
    case GS_USHORT:
        return parse_unsigned(text, UINT16_MAX, cell) ? NULL : "a ushort is expected";
    case GS_UINT:
        return parse_unsigned(text, UINT32_MAX, cell) ? NULL : "a uint is expected";
    case GS_ULLONG:
        return parse_unsigned(text, UINT64_MAX, cell) ? NULL : "a ullong is expected";
    case GS_INT:
        return parse_signed(text, INT32_MAX, cell) ? NULL : "an int is expected";
    case GS_LLONG:
        return parse_signed(text, INT64_MAX, cell) ? NULL : "an llong is expected";
    default:
        return parse_float(text, cell) ? NULL : "a finite number is expected";
    }
}

/* Which key a column is; key_count: none. */
static uint32_t key_of(const struct gs_watchlist *list, uint32_t column)
{
    uint32_t k = 0;
    while (k < list->key_count && list->keys[k] != column)
        k++;
    return k;
}

const char *gs_list_parse(const struct gs_watchlist *list, uint32_t column, struct gs_string text,
                          struct gs_list_line *line)
{
    char copy[LONGEST_NUMBER];
    struct gs_inet address;
    bool is_ip;
    uint8_t type = list->types[column];
    uint32_t k = key_of(list, column);
    if (type == GS_STRING) {
        line->cells[column] = gs_list_string(text);
        return NULL;
    }
    if (!copied(text, copy)) return "a value of the column's type is expected";
    if (!gs_list_is_address(type)) return parse_number(type, copy, &line->cells[column]);
    if (k < list->key_count) return parse_prefix(copy, type, k, line, &line->cells[column]);
    if (!parse_address(copy, type, &address, &is_ip)) return "an address is expected";
    line->cells[column] = gs_list_inet(address);
    return NULL;
}

/* ---- cells ---- */

/* A line that is being taken apart, in place. */
struct reader {
    uint8_t *at, *end;
};

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t';
}

/* What stands between quotes, each pair of them inside being one. */
static bool quoted(struct reader *line, struct gs_string *cell)
{
    uint8_t *to = ++line->at;
    bool is_closed = false;
    cell->bytes = to;
    for (; line->at < line->end; *to++ = *line->at++) {
        if (*line->at != '"') continue;
        is_closed = ++line->at == line->end || *line->at != '"';
        if (is_closed) break;
    }
    cell->length = (uint32_t)(to - cell->bytes);
    while (line->at < line->end && is_space(*line->at))
        line->at++;
    return is_closed && (line->at == line->end || *line->at == ',');
}

static bool plain(struct reader *line, struct gs_string *cell)
{
    uint8_t *comma = memchr(line->at, ',', (size_t)(line->end - line->at));
    uint8_t *end = comma == NULL ? line->end : comma;
    cell->bytes = line->at;
    line->at = end;
    while (end > cell->bytes && is_space(end[-1]))
        end--;
    cell->length = (uint32_t)(end - cell->bytes);
    return memchr(cell->bytes, '"', cell->length) == NULL;
}

/* The cells of a line, of which there must be so many. NULL, or what is wrong. */
static const char *split(uint8_t *bytes, uint64_t length, struct gs_string *cells, uint32_t count)
{
    struct reader line = {bytes, bytes + length};
    for (uint32_t c = 0; c < count; c++) {
        while (line.at < line.end && is_space(*line.at))
            line.at++;
        bool is_quoted = line.at < line.end && *line.at == '"';
        if (!(is_quoted ? quoted(&line, &cells[c]) : plain(&line, &cells[c])))
            return "a quotation mark is out of place";
        if (c + 1 < count && line.at == line.end) return "it has too few columns";
        line.at += c + 1 < count;
    }
    return line.at == line.end ? NULL : "it has too many columns";
}

/* ---- lines ---- */

static const char *parse_cells(const struct gs_watchlist *list,
                               const struct gs_watchlist_text *text, const struct gs_string *cells,
                               struct gs_list_line *line)
{
    for (uint32_t k = 0; k < list->key_count; k++) {
        line->lengths[k] = 128;
        line->is_ip[k] = false;
    }
    for (uint32_t c = 0; c < text->cell_count; c++) {
        const char *wrong = NULL;
        if (text->columns[c] >= 0)
            wrong = gs_list_parse(list, (uint32_t)text->columns[c], cells[c], line);
        if (wrong != NULL) return wrong;
    }
    return NULL;
}

static void refuse(struct gs_watchlist *list, const char *why)
{
    if (list->refused++ > 0) return;
    list->first_refused = list->line_count;
    list->why_refused = why;
}

static int add_line(struct gs_watchlist *list, const struct gs_watchlist_text *text, uint8_t *bytes,
                    uint64_t length, struct gs_error *error)
{
    struct gs_string cells[MOST_CELLS];
    struct gs_list_line line;
    if (length > 0 && bytes[length - 1] == '\r') length--;
    if (length == 0) return GS_OK;
    const char *wrong = length > MOST_LINE_BYTES ? "it is too long" : NULL;
    if (wrong == NULL && memchr(bytes, '\0', length) != NULL) wrong = "it has a zero byte";
    if (wrong == NULL) wrong = split(bytes, length, cells, text->cell_count);
    if (wrong == NULL) wrong = parse_cells(list, text, cells, &line);
    if (wrong == NULL) return gs_list_put(list, &line, error);
    refuse(list, wrong);
    return GS_OK;
}

int gs_watchlist_add(struct gs_watchlist *list, const struct gs_watchlist_text *text,
                     struct gs_error *error)
{
    uint8_t *at = text->bytes, *end = text->bytes + text->length;
    if (text->cell_count > MOST_CELLS)
        return gs_fail(error, GS_REFUSED, "a line has more than %u columns", MOST_CELLS);
    while (at < end) {
        uint8_t *next = memchr(at, '\n', (size_t)(end - at));
        uint8_t *line_end = next == NULL ? end : next;
        list->line_count++;
        GS_RETURN_IF_ERROR(add_line(list, text, at, (uint64_t)(line_end - at), error));
        at = next == NULL ? end : next + 1;
    }
    return GS_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* strftime: a time as text, by a format that is read once. Its signs are DuckDB's; names are
 * English whatever the locale. gigastream/gsql/time_formats.py is the same in Python. */
#ifndef GS_STRFTIME_H
#define GS_STRFTIME_H

#include <stdio.h>

#include "gs_dates.h"
#include "gs_value_text.h"

/* The longest format in bytes, and how much longer than its format a time can be. */
#define GS_FORMAT_MOST 1000u
#define GS_FORMAT_GROWTH 10u

struct gs_time_format {
    uint32_t length;
    uint8_t bytes[GS_FORMAT_MOST];
};

/* A number with leading zeros; of width 0 without. */
static inline uint8_t *gs_put_number(uint8_t *at, uint32_t number, uint32_t width)
{
    uint8_t digits[10];
    uint32_t count = 0;
    for (; number > 0 || count < width || count == 0; number /= 10)
        digits[count++] = (uint8_t)('0' + number % 10);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

/* The nth of names with a NUL behind each; its first `most` letters. */
static inline uint8_t *gs_put_name(uint8_t *at, const char *names, uint32_t n, size_t most)
{
    for (; n > 0; n--)
        names += strlen(names) + 1;
    size_t length = strlen(names);
    return gs_put_text(at, names, length < most ? length : most);
}

static inline uint8_t *gs_put_day(uint8_t *at, struct gs_date date, size_t most)
{
    return gs_put_name(at, "Sunday\0Monday\0Tuesday\0Wednesday\0Thursday\0Friday\0Saturday\0",
                       date.day_of_week, most);
}

static inline uint8_t *gs_put_month(uint8_t *at, struct gs_date date, size_t most)
{
    return gs_put_name(at,
                       "January\0February\0March\0April\0May\0June\0July\0August\0September\0"
                       "October\0November\0December\0",
                       date.month - 1, most);
}

/* The signs that are numbers: their value and width, or false. */
static inline bool gs_time_number(uint8_t sign, struct gs_time t, uint32_t *number, uint32_t *width)
{
    static const char signs[] = "dmyHIMSUWVYGjgfnwu";
    static const uint8_t widths[] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 4, 4, 3, 3, 6, 9, 1, 1};
    const char *found = sign == 0 ? NULL : strchr(signs, sign);
    if (found == NULL) return false;
    uint32_t hour = t.second_of_day / 3600, from_monday = gs_iso_day_of_week(t.date);
    int32_t iso_year;
    uint32_t week = gs_iso_week(t.date, &iso_year);
    const uint32_t numbers[] = {
        t.date.day,
        t.date.month,
        (uint32_t)t.date.year % 100,
        hour,
        (hour + 11) % 12 + 1,
        t.second_of_day / 60 % 60,
        t.second_of_day % 60,
        (t.date.day_of_year + 6 - t.date.day_of_week) / 7,
        (t.date.day_of_year + 7 - from_monday) / 7,
        week,
        (uint32_t)t.date.year,
        (uint32_t)iso_year,
        t.date.day_of_year,
        t.nanosecond / 1000000,
        t.nanosecond / 1000,
        t.nanosecond,
        t.date.day_of_week,
        from_monday,
    };
    *number = numbers[found - signs];
    *width = widths[found - signs];
    return true;
}

/* Whether `%-` may stand before it: no leading zeros. */
static inline bool gs_may_be_short(uint8_t sign)
{
    return sign != 0 && strchr("dmyHIMSj", sign) != NULL;
}

/* What a sign says of a time; NULL for one that says nothing. */
static inline uint8_t *gs_put_sign(uint8_t *at, uint8_t sign, bool is_short, struct gs_time t)
{
    uint32_t number, width;
    if (gs_time_number(sign, t, &number, &width)) {
        if (is_short && !gs_may_be_short(sign)) return NULL;
        return gs_put_number(at, number, is_short ? 0 : width);
    }
    if (is_short) return NULL;
    switch (sign) {
    case 'a':
        return gs_put_day(at, t.date, 3);
    case 'A':
        return gs_put_day(at, t.date, 9);
    case 'b':
        return gs_put_month(at, t.date, 3);
    case 'B':
        return gs_put_month(at, t.date, 9);
    case 'p':
        return gs_put_text(at, t.second_of_day < 43200 ? "AM" : "PM", 2);
    case 'z':
        return gs_put_text(at, "+00", 3);
    case 'Z':
        return gs_put_text(at, "UTC", 3);
    case '%':
        return gs_put_text(at, "%", 1);
    default:
        return NULL;
    }
}

/* The whole text from `at` on; NULL, and the place of the mistake, for a format that is none. */
static inline uint8_t *gs_put_time(uint8_t *at, const struct gs_time_format *format,
                                   struct gs_time time, uint32_t *place)
{
    for (uint32_t i = 0; i < format->length; i++) {
        *place = i;
        if (format->bytes[i] != '%') {
            *at++ = format->bytes[i];
            continue;
        }
        bool is_short = i + 1 < format->length && format->bytes[i + 1] == '-';
        i += is_short ? 2 : 1;
        at = i < format->length ? gs_put_sign(at, format->bytes[i], is_short, time) : NULL;
        if (at == NULL) return NULL;
    }
    return at;
}

static inline void *gs_time_format_new(struct gs_string text, char *message, size_t message_size)
{
    uint8_t shown[GS_FORMAT_MOST * GS_FORMAT_GROWTH];
    uint32_t place = 0;
    if (text.length > GS_FORMAT_MOST) {
        snprintf(message, message_size, "a format has at most %u bytes", GS_FORMAT_MOST);
        return NULL;
    }
    struct gs_time_format *format = calloc(1, sizeof *format);
    if (format == NULL) {
        snprintf(message, message_size, "no memory for a format of time");
        return NULL;
    }
    format->length = text.length;
    if (text.length != 0) memcpy(format->bytes, text.bytes, text.length);
    if (gs_put_time(shown, format, gs_time_of_uint(0), &place) != NULL) return format;
    snprintf(message, message_size, "no format of time: byte %u begins no sign", place + 1);
    free(format);
    return NULL;
}

static inline bool gs_time_formatted(struct gs_scratch *scratch, struct gs_time time,
                                     const struct gs_time_format *format, struct gs_string *result)
{
    uint8_t *bytes;
    uint32_t place, most = format->length * GS_FORMAT_GROWTH;
    if (!gs_string_new(scratch, most, &bytes, result)) return false;
    result->length = (uint32_t)(gs_put_time(bytes, format, time, &place) - bytes);
    scratch->used -= most - result->length;
    return true;
}

#define GS_STRFTIME(type, c_type)                                                                  \
    static inline void *gs_handle_strftime_##type##_string_new(struct gs_string text,              \
                                                               char *message, size_t message_size) \
    {                                                                                              \
        return gs_time_format_new(text, message, message_size);                                    \
    }                                                                                              \
    static inline void gs_handle_strftime_##type##_string_free(void *handle)                       \
    {                                                                                              \
        free(handle);                                                                              \
    }                                                                                              \
    static inline bool gs_function_strftime_##type##_string(                                       \
        struct gs_scratch *scratch, c_type x, const void *handle, struct gs_string *result)        \
    {                                                                                              \
        return gs_time_formatted(scratch, gs_time_of_##type(x), handle, result);                   \
    }

GS_STRFTIME(timestamp, int64_t)
GS_STRFTIME(uint, uint32_t)
#undef GS_STRFTIME

#endif

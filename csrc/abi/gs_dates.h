/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a time, under DuckDB's names: of a timestamp, or of whole seconds since the epoch. UTC,
 * the Gregorian calendar, no leap seconds. */
#ifndef GS_DATES_H
#define GS_DATES_H

#include "gs_functions.h"

#define GS_NS_OF_SECOND INT64_C(1000000000)
#define GS_SECONDS_OF_DAY 86400

struct gs_date {
    int32_t year;
    uint32_t month;       /* 1 to 12 */
    uint32_t day;         /* 1 to 31 */
    uint32_t day_of_year; /* 1 to 366 */
    uint32_t day_of_week; /* 0 to 6, from Sunday */
};

struct gs_time {
    struct gs_date date;
    uint32_t second_of_day;
    uint32_t nanosecond;
};

static inline bool gs_is_leap_year(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The days from 1970-01-01 to the first of a month: in eras of 400 years that begin in March, so
 * that a leap day is a year's last. */
static inline int64_t gs_days_to_month(int64_t year, uint32_t month)
{
    int64_t from_march = year - (month <= 2);
    int64_t era = gs_floor_divide_llong(from_march, 400), of_era = from_march - era * 400;
    int64_t months = (month + 9) % 12;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * months + 2) / 5 -
           719468;
}

/* The date so many days after 1970-01-01. */
static inline struct gs_date gs_date_of(int64_t days)
{
    struct gs_date date;
    int64_t from_march = days + 719468, era = gs_floor_divide_llong(from_march, 146097);
    int64_t of_era = from_march - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t months = (5 * of_year + 2) / 153;
    date.day = (uint32_t)(of_year - (153 * months + 2) / 5 + 1);
    date.month = (uint32_t)(months < 10 ? months + 3 : months - 9);
    date.year = (int32_t)(year + era * 400 + (date.month <= 2));
    date.day_of_year = (uint32_t)(days - gs_days_to_month(date.year, 1) + 1);
    date.day_of_week = (uint32_t)(((days + 4) % 7 + 7) % 7);
    return date;
}

static inline struct gs_time gs_time_of_timestamp(int64_t timestamp_ns)
{
    int64_t seconds = gs_floor_divide_llong(timestamp_ns, GS_NS_OF_SECOND);
    int64_t days = gs_floor_divide_llong(seconds, GS_SECONDS_OF_DAY);
    return (struct gs_time){gs_date_of(days), (uint32_t)(seconds - days * GS_SECONDS_OF_DAY),
                            (uint32_t)(timestamp_ns - seconds * GS_NS_OF_SECOND)};
}

static inline struct gs_time gs_time_of_uint(uint32_t seconds)
{
    return (struct gs_time){gs_date_of(seconds / GS_SECONDS_OF_DAY), seconds % GS_SECONDS_OF_DAY,
                            0};
}

/* From Monday, 1 to 7. */
static inline uint32_t gs_iso_day_of_week(struct gs_date date)
{
    return date.day_of_week == 0 ? 7 : date.day_of_week;
}

/* ISO 8601's week, which is in the year that its Thursday is in. */
static inline uint32_t gs_iso_week(struct gs_date date, int32_t *year)
{
    int32_t days = gs_is_leap_year(date.year) ? 366 : 365;
    int32_t thursday = (int32_t)date.day_of_year + 4 - (int32_t)gs_iso_day_of_week(date);
    *year = date.year;
    if (thursday > days) {
        *year = date.year + 1;
        return 1;
    }
    if (thursday < 1) {
        *year = date.year - 1;
        thursday += gs_is_leap_year(*year) ? 366 : 365;
    }
    return (uint32_t)(thursday + 6) / 7;
}

static inline uint32_t gs_part_week(struct gs_time time)
{
    int32_t year;
    return gs_iso_week(time.date, &year);
}

#define GS_DATE_PART(name, type, value)                                                            \
    static inline type gs_function_##name##_timestamp(int64_t timestamp_ns)                        \
    {                                                                                              \
        struct gs_time time = gs_time_of_timestamp(timestamp_ns);                                  \
        return (type)(value);                                                                      \
    }                                                                                              \
    static inline type gs_function_##name##_uint(uint32_t seconds)                                 \
    {                                                                                              \
        struct gs_time time = gs_time_of_uint(seconds);                                            \
        return (type)(value);                                                                      \
    }

GS_DATE_PART(year, uint32_t, time.date.year)
GS_DATE_PART(quarter, uint32_t, (time.date.month + 2) / 3)
GS_DATE_PART(month, uint32_t, time.date.month)
GS_DATE_PART(week, uint32_t, gs_part_week(time))
GS_DATE_PART(day, uint32_t, time.date.day)
GS_DATE_PART(dayofyear, uint32_t, time.date.day_of_year)
GS_DATE_PART(dayofweek, uint32_t, time.date.day_of_week)
GS_DATE_PART(isodow, uint32_t, gs_iso_day_of_week(time.date))
GS_DATE_PART(hour, uint32_t, time.second_of_day / 3600)
GS_DATE_PART(minute, uint32_t, time.second_of_day / 60 % 60)
GS_DATE_PART(second, uint32_t, time.second_of_day % 60)
#undef GS_DATE_PART

/* Of the minute, in thousandths and less, as DuckDB and Postgres have them. */
static inline uint64_t gs_ns_of_minute(int64_t timestamp_ns)
{
    const int64_t minute = 60 * GS_NS_OF_SECOND;
    return (uint64_t)((timestamp_ns % minute + minute) % minute);
}

static inline uint32_t gs_function_millisecond_timestamp(int64_t timestamp_ns)
{
    return (uint32_t)(gs_ns_of_minute(timestamp_ns) / 1000000);
}

static inline uint32_t gs_function_microsecond_timestamp(int64_t timestamp_ns)
{
    return (uint32_t)(gs_ns_of_minute(timestamp_ns) / 1000);
}

static inline uint64_t gs_function_nanosecond_timestamp(int64_t timestamp_ns)
{
    return gs_ns_of_minute(timestamp_ns);
}

/* The start of the month, quarter or year; no value where it lies before 1677. */
static inline bool gs_start_of_months(int64_t timestamp_ns, uint32_t months, int64_t *result)
{
    struct gs_date date = gs_time_of_timestamp(timestamp_ns).date;
    int64_t days = gs_days_to_month(date.year, date.month - (date.month - 1) % months);
    return !__builtin_mul_overflow(days, GS_SECONDS_OF_DAY * GS_NS_OF_SECOND, result);
}

static inline bool gs_function_start_of_month_timestamp(int64_t timestamp_ns, int64_t *result)
{
    return gs_start_of_months(timestamp_ns, 1, result);
}

static inline bool gs_function_start_of_quarter_timestamp(int64_t timestamp_ns, int64_t *result)
{
    return gs_start_of_months(timestamp_ns, 3, result);
}

static inline bool gs_function_start_of_year_timestamp(int64_t timestamp_ns, int64_t *result)
{
    return gs_start_of_months(timestamp_ns, 12, result);
}

#endif

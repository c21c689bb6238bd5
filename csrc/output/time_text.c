/* SPDX-License-Identifier: Apache-2.0 */
/* Timestamps as ISO 8601. The calendar is computed here: the C library's would ask for the time
 * zone's files and locks. */
#include "value.h"

#define NS_PER_SECOND INT64_C(1000000000)
#define SECONDS_PER_DAY INT64_C(86400)
#define DAYS_PER_ERA 146097 /* 400 years, after which the Gregorian calendar repeats */

struct date {
    int64_t year;
    unsigned month, day;
};

/* The date of a day counted from 1970-01-01. Years are taken to begin in March, so that the leap
 * day is a year's last, and eras on a 1 March of a year divisible by 400. */
static struct date date_of_day(int64_t days)
{
    int64_t from_era_0 = days + 719468; /* days from 0000-03-01 to 1970-01-01 */
    int64_t era = (from_era_0 >= 0 ? from_era_0 : from_era_0 - DAYS_PER_ERA + 1) / DAYS_PER_ERA;
    unsigned day = (unsigned)(from_era_0 - era * DAYS_PER_ERA);
    unsigned year = (day - day / 1460 + day / 36524 - day / (DAYS_PER_ERA - 1)) / 365;
    unsigned day_of_year = day - (365 * year + year / 4 - year / 100);
    unsigned month = (5 * day_of_year + 2) / 153; /* from March */
    struct date date = {
        .year = era * 400 + year + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = day_of_year - (153 * month + 2) / 5 + 1,
    };
    return date;
}

/* `x` with as many digits as asked for. */
static uint8_t *put_digits(uint8_t *at, uint64_t x, int digits)
{
    for (int i = digits - 1; i >= 0; i--, x /= 10)
        at[i] = (uint8_t)('0' + x % 10);
    return at + digits;
}

static uint8_t *put_date(uint8_t *at, struct date date)
{
    at = put_digits(at, (uint64_t)date.year, 4); /* 64 bits of ns reach from 1677 to 2262 */
    *at++ = '-';
    at = put_digits(at, date.month, 2);
    *at++ = '-';
    return put_digits(at, date.day, 2);
}

static uint8_t *put_time_of_day(uint8_t *at, uint64_t second_of_day)
{
    at = put_digits(at, second_of_day / 3600, 2);
    *at++ = ':';
    at = put_digits(at, second_of_day / 60 % 60, 2);
    *at++ = ':';
    return put_digits(at, second_of_day % 60, 2);
}

/* a / b rounded down: time before the epoch counts backwards only in whole days. */
static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

uint8_t *gs_put_timestamp(uint8_t *at, int64_t timestamp_ns)
{
    int64_t seconds = floor_divide(timestamp_ns, NS_PER_SECOND);
    int64_t days = floor_divide(seconds, SECONDS_PER_DAY);
    /* modulo 2^64: the whole seconds of INT64_MIN are more nanoseconds than 64 bits hold */
    uint64_t fraction_ns = (uint64_t)timestamp_ns - (uint64_t)seconds * NS_PER_SECOND;
    at = put_date(at, date_of_day(days));
    *at++ = 'T';
    at = put_time_of_day(at, (uint64_t)(seconds - days * SECONDS_PER_DAY));
    *at++ = '.';
    at = put_digits(at, fraction_ns, 9);
    *at++ = 'Z';
    return at;
}

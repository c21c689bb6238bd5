/* SPDX-License-Identifier: Apache-2.0 */
/* Timestamps as ISO 8601. The calendar is computed here: the C library's would ask for the time
 * zone's files and locks. */
#include "digits.h"
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

static uint8_t *put_two(uint8_t *at, uint64_t x)
{
    return gs_put_text(at, gs_two_digits + 2 * x, 2);
}

static uint8_t *put_date(uint8_t *at, struct date date)
{
    uint64_t year = (uint64_t)date.year; /* 64 bits of ns reach from 1677 to 2262 */
    at = put_two(put_two(at, year / 100), year % 100);
    *at++ = '-';
    at = put_two(at, date.month);
    *at++ = '-';
    return put_two(at, date.day);
}

static uint8_t *put_time_of_day(uint8_t *at, uint64_t second_of_day)
{
    at = put_two(at, second_of_day / 3600);
    *at++ = ':';
    at = put_two(at, second_of_day / 60 % 60);
    *at++ = ':';
    return put_two(at, second_of_day % 60);
}

/* a / b rounded down: time before the epoch counts backwards only in whole days. */
static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static struct gs_second_text text_of_second(int64_t second)
{
    struct gs_second_text text = {.second = second};
    int64_t days = floor_divide(second, SECONDS_PER_DAY);
    uint8_t *at = put_date(text.text, date_of_day(days));
    *at++ = 'T';
    at = put_time_of_day(at, (uint64_t)(second - days * SECONDS_PER_DAY));
    *at = '.';
    return text;
}

struct gs_second_text gs_second_of(int64_t timestamp_ns)
{
    return text_of_second(floor_divide(timestamp_ns, NS_PER_SECOND));
}

#define SECOND_LENGTH 20 /* 2026-11-21T08:00:00. */

uint8_t *gs_put_timestamp_near(uint8_t *at, int64_t timestamp_ns, struct gs_second_text *second)
{
    int64_t own = floor_divide(timestamp_ns, NS_PER_SECOND);
    if (own != second->second) *second = text_of_second(own);
    /* modulo 2^64: the whole seconds of INT64_MIN are more nanoseconds than 64 bits hold */
    uint64_t fraction_ns = (uint64_t)timestamp_ns - (uint64_t)own * NS_PER_SECOND;
    memcpy(at, second->text, sizeof second->text);
    at[SECOND_LENGTH] = (uint8_t)('0' + fraction_ns / GS_EIGHT_DIGITS);
    at = gs_put_eight(at + SECOND_LENGTH + 1, (uint32_t)(fraction_ns % GS_EIGHT_DIGITS));
    *at++ = 'Z';
    return at;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles as Python's repr prints them: the fewest digits that read back as the same double. */
#include "value.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGITS_MAX 17 /* always enough */

/* x = 0.d1d2…dn * 10^point */
struct decimal {
    char digits[DIGITS_MAX];
    int count;
    int point;
};

/* The digits of what printf made of %e. They are picked out one by one, because the decimal point
 * is the locale's. */
static void read_decimal(const char *printed, struct decimal *decimal)
{
    decimal->count = 0;
    for (; *printed != 'e'; printed++) {
        if (*printed >= '0' && *printed <= '9') decimal->digits[decimal->count++] = *printed;
    }
    while (decimal->count > 1 && decimal->digits[decimal->count - 1] == '0')
        decimal->count--;
    decimal->point = atoi(printed + 1) + 1;
}

/* The next number up of as many digits. (All nines become 0, which no caller takes for its x.) */
static void round_up(char *printed)
{
    char *digit = strchr(printed, 'e') - 1;
    for (; digit >= printed && (*digit < '0' || *digit >= '9'); digit--) {
        if (*digit == '9') *digit = '0';
    }
    if (digit >= printed) (*digit)++;
}

/* Whether so many digits suffice; they are left in `printed`. Below a power of two doubles lie
 * twice as close as above it, so the nearest digits may read back as its lower neighbour where the
 * next ones up are right. */
static bool print_digits(double magnitude, int digits, char *printed, size_t size)
{
    snprintf(printed, size, "%.*e", digits - 1, magnitude);
    if (strtod(printed, NULL) == magnitude) return true;
    if (digits != DIGITS_MAX - 1) return false;
    round_up(printed);
    return strtod(printed, NULL) == magnitude;
}

/* 15 digits are enough for what people write, 17 for every double. Below DBL_MIN doubles have fewer
 * than 15 digits themselves, and fewer may do. */
static void shortest_decimal(double magnitude, struct decimal *decimal)
{
    char printed[48];
    int digits = magnitude < DBL_MIN ? 1 : DBL_DIG;
    while (!print_digits(magnitude, digits, printed, sizeof printed))
        digits++;
    read_decimal(printed, decimal);
}

static uint8_t *put_zeros(uint8_t *at, int count)
{
    for (; count > 0; count--)
        *at++ = '0';
    return at;
}

/* 1234.5, 0.012, 1200.0 */
static uint8_t *put_positional(uint8_t *at, const struct decimal *x)
{
    int whole = x->point < 0 ? 0 : x->point < x->count ? x->point : x->count;
    at = gs_put_text(at, x->digits, (size_t)whole);
    at = put_zeros(at, x->point - x->count);
    if (x->point <= 0) *at++ = '0';
    *at++ = '.';
    at = put_zeros(at, -x->point);
    if (whole == x->count) *at++ = '0';
    return gs_put_text(at, x->digits + whole, (size_t)(x->count - whole));
}

/* 1.5e-07, 1e+22 */
static uint8_t *put_scientific(uint8_t *at, const struct decimal *x)
{
    int exponent = x->point - 1;
    *at++ = (uint8_t)x->digits[0];
    if (x->count > 1) *at++ = '.';
    at = gs_put_text(at, x->digits + 1, (size_t)(x->count - 1));
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    exponent = exponent < 0 ? -exponent : exponent;
    if (exponent < 10) *at++ = '0';
    return gs_put_unsigned(at, (uint64_t)exponent);
}

uint8_t *gs_put_float(uint8_t *at, double x)
{
    if (isnan(x)) return gs_put_text(at, "nan", 3);
    if (signbit(x)) *at++ = '-';
    x = fabs(x);
    if (isinf(x)) return gs_put_text(at, "inf", 3);
    if (x < 1e16 && x == (double)(int64_t)x) { /* all digits of such a number count */
        at = gs_put_unsigned(at, (uint64_t)x);
        return gs_put_text(at, ".0", 2);
    }
    struct decimal decimal;
    shortest_decimal(x, &decimal);
    bool is_positional = decimal.point > -4 && decimal.point <= 16;
    return is_positional ? put_positional(at, &decimal) : put_scientific(at, &decimal);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One value as text, without quotes and for both formats. The caller has made room; the functions
 * write at `at` and return the place behind what they wrote. */
#ifndef GS_OUTPUT_VALUE_H
#define GS_OUTPUT_VALUE_H

#include "gs_batch.h"
#include "gs_value_text.h"

/* Whether a field is printed as an address of the link layer. */
bool gs_field_is_mac(const struct gs_field *field);

/* aa:bb:cc:dd:ee:ff */
uint8_t *gs_put_mac(uint8_t *at, uint64_t address);

/* float_text.c: the shortest digits that read back as x; nan, inf and -inf for what is no number.
 */
uint8_t *gs_put_float(uint8_t *at, double x);

/* time_text.c: a second, and its text but for the fraction. */
struct gs_second_text {
    int64_t second; /* since the epoch */
    uint8_t text[24];
};

/* The second that a timestamp is of. */
struct gs_second_text gs_second_of(int64_t timestamp_ns);

/* `second` is any; it is the timestamp's afterwards. */
uint8_t *gs_put_timestamp_near(uint8_t *at, int64_t timestamp_ns, struct gs_second_text *second);

/* Two digits a byte. */
uint8_t *gs_put_hex(uint8_t *at, const uint8_t *bytes, uint32_t count);

#endif

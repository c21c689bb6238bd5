/* SPDX-License-Identifier: Apache-2.0 */
/* One value as text, without quotes and for both formats. The caller has made room; the functions
 * write at `at` and return the place behind what they wrote. */
#ifndef GS_OUTPUT_VALUE_H
#define GS_OUTPUT_VALUE_H

#include "gs_batch.h"
#include "gs_value_text.h"

/* Bytes that a value of a field that is not a string takes at most. */
size_t gs_value_room(const struct gs_field *field);

/* Row `row` of a column that is not of strings, and is not NULL there. */
uint8_t *gs_put_value(uint8_t *at, const struct gs_field *field, const struct gs_column *column,
                      uint32_t row);

/* Whether a field is printed as an address of the link layer. */
bool gs_field_is_mac(const struct gs_field *field);

uint8_t *gs_put_mac(uint8_t *at, uint64_t address);

/* float_text.c: the shortest digits that read back as x; nan, inf and -inf for what is no number.
 */
uint8_t *gs_put_float(uint8_t *at, double x);

/* time_text.c */
uint8_t *gs_put_timestamp(uint8_t *at, int64_t timestamp_ns);

/* string_text.c: how many of the `left` bytes at `bytes`, from the first on, neither format has
 * anything to do with: printable ASCII but for the quote and the backslash. */
uint32_t gs_plain_run(const uint8_t *bytes, uint32_t left);

/* How many of the `left` bytes at `bytes` are one character of UTF-8; 0 where they
 * are none. */
uint32_t gs_utf8_character(const uint8_t *bytes, uint32_t left);

/* `\xHH` */
uint8_t *gs_put_hex_byte(uint8_t *at, uint8_t byte);

#endif

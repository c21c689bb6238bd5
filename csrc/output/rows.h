/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a batch as text, appended to a gs_text: what `gigastream run` prints, by the million,
 * so values are formatted by hand.
 *
 * | value | csv and json |
 * |---|---|
 * | integers | decimal; 64-bit ones are JSON numbers too |
 * | float | the shortest digits that read back as the same double, laid out as Python's repr |
 * | bool | true, false |
 * | IP, INET | 1.2.3.4; IPv6 as RFC 5952 has it |
 * | IPV6 | RFC 5952; only ::ffff:0:0/96 ends in dotted form |
 * | timestamp | ISO 8601, UTC, nanoseconds: 2026-11-21T08:00:00.000000000Z |
 * | ullong of subtype mac | aa:bb:cc:dd:ee:ff |
 * | fstringN | its bytes in hexadecimal, two digits each |
 * | string | UTF-8 as it is; a byte that is not UTF-8 as the four characters \xHH |
 * | NULL | an empty cell; null |
 *
 * csv is RFC 4180 with a line feed as the line end; a cell is quoted only where it must be, and an
 * empty string is "". json is an object a line; a float that is not finite is null there. */
#ifndef GS_OUTPUT_ROWS_H
#define GS_OUTPUT_ROWS_H

#include "gs_batch.h"
#include "text.h"

/* One csv line a row. GS_OK, or GS_ERROR where there is no memory. */
int gs_csv_rows(const struct gs_batch *batch, struct gs_text *text);

/* One json object a row; with `query_name` (or NULL) its first member is "query". GS_OK, or
 * GS_ERROR where there is no memory. */
int gs_json_rows(const struct gs_batch *batch, const char *query_name, struct gs_text *text);

#endif

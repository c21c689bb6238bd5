/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture file that is not opened at once promises of its packets' time. */
#ifndef GS_CAPTURE_SCAN_H
#define GS_CAPTURE_SCAN_H

#include "../base/error.h"
#include "link_types.h"

/* What is seen of a file in its first two blocks of `block_bytes` in which records begin. */
struct gs_scanned_promise {
    int64_t least_ns; /* timestamp. INT64_MAX: it has no records; GS_BOUND_NONE: none of these has a
                       * usable timestamp */
    int64_t high_ns;  /* H behind them; INT64_MAX: nothing is behind them */
};

/* gs_capture_scan_promise of what this descriptor reads. */
int gs_scan_promise(int descriptor, const struct gs_link_types *link_types, uint64_t block_bytes,
                    struct gs_scanned_promise *promise, struct gs_error *error);

#endif

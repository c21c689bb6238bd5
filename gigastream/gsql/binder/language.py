# SPDX-License-Identifier: Apache-2.0
"""Functions that are part of the language and stand in no definition file."""

from __future__ import annotations

LANGUAGE_SIGNATURES = (
    ("INT(number)", "int"),
    ("UINT(number)", "uint"),
    ("LLONG(number)", "llong"),
    ("ULLONG(number)", "ullong"),
    ("FLOAT(number)", "float"),
    ("IF(bool, any, any)", "the same"),
    ("non_temporal(any)", "the same"),
    ("time_bucket(string CONST, timestamp)", "timestamp"),
    ("grouping(any, …)", "uint"),
    ("coalesce(any, …)", "the same"),
    ("ifnull(any, any)", "the same"),
    ("nullif(any, any)", "the same"),
    ("greatest(any, …)", "the same"),
    ("least(any, …)", "the same"),
    ("concat(string, …)", "string"),
    ("extract(string CONST, time)", "uint"),
    ("date_part(string CONST, time)", "uint"),
    ("date_trunc(string CONST, timestamp)", "timestamp"),
    ("to_timestamp(number)", "timestamp"),
    ("epoch(timestamp)", "float"),
    ("epoch_ms(timestamp)", "llong"),
    ("epoch_us(timestamp)", "llong"),
    ("epoch_ns(timestamp)", "llong"),
)
"""How each of them is called, and what it gives."""

LANGUAGE = tuple(signature.partition("(")[0] for signature, _ in LANGUAGE_SIGNATURES)
"""Their names."""

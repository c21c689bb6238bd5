# SPDX-License-Identifier: Apache-2.0
"""Which header of csrc/abi generated code includes for a function of configs/functions.gsql."""

from __future__ import annotations

DEFAULT_HEADER = "gs_functions.h"

FUNCTION_HEADERS: dict[str, str] = {
    "getlpmid": "gs_lpm.h",
    "str_exists_substr": "gs_strings.h",
    "str_match_start": "gs_strings.h",
    "str_match_offset": "gs_strings.h",
    "byte_match_offset": "gs_strings.h",
    "str_length": "gs_strings.h",
    "str_truncate": "gs_strings.h",
    "str_suffix": "gs_strings.h",
    "get_list_entry": "gs_strings.h",
    "lower": "gs_strings.h",
    "upper": "gs_strings.h",
    "to_hex_string": "gs_strings.h",
    "string_hash": "gs_strings.h",
    "strtoip": "gs_strings.h",
    "str_regex_match": "gs_regex.h",
    "str_extract_regex": "gs_regex.h",
}


def header_of(name: str) -> str:
    """The header that holds function or predicate `name` (in any case)."""
    return FUNCTION_HEADERS.get(name.lower(), DEFAULT_HEADER)

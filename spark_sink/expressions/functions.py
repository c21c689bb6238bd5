# SPDX-License-Identifier: Apache-2.0
"""Which Spark expression computes which function of configs/functions.gsql, by its C symbol."""

from __future__ import annotations

import os
from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.expressions import Constant, ConstantValue, FunctionCall
from gigastream.gsql.types import Type
from spark_sink.expressions import addresses, mathematics, prefix_files, strings
from spark_sink.expressions import regular_expressions as regex

Compute = Callable[..., Column]


def called(e: FunctionCall, arguments: list[Column]) -> Column:
    """The result of a call over columns of its arguments."""
    if e.symbol in _PREFIXES:
        return _PREFIXES[e.symbol](arguments[0], int(_constant(e, 1)))
    if e.symbol in _PATTERNS:
        return _PATTERNS[e.symbol](_text(e))(arguments[0])
    if e.symbol in _PREFIX_FILES:
        return prefix_files.finding(prefix_files.read_table(_path(e)))(arguments[0])
    return _FUNCTIONS[e.symbol](*arguments)


def is_python(e: FunctionCall) -> bool:
    """Whether Python workers compute it, and not Spark's own expressions."""
    return e.symbol in _PATTERNS or e.symbol in _PREFIX_FILES


def refused(e: FunctionCall) -> str | None:
    """Why Spark cannot call it; None if it can."""
    if e.symbol in _FUNCTIONS or e.symbol in _PREFIXES or e.symbol in _PATTERNS:
        return None
    if e.symbol in _PREFIX_FILES:
        return _why_no_table(_path(e))
    if e.header:
        return f"{e.name} is a function in C of your own"
    return f"{e.name} has no equal in Spark"


def _why_no_table(path: str) -> str | None:
    try:
        prefix_files.read_table(path)
    except prefix_files.PrefixFileError as error:
        return str(error)
    return None


def _constant(e: FunctionCall, index: int) -> ConstantValue:
    argument = e.arguments[index]
    assert isinstance(argument, Constant)
    assert argument.value is not None
    return argument.value


def _text(e: FunctionCall) -> bytes:
    """The HANDLE argument, which stands behind the value."""
    text = _constant(e, 1)
    assert isinstance(text, bytes)
    return text


def _path(e: FunctionCall) -> str:
    return os.fsdecode(_text(e))


def _itself(x: Column) -> Column:
    return x


_ORDERED = {
    "uint": Type.UINT,
    "int": Type.INT,
    "ullong": Type.ULLONG,
    "llong": Type.LLONG,
    "float": Type.FLOAT,
    "ip": Type.IP,
    "timestamp": Type.TIMESTAMP,
}

_PREFIXES: dict[str, Callable[[Column, int], Column]] = {
    "gs_function_prefix_ip_uint": addresses.prefix_of_ip,
    "gs_function_prefix_ipv6_uint": addresses.prefix_of_ipv6,
    "gs_function_prefix_inet_uint": addresses.prefix_of_inet,
}

_PATTERNS: dict[str, Callable[[bytes], Callable[[Column], Column]]] = {
    "gs_function_str_regex_match_string_string": regex.matching,
    "gs_function_str_extract_regex_string_string": regex.extracting,
}

_PREFIX_FILES = {f"gs_function_getlpmid_{name}_string" for name in ("ip", "ipv6", "inet")}

_FUNCTIONS: dict[str, Compute] = {
    "gs_function_sqrt_float": mathematics.finite(F.sqrt),
    "gs_function_pow_float_float": mathematics.finite(F.pow),
    "gs_function_exp_float": mathematics.finite(F.exp),
    "gs_function_log_float": mathematics.finite(F.ln),
    "gs_function_log2_float": mathematics.finite(mathematics.log2),
    "gs_function_log10_float": mathematics.finite(F.log10),
    "gs_function_fmod_float_float": mathematics.finite(F.try_mod),
    "gs_function_ceil_float": mathematics.ceil,
    "gs_function_floor_float": mathematics.floor,
    "gs_function_round_float": mathematics.round_,
    "gs_function_trunc_float": mathematics.trunc,
    "gs_function_abs_uint": _itself,
    "gs_function_abs_int": mathematics.absolute_int,
    "gs_function_abs_ullong": _itself,
    "gs_function_abs_llong": mathematics.absolute_llong,
    "gs_function_abs_float": F.abs,
    **{f"gs_function_umin_{n}_{n}": mathematics.lesser(t) for n, t in _ORDERED.items()},
    **{f"gs_function_umax_{n}_{n}": mathematics.greater(t) for n, t in _ORDERED.items()},
    "gs_function_pack_uint_uint": mathematics.pack,
    "gs_predicate_str_exists_substr_string_string": strings.exists,
    "gs_predicate_str_match_start_string_string": strings.starts,
    "gs_predicate_str_match_offset_uint_string_string": strings.has_at,
    "gs_predicate_byte_match_offset_uint_uint_string": strings.has_byte_at,
    "gs_function_str_length_string": strings.length,
    "gs_function_str_truncate_string_uint": strings.truncated,
    "gs_function_str_suffix_string_uint": strings.suffix,
    "gs_function_get_list_entry_string_string_uint": strings.list_entry,
    "gs_function_lower_string": strings.lower,
    "gs_function_upper_string": strings.upper,
    "gs_function_to_hex_string_string": strings.hex_of_string,
    "gs_function_to_hex_string_ullong": strings.hex_of_ullong,
    "gs_function_string_hash_string": strings.hash_,
    "gs_function_strtoip_string": strings.address,
}

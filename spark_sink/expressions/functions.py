# SPDX-License-Identifier: Apache-2.0
"""Which Spark expression computes which function of configs/functions.gsql, by its C symbol."""

from __future__ import annotations

import os
from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.expressions import Constant, ConstantValue, FunctionCall
from gigastream.gsql.types import Type
from spark_sink.expressions import (
    address_kinds,
    addresses,
    dates,
    encodings,
    mathematics,
    own_functions,
    prefix_files,
    strings,
    text,
    time_formats,
)
from spark_sink.expressions import regular_expressions as regex
from spark_sink.expressions.crypto_pan import Anonymizer

Compute = Callable[..., Column]


def called(e: FunctionCall, arguments: list[Column]) -> Column:
    """The result of a call over columns of its arguments."""
    if e.symbol in _PREFIXES:
        return _PREFIXES[e.symbol](arguments[0], int(_constant(e, 1)))
    if e.symbol in _PREPARED:
        return _PREPARED[e.symbol](_text(e))(arguments[0])
    if e.symbol in _PREFIX_FILES:
        return prefix_files.finding(prefix_files.read_table(_path(e)))(arguments[0])
    if e.header:
        return own_functions.called(e, arguments)
    return _FUNCTIONS[e.symbol](*arguments)


def is_python(e: FunctionCall) -> bool:
    """Whether Python workers compute it, and not Spark's own expressions."""
    return e.symbol in _IN_PYTHON or e.symbol in _PREFIX_FILES or bool(e.header)


def refused(e: FunctionCall) -> str | None:
    """Why Spark cannot call it; None if it can."""
    if e.symbol in _FUNCTIONS or e.symbol in _PREFIXES or e.symbol in _PREPARED:
        return None
    if e.symbol in _PREFIX_FILES:
        return _why_no_table(_path(e))
    if e.header:
        return own_functions.why_not(e)
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

Prepare = Callable[[bytes], Callable[[Column], Column]]

_IN_PYTHON: dict[str, Prepare] = {
    "gs_function_str_regex_match_string_string": regex.matching,
    "gs_function_str_extract_regex_string_string": regex.extracting,
    "gs_function_strftime_timestamp_string": lambda to: time_formats.formatting(to, 1),
    "gs_function_strftime_uint_string": lambda to: time_formats.formatting(to, 10**9),
}

_PREPARED: dict[str, Prepare] = {
    **_IN_PYTHON,
    "gs_function_anonymize_ip_string": lambda key: Anonymizer(key).ip,
    "gs_function_anonymize_ipv6_string": lambda key: Anonymizer(key).ipv6,
    "gs_function_anonymize_inet_string": lambda key: Anonymizer(key).inet,
}
"""Functions of a value and of a constant that is prepared once."""

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
    "gs_function_length_string": strings.length,
    "gs_function_strpos_string_string": text.position,
    "gs_function_contains_string_string": strings.exists,
    "gs_function_starts_with_string_string": strings.starts,
    "gs_function_ends_with_string_string": text.ends,
    "gs_function_substring_string_llong": text.substring,
    "gs_function_substring_string_llong_llong": text.substring,
    "gs_function_left_string_llong": text.left,
    "gs_function_right_string_llong": text.right,
    "gs_function_split_part_string_string_llong": text.split_part,
    "gs_function_trim_string": text.trimming(F.btrim),
    "gs_function_trim_string_string": text.trimming(F.btrim),
    "gs_function_ltrim_string": text.trimming(F.ltrim),
    "gs_function_ltrim_string_string": text.trimming(F.ltrim),
    "gs_function_rtrim_string": text.trimming(F.rtrim),
    "gs_function_rtrim_string_string": text.trimming(F.rtrim),
    "gs_function_concat_string_string": text.joined,
    "gs_function_replace_string_string_string": text.replaced,
    "gs_function_reverse_string": text.reversed_,
    "gs_function_repeat_string_llong": text.repeated,
    "gs_function_lpad_string_llong_string": text.padding(F.lpad),
    "gs_function_rpad_string_llong_string": text.padding(F.rpad),
    "gs_function_get_byte_string_llong": encodings.byte_at,
    "gs_function_get_bit_string_llong": encodings.bit_at,
    "gs_function_hex_string": encodings.hex_of_string,
    "gs_function_hex_ullong": encodings.hex_of_ullong,
    "gs_function_unhex_string": encodings.unhex,
    "gs_function_to_base64_string": encodings.to_base64,
    "gs_function_from_base64_string": encodings.from_base64,
    "gs_function_printable_string": encodings.printable,
    "gs_function_text_ullong": strings.text_of_number,
    "gs_function_text_llong": strings.text_of_number,
    **{
        f"gs_function_text_{type_}": addresses.text_of(Type[type_.upper()])
        for type_ in ("ip", "ipv6", "inet")
    },
    "gs_function_family_ip": address_kinds.family_of_ip,
    "gs_function_family_ipv6": address_kinds.family_of_inet,
    "gs_function_family_inet": address_kinds.family_of_inet,
    **{f"gs_function_{n}_ip": address_kinds.within_ip(p) for n, p in address_kinds.KINDS.items()},
    **{
        f"gs_function_{name}_{type_}": address_kinds.within_inet(prefixes)
        for name, prefixes in address_kinds.KINDS.items()
        for type_ in ("ipv6", "inet")
    },
    **{f"gs_function_{name}_uint": part for name, part in dates.PARTS.items()},
    **{f"gs_function_{n}_timestamp": dates.of_timestamp(p) for n, p in dates.PARTS.items()},
    "gs_function_millisecond_timestamp": dates.of_minute(10**6, "bigint"),
    "gs_function_microsecond_timestamp": dates.of_minute(10**3, "bigint"),
    "gs_function_nanosecond_timestamp": dates.of_minute(1, "decimal(20,0)"),
    "gs_function_start_of_month_timestamp": dates.start_of("month"),
    "gs_function_start_of_quarter_timestamp": dates.start_of("quarter"),
    "gs_function_start_of_year_timestamp": dates.start_of("year"),
}

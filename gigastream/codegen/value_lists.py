# SPDX-License-Identifier: Apache-2.0
"""What groups keep of values one by one, as C: lists in the order of rows, counts of each value.

They begin as zeros, so that the first row is added like any other (csrc/abi/gs_value_lists.h).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gigastream.codegen.accumulator_writer import AccumulatorWriter, StructMember
from gigastream.codegen.c_text import C_TYPE, string_literal
from gigastream.gsql.types import Type
from gigastream.plan.accumulators import Accumulator

Add = Callable[[str, Sequence[str]], list[str]]


def kept_writer(accumulator: Accumulator) -> AccumulatorWriter:
    """The C of an accumulator that keeps values."""
    members, add = _KINDS[accumulator.kind]
    return AccumulatorWriter(
        *(members, members, add(accumulator), add(accumulator), lambda at, x, a: "", _nothing),
        *(_never, _never, _never_combined),
    )


def _nothing(at: str) -> list[str]:
    return []


def _never(at: str, x: Sequence[str]) -> list[str]:
    raise AssertionError("an accumulator of plain rows alone")


def _never_combined(at: str, other: str) -> list[str]:
    raise AssertionError("windows that overlap do not keep values")


def _of_mode(name: str, a: Accumulator) -> list[StructMember]:
    return [StructMember(C_TYPE[a.type], name), StructMember("uint64_t", f"{name}_times")]


def _of_list(name: str, a: Accumulator) -> list[StructMember]:
    return [StructMember("struct gs_value_list", name)]


def _of_counts(name: str, a: Accumulator) -> list[StructMember]:
    return [StructMember("struct gs_value_counts", name)]


def _mode(a: Accumulator) -> Add:
    """The value that was there most often; of those the least."""

    def add(at: str, x: Sequence[str]) -> list[str]:
        value, met = x
        kept = f"{value} + 0.0" if a.type is Type.FLOAT else value  # 0 and -0 are one
        if a.type is Type.STRING:
            kept = f"(struct gs_string){{{met}->bytes, {met}->length}}"
        least = f"{met}->times == {at}_times && GS_ORDER({value}, {at}) < 0"
        better = f"{met}->times > {at}_times || ({least})"
        return [f"if ({better}) {{ {at} = {kept}; {at}_times = {met}->times; }}"]

    return add


def _counts(a: Accumulator) -> Add:
    """Each value that is new begins the list of them."""

    def add(at: str, x: Sequence[str]) -> list[str]:
        met = x[1]
        linked = f"{met}->next = {at}.first; {at}.first = {met}; {at}.count++;"
        return [f"if ({met}->times == 1) {{ {linked} }}"]

    return add


def _list(a: Accumulator) -> Add:
    def add(at: str, x: Sequence[str]) -> list[str]:
        value = f"{_position(x)}, {x[0]}, {len(a.separator)}"
        return [f"op->host->list_add(op, r->table, &{at}, {value});"]

    return add


def _runs(a: Accumulator) -> Add:
    def add(at: str, x: Sequence[str]) -> list[str]:
        value = f"{_position(x)}, {_ordered_bytes(a.type, x[0])}"
        return [f"op->host->runs_add(op, r->table, &{at}, {value});"]

    return add


def _position(x: Sequence[str]) -> str:
    return f"(struct gs_position){{{x[1]}, {x[2]}, {x[3]}}}"


def _ordered_bytes(type_: Type, value: str) -> str:
    """C expression: bytes that are in the order of the values, and equal where these are."""
    if type_ is Type.STRING:
        return value
    if type_ in (Type.INET, Type.IPV6) or type_.is_opaque:
        return f"(struct gs_string){{(const uint8_t *)&{value}, sizeof {value}}}"
    kind = "unsigned"
    if type_ in (Type.INT, Type.LLONG, Type.TIMESTAMP):
        kind = "signed"
    elif type_ is Type.FLOAT:
        kind = "float"
    word = f"(const uint8_t *)&(uint64_t){{gs_ordered_{kind}({value})}}"
    return f"(struct gs_string){{{word}, sizeof(uint64_t)}}"


_KINDS: dict[
    str, tuple[Callable[[str, Accumulator], list[StructMember]], Callable[[Accumulator], Add]]
] = {
    "mode": (_of_mode, _mode),
    "histogram": (_of_counts, _counts),
    "list": (_of_list, _list),
    "runs": (_of_list, _runs),
}


def list_form(separator: bytes, opening: bytes, closing: bytes) -> str:
    """C expression: what stands before, between and behind the values."""
    parts = (
        f"{{(const uint8_t *){string_literal(part)}, {len(part)}}}"
        for part in (opening, separator, closing)
    )
    return f"&(const struct gs_list_form){{{', '.join(parts)}}}"

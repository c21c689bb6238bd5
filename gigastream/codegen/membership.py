# SPDX-License-Identifier: Apache-2.0
"""Long lists of constants as sorted tables (csrc/abi/gs_membership.h).

A comparison for each constant would cost every packet, and the compiler minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from gigastream.codegen.c_text import C_TYPE, Lines, literal, string_literal
from gigastream.gsql.expressions import Constant, Expression, Operation
from gigastream.gsql.types import Type

TABLE_FROM = 9
"""So many constants are worth a table; fewer are compared one after the other."""

_ROW = 8

_KINDS = {
    Type.USHORT: "ushort",
    Type.UINT: "uint",
    Type.INT: "int",
    Type.ULLONG: "ullong",
    Type.LLONG: "llong",
    Type.TIMESTAMP: "llong",
    Type.FLOAT: "float",
    Type.IP: "uint",
    Type.STRING: "string",
    Type.IPV6: "inet",
    Type.INET: "inet",
}


def is_long(values: Sequence[Expression]) -> bool:
    """True for a list of constants, or of tests, that becomes a table."""
    return len(values) >= TABLE_FROM


def among(lines: Lines, values: Sequence[Expression], code: str) -> str:
    """A C condition: the value is one of the constants, none of which is NULL."""
    type_ = values[0].type
    table, count = _table(lines, type_, _sorted(values))
    return f"gs_among_{_KINDS[type_]}({table}, {count}, {code})"


def within(lines: Lines, prefixes: Sequence[Operation], code: str) -> str:
    """A C condition: an address lies in one of the prefixes, all IS_PREFIX of one operand."""
    type_ = prefixes[0].operands[0].type
    ends = [end for ends in _merged(map(_range, prefixes)) for end in ends]
    width = 4 if type_ is Type.IP else 16
    values = [end if width == 4 else end.to_bytes(width, "big") for end in ends]
    table, count = _table(lines, type_, values)
    return f"gs_within_{'ip' if width == 4 else 'inet'}({table}, {count // 2}, {code})"


def _sorted(values: Sequence[Expression]) -> list[Any]:
    """The distinct values in the order in which C compares them."""
    found: set[Any] = {value.value for value in values if isinstance(value, Constant)}
    return sorted(found)


def _table(lines: Lines, type_: Type, values: Sequence[object]) -> tuple[str, int]:
    name = lines.name("table")
    with lines.block(f"static const {C_TYPE[type_]} {name}[] =", "};"):
        for at in range(0, len(values), _ROW):
            row = (_entry(type_, value) for value in values[at : at + _ROW])
            lines.add(", ".join(row) + ",")
    return name, len(values)


def _entry(type_: Type, value: object) -> str:
    """A constant as an initializer of static data, which a compound literal is not."""
    if type_ is Type.STRING:
        assert isinstance(value, bytes)
        return f"{{(const uint8_t *){string_literal(value)}, {len(value)}}}"
    if type_ in (Type.INET, Type.IPV6):
        assert isinstance(value, bytes)
        words = (int.from_bytes(value[at : at + 8], sys.byteorder) for at in (0, 8))
        return "{{" + ", ".join(f"UINT64_C(0x{word:x})" for word in words) + "}}"
    return literal(type_, value)


def _range(prefix: Operation) -> tuple[int, int]:
    """The first and the last address of a prefix."""
    network = prefix.operands[1]
    assert isinstance(network, Constant)
    value = network.value
    number = int.from_bytes(value, "big") if isinstance(value, bytes) else int(value or 0)
    free = (128 if isinstance(value, bytes) else 32) - prefix.prefix_length
    first = number >> free << free
    return first, first + (1 << free) - 1


def _merged(ranges: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges that touch as one, in their order."""
    first, last = -1, -2
    for low, high in sorted(ranges):
        if low <= last + 1 and first >= 0:
            last = max(last, high)
            continue
        if first >= 0:
            yield first, last
        first, last = low, high
    yield first, last

# SPDX-License-Identifier: Apache-2.0
"""Comparisons, IN, and three-valued logic (GSQL §3, §4)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tests.answers.reference.arithmetic import met_type
from tests.answers.reference.syntax import Prefix
from tests.answers.reference.typed import Typed, cast, constant, counted
from tests.answers.reference.types import ADDRESSES, MAPPED, NoValueError, Value, is_whole

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def comparison(sign: str, left: Typed, right: Typed) -> Typed:
    """Exact, whatever the signs and widths of the two; NULL with a NULL."""
    a, b = comparable(left, right)
    compare = COMPARE[sign]

    def read(row: object) -> Value:
        x = a.read(row)
        y = b.read(row)
        return None if x is None or y is None else compare(x, y)

    return Typed("bool", read)


def comparable(left: Typed, right: Typed) -> tuple[Typed, Typed]:
    """Whole numbers are compared as Python has them; the rest in the type where they meet."""
    if "bool" in (left.type, right.type):
        return _truth(left), _truth(right)
    if "timestamp" in (left.type, right.type):
        return counted(left), counted(right)
    if all(is_whole(side.type) or side.is_loose for side in (left, right)):
        return left, right
    if left.type == right.type:
        return left, right
    type_ = met_type(left, right)
    return cast(left, type_), cast(right, type_)


def _truth(side: Typed) -> Typed:
    """0 and 1 are conditions where they meet one."""
    return constant("bool", bool(side.constant)) if side.is_loose else side


def membership(operand: Typed, values: Sequence[Typed]) -> Typed:
    """`x IN [a, b]`."""
    tests = [comparison("=", operand, value) for value in values]

    def read(row: object) -> Value:
        found = [test.read(row) for test in tests]
        return None if None in found else any(found)

    return Typed("bool", read)


def in_prefix(operand: Typed, prefix: Prefix) -> Typed:
    """Whether an address is in a prefix: IPv4 behind 96 bits, and in none of IPv6 (§8, INET)."""
    assert operand.type in ADDRESSES
    address, bits = _bytes(prefix.address), prefix.bits
    if isinstance(prefix.address, int):
        bits += 96

    def read(row: object) -> Value:
        value = operand.read(row)
        if value is None:
            return None
        assert isinstance(value, int | bytes)
        is_other = bits < 96 and _bytes(value).startswith(MAPPED)
        return not is_other and _first_bits(_bytes(value), bits) == _first_bits(address, bits)

    return Typed("bool", read)


def _bytes(address: int | bytes) -> bytes:
    return address if isinstance(address, bytes) else MAPPED + address.to_bytes(4, "big")


def _first_bits(address: bytes, bits: int) -> int:
    return int.from_bytes(address, "big") >> (128 - bits)


def conjunction(operands: Sequence[Typed]) -> Typed:
    """AND: a false operand decides, whatever the others; else none, then NULL, then true."""
    return _logic(operands, decisive=False)


def disjunction(operands: Sequence[Typed]) -> Typed:
    """OR: a true operand decides, whatever the others; else none, then NULL, then false."""
    return _logic(operands, decisive=True)


def _logic(operands: Sequence[Typed], *, decisive: bool) -> Typed:
    def read(row: object) -> Value:
        found = [_read(operand, row) for operand in operands]
        if decisive in [value for value in found if isinstance(value, bool)]:
            return decisive
        if _MISSING in found:
            raise NoValueError
        return None if None in found else not decisive

    return Typed("bool", read)


_MISSING = "no value"


def _read(operand: Typed, row: object) -> Value | str:
    try:
        return operand.read(row)
    except NoValueError:
        return _MISSING


def negation(operand: Typed) -> Typed:
    """NOT: of NULL it is NULL."""

    def read(row: object) -> Value:
        value = operand.read(row)
        return None if value is None else not value

    return Typed("bool", read)


def is_null(operand: Typed) -> Typed:
    """`x IS NULL`."""
    return Typed("bool", lambda row: operand.read(row) is None)

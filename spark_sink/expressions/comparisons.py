# SPDX-License-Identifier: Apache-2.0
"""`= <> < <= > >=`, IN and IS_PREFIX. Bytes compare as unsigned ones, in Spark as in the engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column

from gigastream.gsql.expressions import Constant, Operation
from gigastream.gsql.types import Type
from spark_sink.expressions.values import literal
from spark_sink.expressions.whole_numbers import number

_COMPARE: dict[str, Callable[[Column, Column], Column]] = {
    "=": Column.__eq__,
    "<": Column.__lt__,
    "<=": Column.__le__,
}
_TURNED = {">": "<", ">=": "<="}
OPERATORS = ("=", "<>", "<", "<=", ">", ">=")


def compared(operator: str, type_: Type, left: Column, right: Column) -> Column:
    """Two values of one type; NULL over NULL."""
    if operator == "<>":
        return ~compared("=", type_, left, right)
    if operator in _TURNED:
        return compared(_TURNED[operator], type_, right, left)
    return _COMPARE[operator](left, right)


def is_in(e: Operation, operands: list[Column]) -> Column:
    """Whether a value is one of the constants."""
    value, *members = operands
    if e.operands[0].type is not Type.FLOAT:
        return value.isin(*members)
    return reduce(Column.__or__, [compared("=", Type.FLOAT, value, m) for m in members])


def is_prefix(e: Operation, operands: list[Column]) -> Column:
    """Whether an address begins with the first bits of a constant."""
    network = e.operands[1]
    assert isinstance(network, Constant)
    value, length = network.value, e.prefix_length
    if isinstance(value, bytes):
        least, greatest = _range(int.from_bytes(value, "big"), length, 128)
        ends = [literal(end.to_bytes(16, "big"), Type.INET) for end in (least, greatest)]
        return (operands[0] >= ends[0]) & (operands[0] <= ends[1])
    assert isinstance(value, int)
    least, greatest = _range(value, length, 32)
    mask = 0xFFFFFFFF ^ (greatest - least)
    return operands[0].bitwiseAND(number(mask)) == number(least)


def _range(address: int, length: int, width: int) -> tuple[int, int]:
    """The least and the greatest address of a prefix."""
    rest = (1 << (width - length)) - 1
    return address & ~rest, address | rest

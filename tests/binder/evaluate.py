# SPDX-License-Identifier: Apache-2.0
"""A plain evaluator of checked expressions over whole numbers: what `no value` means is None."""

from __future__ import annotations

from collections.abc import Mapping

from gigastream.gsql.expressions import (
    Case,
    Cast,
    ColumnRef,
    Constant,
    Expression,
    FieldRef,
    FunctionCall,
    Operation,
)
from gigastream.gsql.types import Type


class NoValueError(Exception):
    """The expression has no value: its tuple is dropped."""


def value_of(expression: Expression, row: Mapping[str, int]) -> int | None:
    """The value for a row of fields, or None where there is none."""
    try:
        return _value(expression, row)
    except NoValueError:
        return None


def _value(expression: Expression, row: Mapping[str, int]) -> int:
    if isinstance(expression, Constant):
        return int(expression.value or 0)
    if isinstance(expression, FieldRef):
        return row[expression.field]
    if isinstance(expression, ColumnRef):
        return row[expression.name]
    if isinstance(expression, Cast):
        return _within(_value(expression.operand, row), expression.type)
    if isinstance(expression, Case):
        chosen = next((v for c, v in expression.branches if _value(c, row)), expression.otherwise)
        return _value(chosen, row)
    if isinstance(expression, FunctionCall):
        values = [_value(argument, row) for argument in expression.arguments]
        return {"umin": min, "umax": max}[expression.name.lower()](values)
    assert isinstance(expression, Operation)
    values = [_value(operand, row) for operand in expression.operands]
    if expression.type is Type.BOOL:
        return int(_COMPARISONS[expression.operator](*values))
    found = _operate(expression.operator, values)
    if expression.operator == "~" and expression.type.is_unsigned:
        found &= expression.type.limits[1]
    return _within(found, expression.type)


def _within(value: int, type_: Type) -> int:
    low, high = type_.limits
    if not low <= value <= high:
        raise NoValueError
    return value


def _operate(operator: str, values: list[int]) -> int:
    if operator in ("/", "%") and values[1] == 0:
        raise NoValueError
    return _OPERATIONS[operator](*values)


def _quotient(a: int, b: int) -> int:
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


_OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _quotient,
    "%": lambda a, b: a - _quotient(a, b) * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b if b <= 63 or a == 0 else 1 << 100,
    ">>": lambda a, b: a >> b,
    "neg": lambda a: -a,
    "~": lambda a: ~a,
}

_COMPARISONS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}

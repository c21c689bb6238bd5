# SPDX-License-Identifier: Apache-2.0
"""Between which whole numbers the value of a checked expression lies.

From this follows where an operation must be checked at run time and where it cannot leave its
type: `len * 8` cannot, `sum(len) * 8` can. Operations whose result leaves their type have no value
(GSQL section 3), so a range never reaches beyond the limits of the expression's type.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Sequence
from math import inf

from gigastream.gsql.expressions import (
    Case,
    Cast,
    ColumnRef,
    Constant,
    Expression,
    GroupRef,
    Operation,
)
from gigastream.gsql.order.bounds import divided
from gigastream.gsql.types import Type

Range = tuple[int, int]
Known = Sequence[Range | None]
"""What is known of columns or group variables, by their index; nothing of those that lack."""


def range_of(expression: Expression, known: Known = ()) -> Range:
    """The least and greatest value of an expression of an integer type, timestamp, IP or bool."""
    return within(_unlimited(expression, known), limits_of(expression.type))


def fits(values: Range, type_: Type) -> bool:
    """True if every value of the range is one of the type."""
    low, high = limits_of(type_)
    return low <= values[0] and values[1] <= high


def limits_of(type_: Type) -> Range:
    """The least and greatest value of a type that holds whole numbers."""
    if type_ is Type.BOOL:
        return 0, 1
    return (0, (1 << 32) - 1) if type_ is Type.IP else type_.limits


def result_range(operator: str, left: Range, right: Range) -> Range | None:
    """The range of an operation before its type limits it; None where no rule is known."""
    rule = _RULES.get(operator)
    return None if rule is None else rule(left, right)


def size_of(expression: Expression) -> float:
    """What the size of a float does not exceed, with some room; infinite where nothing is known."""
    if isinstance(expression, Constant) and expression.value is not None:
        return abs(float(expression.value))
    if isinstance(expression, Cast) and _is_whole(expression.operand.type):
        return float(max(map(abs, range_of(expression.operand))))
    if isinstance(expression, Operation) and expression.operator in _SIZES:
        return _SIZES[expression.operator](*map(size_of, expression.operands)) * _ROOM
    return inf


def _unlimited(expression: Expression, known: Known) -> Range:
    if isinstance(expression, Constant) and expression.value is not None:
        return int(expression.value), int(expression.value)
    if isinstance(expression, ColumnRef | GroupRef) and expression.index < len(known):
        return known[expression.index] or limits_of(expression.type)
    if isinstance(expression, Cast) and _is_whole(expression.operand.type):
        return range_of(expression.operand, known)
    if isinstance(expression, Case):
        return _of_case(expression, known)
    if isinstance(expression, Operation) and len(expression.operands) == 2:
        left, right = expression.operands
        if _is_whole(left.type) and _is_whole(right.type):
            ranges = range_of(left, known), range_of(right, known)
            found = result_range(expression.operator, *ranges)
            return limits_of(expression.type) if found is None else found
    return limits_of(expression.type)


def _of_case(case: Case, known: Known) -> Range:
    values = [value for _, value in case.branches]
    values.append(case.otherwise)
    ranges = [range_of(value, known) for value in values if not _is_null(value)]
    if not ranges:
        return limits_of(case.type)
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _is_null(expression: Expression) -> bool:
    return isinstance(expression, Constant) and expression.value is None


def _is_whole(type_: Type) -> bool:
    return type_.is_integer or type_ in (Type.TIMESTAMP, Type.IP, Type.BOOL)


def within(values: Range, limits: Range) -> Range:
    """What of the first lies in the second; all of this where nothing does."""
    low, high = max(values[0], limits[0]), min(values[1], limits[1])
    return (low, high) if low <= high else limits


def _add(left: Range, right: Range) -> Range:
    return left[0] + right[0], left[1] + right[1]


def _subtract(left: Range, right: Range) -> Range:
    return left[0] - right[1], left[1] - right[0]


def _multiply(left: Range, right: Range) -> Range:
    products = [a * b for a in left for b in right]
    return min(products), max(products)


def _divide(left: Range, right: Range) -> Range:
    """The divisor nearest to 0 gives the greatest quotients; 0 itself gives none."""
    divisors = [d for d in (right[0], right[1], -1, 1) if right[0] <= d <= right[1] and d != 0]
    quotients = [divided(a, d) for a in left for d in divisors]
    if not quotients:
        return 0, 0
    return min(*quotients, 0), max(*quotients, 0)


def _modulo(left: Range, right: Range) -> Range:
    """The sign is the dividend's; the size is below the divisor's and not above the dividend's."""
    most = max(abs(right[0]), abs(right[1]), 1) - 1
    return max(min(left[0], 0), -most), min(max(left[1], 0), most)


def _and(left: Range, right: Range) -> Range | None:
    """What has no sign clears the sign of the other."""
    highs = [high for low, high in (left, right) if low >= 0]
    return (0, min(highs)) if highs else None


def _or(left: Range, right: Range) -> Range | None:
    if left[0] < 0 or right[0] < 0:
        return None
    return 0, (1 << max(left[1].bit_length(), right[1].bit_length())) - 1


def _shift_right(left: Range, right: Range) -> Range:
    least, most = max(right[0], 0), min(max(right[1], 0), 63)
    values = [left[0] >> least, left[0] >> most, left[1] >> least, left[1] >> most]
    return min(values), max(values)


def _shift_left(left: Range, right: Range) -> Range | None:
    if right[0] < 0 or right[1] > 63:
        return None
    return _multiply(left, (1 << right[0], 1 << right[1]))


_ROOM = 1.0001
"""More than roundings add to a size."""

_SIZES: dict[str, Callable[..., float]] = {
    "+": operators.add,
    "-": operators.add,
    "*": lambda a, b: 0.0 if 0 in (a, b) else a * b,
    "neg": lambda a: a,
}

_RULES: dict[str, Callable[[Range, Range], Range | None]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _modulo,
    "&": _and,
    "|": _or,
    "^": _or,
    ">>": _shift_right,
    "<<": _shift_left,
}

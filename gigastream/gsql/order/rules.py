# SPDX-License-Identifier: Apache-2.0
"""The table of GSQL section 5: what each operation does to the temporal operands that it has.

Bounds are of values that rise: a decreasing operand, or a decreasing result, is held as its
negative. Negating it therefore turns the temporal type round and leaves the bound as it is, and
every rule exists once for both directions.
"""

from __future__ import annotations

from collections.abc import Callable

from gigastream.gsql.expressions import Cast, Constant, Expression, FunctionCall, Operation
from gigastream.gsql.order import bounds
from gigastream.gsql.order.functions import Extreme, Parts, Stepped, Sum
from gigastream.gsql.order.ranges import range_of
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """The temporal type of an expression, its temporal operands, and what it adds to them."""

    temporal: Temporal
    operands: tuple[Expression, ...]
    add: Callable[..., int]
    """Adds its part over those of the operands: given Parts and their numbers, gives its own."""


def rule_of(expression: Expression) -> Rule | None:
    if isinstance(expression, Cast):
        return _cast(expression)
    if isinstance(expression, FunctionCall):
        return _function(expression)
    if not (isinstance(expression, Operation) and _has_bounds(expression.type)):
        return None
    if len(expression.operands) == 1:
        return _negated(expression) if expression.operator == "neg" else None
    rule = _RULES.get(expression.operator)
    return None if rule is None else rule(expression.operands[0], expression.operands[1])


def _has_bounds(type_: Type) -> bool:
    """True for the types whose values are whole numbers that go on."""
    return type_.is_integer or type_ is Type.TIMESTAMP


def _cast(expression: Cast) -> Rule | None:
    """A value that does not fit is no value, so that narrowing is as good as widening here."""
    operand = expression.operand
    if not (operand.temporal.is_temporal and _has_bounds(operand.type)):
        return None
    return _same(operand) if _has_bounds(expression.type) else None


def _negated(expression: Operation) -> Rule | None:
    operand = expression.operands[0]
    if not operand.temporal.is_temporal:
        return None
    return Rule(operand.temporal.flipped(), (operand,), _nothing)


def _same(operand: Expression) -> Rule:
    return Rule(operand.temporal, (operand,), _nothing)


def _stepped(temporal: Temporal, operand: Expression, step: bounds.Step) -> Rule:
    if step.is_identity:
        return Rule(temporal, (operand,), _nothing)
    return Rule(temporal, (operand,), lambda parts, of: parts.add(Stepped(step, of)))


def _nothing(parts: Parts, of: int) -> int:
    return of


def _total(parts: Parts, left: int, right: int) -> int:
    return parts.add(Sum(left, right))


def _shifted(temporal: Temporal, operand: Expression, amount: int) -> Rule | None:
    """Rule of x + amount, where the amount is that of the value held, x or its negative."""
    if not bounds.NONE < amount < bounds.END:
        return None
    return _stepped(temporal, operand, bounds.Add(amount))


def _whole(expression: Expression) -> int | None:
    """The value of a constant that is a whole number in the range of bounds."""
    if not (isinstance(expression, Constant) and _has_bounds(expression.type)):
        return None
    value = expression.value
    if value is None or not bounds.NONE < int(value) < bounds.END:
        return None
    return int(value)


def _held(amount: int, temporal: Temporal) -> int:
    """A constant as it stands beside a bound: negated where the column is held as its negative."""
    return -amount if temporal is Temporal.DECREASING else amount


def _sum(left: Expression, right: Expression) -> Rule | None:
    if left.temporal is Temporal.CONSTANT:
        left, right = right, left
    if not left.temporal.is_temporal:
        return None
    amount = _whole(right)
    if amount is not None:
        return _shifted(left.temporal, left, _held(amount, left.temporal))
    return Rule(left.temporal, (left, right), _total) if left.temporal is right.temporal else None


def _difference(left: Expression, right: Expression) -> Rule | None:
    subtrahend, minuend = _whole(right), _whole(left)
    if left.temporal.is_temporal and subtrahend is not None:
        return _shifted(left.temporal, left, -_held(subtrahend, left.temporal))
    if right.temporal.is_temporal and minuend is not None:
        result = right.temporal.flipped()
        return _shifted(result, right, _held(minuend, result))
    if left.temporal.is_temporal and right.temporal is left.temporal.flipped():
        return Rule(left.temporal, (left, right), _total)
    return None


def _product(left: Expression, right: Expression) -> Rule | None:
    if left.temporal is Temporal.CONSTANT:
        left, right = right, left
    factor = _whole(right)
    if not left.temporal.is_temporal or not factor:
        return None
    result = left.temporal if factor > 0 else left.temporal.flipped()
    return _stepped(result, left, bounds.Multiply(abs(factor)))


def _quotient(left: Expression, right: Expression) -> Rule | None:
    divisor = _whole(right)
    if left.temporal.is_temporal and divisor is not None and divisor > 0:
        return _stepped(left.temporal, left, bounds.Divide(divisor))
    return _reciprocal(left, right)


def _floor_quotient(left: Expression, right: Expression) -> Rule | None:
    """The number of a window, or of a pane: operator of no query."""
    divisor = _whole(right)
    if left.temporal is not Temporal.INCREASING or divisor is None or divisor <= 0:
        return None
    return _stepped(left.temporal, left, bounds.FloorDivide(divisor))


def _reciprocal(left: Expression, right: Expression) -> Rule | None:
    """Of c / x, which goes on in one direction only where x does not change its sign."""
    dividend = _whole(left)
    if not dividend or not right.temporal.is_temporal or range_of(right)[0] < 0:
        return None
    result = right.temporal.flipped() if dividend > 0 else right.temporal
    rises = right.temporal is Temporal.INCREASING
    step = bounds.NegativeReciprocal if rises else bounds.Reciprocal
    return _stepped(result, right, step(abs(dividend)))


def _shift_right(left: Expression, right: Expression) -> Rule | None:
    places = _whole(right)
    if not left.temporal.is_temporal or places is None or not 0 <= places <= 62:
        return None
    rises = left.temporal is Temporal.INCREASING
    step = bounds.FloorDivide if rises else bounds.CeilingDivide
    return _stepped(left.temporal, left, step(1 << places))


def _masked(left: Expression, right: Expression) -> Rule | None:
    if left.temporal is Temporal.CONSTANT:
        left, right = right, left
    mask = _mask(right)
    if not left.temporal.is_temporal or mask is None:
        return None
    unit = _cleared_unit(mask, *range_of(left))
    if unit is None:
        return None
    rises = left.temporal is Temporal.INCREASING
    step = bounds.FloorMultiple if rises else bounds.CeilingMultiple
    return _stepped(left.temporal, left, step(unit))


def _mask(expression: Expression) -> int | None:
    """A mask may be greater than any bound: HEX'…' of 64 bits."""
    if isinstance(expression, Constant) and expression.value is not None:
        return int(expression.value) if _has_bounds(expression.type) else None
    return None


def _cleared_unit(mask: int, low: int, high: int) -> int | None:
    """2^k if the mask clears the lowest k bits of every value from low to high and no others."""
    if mask == 0:
        return None
    unit = mask & -mask
    if mask < 0:
        return unit if mask == -unit else None
    used = (1 << high.bit_length()) - 1
    return unit if low >= 0 and (mask | (unit - 1)) & used == used else None


_RULES: dict[str, Callable[[Expression, Expression], Rule | None]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": _quotient,
    "//": _floor_quotient,
    ">>": _shift_right,
    "&": _masked,
}


def _function(call: FunctionCall) -> Rule | None:
    name = call.name.lower()
    if name not in ("umin", "umax") or not _has_bounds(call.type):
        return None
    left, right = call.arguments
    if left.temporal is Temporal.CONSTANT:
        left, right = right, left
    if not left.temporal.is_temporal:
        return None
    greatest = (name == "umax") == (left.temporal is Temporal.INCREASING)
    limit = _whole(right)
    if limit is not None:
        step = bounds.AtLeast if greatest else bounds.AtMost
        return _stepped(left.temporal, left, step(_held(limit, left.temporal)))
    if left.temporal is not right.temporal:
        return None
    return Rule(
        left.temporal, (left, right), lambda parts, a, b: parts.add(Extreme(greatest, a, b))
    )

# SPDX-License-Identifier: Apache-2.0
"""The types of operations (GSQL section 3): what is cast to what, and what must be checked.

Two whole numbers meet in the narrowest type that holds both: the wider of two of one sign, llong
for a signed and an unsigned one of 32 bits. `+ - * <<` give llong there, so that nothing wraps.
ullong and a signed type meet in llong, checked, since no type holds both; comparisons of the two
are exact all the same.

A whole number written without a suffix has no type of its own: it takes that of the operand that
it meets if it fits there, so that `time/60` is uint and `sum(len) - 1` ullong; alone it is int, or
the first of uint, llong, ullong that holds it. Arithmetic on such numbers alone is exact and gives
such a number, so that `60*60` is as good as `3600`.

Every function reports what is wrong to a sink and then returns None: an operand that is None was
reported before and makes the operation None in silence. What is of the right types and has no value
is reported too (NO_VALUE), but returned: it may stand in a branch that is never taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Case, Cast, Constant, Expression, Operation
from gigastream.gsql.operations import folding
from gigastream.gsql.operations.conditions import condition
from gigastream.gsql.operations.conversion import (
    common_type,
    constant_type,
    converted,
    counted,
    exact_type,
    is_flexible,
    is_null,
    with_article,
)
from gigastream.gsql.order.inference import temporal_of
from gigastream.gsql.order.ranges import fits, range_of, result_range, size_of
from gigastream.gsql.source import Span
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import replace

_GROWING = ("+", "-", "*", "<<")
_BITWISE = ("&", "|", "^", "<<", ">>")
_SHIFTS = ("<<", ">>")
_DIVISIONS = ("/", "%")


def binary(
    operator: str,
    left: Expression | None,
    right: Expression | None,
    span: Span,
    sink: DiagnosticSink,
) -> Expression | None:
    """One of `+ - * / % & | ^ << >>`."""
    if left is None or right is None:
        return None
    if _refused(operator, (left, right), span, sink):
        return None
    if is_flexible(left) and is_flexible(right):
        exact = folding.flexible(operator, left, right, span, sink)
        return exact or _typed(operator, left, right, span)
    operation = _typed(operator, left, right, span)
    if _has_no_value(operator, right, sink) or _is_lost(operation, sink):
        return operation
    return folding.folded(operation, sink)


def negated(operand: Expression | None, span: Span, sink: DiagnosticSink) -> Expression | None:
    """`-x`."""
    if operand is None or _refused("-", (operand,), span, sink):
        return None
    exact = folding.flexible("neg", operand, None, span, sink) if is_flexible(operand) else None
    if exact is not None:
        return exact
    type_ = Type.FLOAT if operand.type is Type.FLOAT else Type.LLONG
    inner = converted(operand, type_)
    low, high = range_of(inner) if type_ is Type.LLONG else (0, 0)
    checked = not fits((-high, -low), Type.LLONG)
    return folding.folded(_unary("neg", type_, inner, span, checked), sink)


def complemented(operand: Expression | None, span: Span, sink: DiagnosticSink) -> Expression | None:
    """`~x`: the type stays."""
    if operand is None or _refused("~", (operand,), span, sink):
        return None
    if is_flexible(operand):
        return folding.flexible("~", operand, None, span, sink)
    inner = counted(operand)
    return folding.folded(_unary("~", inner.type, inner, span, checked=False), sink)


# Values


NO_VALUE = frozenset(("division-by-zero", "overflow", "out-of-range", "no-value"))
"""Codes of what has types and no value."""


def choice(
    branches: list[tuple[Expression | None, Expression | None]],
    otherwise: Expression | None,
    span: Span,
    sink: DiagnosticSink,
    word: str = "CASE",
) -> Expression | None:
    """CASE or IF; the values meet in their common type. A missing ELSE is a NULL constant."""
    conditions = [condition(when, sink) for when, _ in branches]
    values = [value for _, value in branches] + [otherwise]
    if any(part is None for part in (*conditions, *values)):
        return None
    good = unified([value for value in values if value is not None], f"the values of {word}", sink)
    if good is None:
        return None
    for value in good:
        is_beyond(value, sink)
    pairs = zip([c for c in conditions if c is not None], good[:-1], strict=True)
    taken, otherwise = _taken(pairs, good[-1])
    if not taken:
        return replace(otherwise, span=span, is_chosen=True)
    nullable = otherwise.nullable or any(value.nullable for _, value in taken)
    return Case(
        type=otherwise.type, nullable=nullable, branches=taken, otherwise=otherwise, span=span
    )


Branch = tuple[Expression, Expression]


def _taken(
    branches: Iterable[Branch], otherwise: Expression
) -> tuple[tuple[Branch, ...], Expression]:
    """Parameters decide conditions: the branches that may be taken, and what stands behind them."""
    found: list[Branch] = []
    for when, value in branches:
        if not isinstance(when, Constant):
            found.append((when, value))
        elif when.value is True:
            return tuple(found), value
    return tuple(found), otherwise


def unified(values: list[Expression], what: str, sink: DiagnosticSink) -> list[Expression] | None:
    """The values, all converted to their common type."""
    typed = [value for value in values if not is_null(value)]
    if not typed:
        hint = "give one of them a type: CAST(NULL AS uint)"
        sink.error("wrong-type", f"{what} are all NULL", values[0].span, hint)
        return None
    first, *others = sorted(typed, key=is_flexible)
    if is_flexible(first):
        type_ = constant_type(*typed) or Type.LLONG
        return [converted(value, type_) for value in values]
    for value in others:
        met = common_type(first, value)
        if met is None:
            message = f"{what} are of the types {exact_type(first)} and {exact_type(value)}"
            sink.error("wrong-type", message, value.span)
            return None
        first = converted(first, met)
    return [converted(value, first.type) for value in values]


def cast(
    operand: Expression | None, type_: Type, span: Span, sink: DiagnosticSink
) -> Expression | None:
    """`CAST(x AS type)` as the user writes it: a value that does not fit is no value."""
    if operand is None:
        return None
    if not _can_cast(operand, type_):
        message = f"{with_article(operand.type)} cannot be cast to {type_}"
        sink.error("wrong-type", message, span, _cast_hint(operand.type, type_))
        return None
    settled = replace(operand, flexible=False) if isinstance(operand, Constant) else operand
    result = converted(settled, type_)
    if isinstance(result, Constant):
        return replace(result, span=span)
    if isinstance(settled, Constant) and isinstance(result, Cast):
        message = f"{operand.span.text} does not fit in {type_}"
        sink.error("out-of-range", message, operand.span)
    return replace(result, span=span)


def varying(operand: Expression | None, span: Span) -> Expression | None:
    """`non_temporal(x)`: the same value, of which no order is known, in the type it has alone."""
    if operand is None:
        return None
    settled = replace(operand, flexible=False) if isinstance(operand, Constant) else operand
    return replace(settled, temporal=Temporal.VARYING, span=span)


# How operations are typed


def _typed(operator: str, left: Expression, right: Expression, span: Span) -> Expression:
    if Type.FLOAT in (left.type, right.type):
        return _floating(operator, left, right, span)
    met = common_type(counted(left), counted(right)) or Type.LLONG
    if operator in _GROWING and met.bits <= 32:
        met = Type.LLONG
    operation = _whole(operator, converted(left, met), _right(operator, right, met), span)
    return converted(operation, Type.TIMESTAMP) if _moves(operator, left, right) else operation


def _moves(operator: str, left: Expression, right: Expression) -> bool:
    """True where a time is moved by a number of ns, and so stays a time."""
    times = (left.type is Type.TIMESTAMP, right.type is Type.TIMESTAMP)
    if operator == "+":
        return times.count(True) == 1
    return operator == "-" and times == (True, False)


def _right(operator: str, right: Expression, met: Type) -> Expression:
    """A shift counts in ullong; all other operators have operands of one type."""
    return converted(counted(right), Type.ULLONG if operator in _SHIFTS else met)


def _whole(operator: str, left: Expression, right: Expression, span: Span) -> Operation:
    checked = _may_leave(operator, left, right)
    operation = Operation(
        type=left.type,
        nullable=left.nullable or right.nullable,
        operator=operator,
        operands=(left, right),
        checked=checked,
        span=span,
    )
    return replace(operation, temporal=temporal_of(operation))


def _may_leave(operator: str, left: Expression, right: Expression) -> bool:
    """True if the operation can have no value."""
    divisor = range_of(right)
    if operator in _DIVISIONS and divisor[0] <= 0 <= divisor[1]:
        return True
    if operator in ("&", "|", "^", "~", ">>"):
        return False
    found = result_range(operator, range_of(left), divisor)
    return found is None or not fits(found, left.type)


def _floating(operator: str, left: Expression, right: Expression, span: Span) -> Expression:
    """What is not finite is no value: checked unless the sizes of the operands rule it out."""
    operation = Operation(
        type=Type.FLOAT,
        nullable=left.nullable or right.nullable,
        operator=operator,
        operands=(converted(left, Type.FLOAT), converted(right, Type.FLOAT)),
        checked=operator in _DIVISIONS,
        span=span,
    )
    return operation if isfinite(size_of(operation)) else replace(operation, checked=True)


def _unary(operator: str, type_: Type, operand: Expression, span: Span, checked: bool) -> Operation:
    operation = Operation(
        type=type_,
        nullable=operand.nullable,
        operator=operator,
        operands=(operand,),
        checked=checked,
        span=span,
    )
    return replace(operation, temporal=temporal_of(operation))


# What is refused


def _refused(
    operator: str, operands: tuple[Expression, ...], span: Span, sink: DiagnosticSink
) -> bool:
    for operand in operands:
        if is_null(operand):
            message = f"NULL is no operand of {operator}"
            sink.error("wrong-type", message, operand.span, "give it a type: CAST(NULL AS uint)")
            return True
        if not (operand.type.is_numeric or operand.type is Type.TIMESTAMP):
            message = f"{operator} is not defined on {with_article(operand.type)}"
            sink.error("wrong-type", message, operand.span, _operand_hint(operator, operand))
            return True
        if operand.type is Type.FLOAT and operator in (*_BITWISE, "~"):
            message = f"{operator} works on whole numbers, not on a float"
            sink.error("wrong-type", message, operand.span, "INT(x) cuts the fraction")
            return True
    return False


def _operand_hint(operator: str, operand: Expression) -> str | None:
    text = operand.span.text
    if operand.type is Type.BOOL:
        return f"UINT({text}) is 1 or 0"
    if operand.type.is_address and operator in ("&", "/", ">>"):
        return f"prefix({text}, 24) keeps the first 24 bits of an address"
    if operand.type is Type.IP:
        return f"UINT({text}) is its number"
    return None


def _can_cast(operand: Expression, type_: Type) -> bool:
    if operand.type is type_ or is_null(operand):
        return True
    if (operand.type, type_) in _ADDRESS_CASTS:
        return True
    numbers = (Type.FLOAT, Type.TIMESTAMP)
    if not (type_.is_integer or type_ in numbers):
        return False
    if operand.type.is_integer or operand.type in numbers:
        return True
    return operand.type in (Type.BOOL, Type.IP) and type_.is_integer


_ADDRESS_CASTS = {
    (Type.IP, Type.INET),
    (Type.IPV6, Type.INET),
    (Type.INET, Type.IP),
    (Type.INET, Type.IPV6),
    (Type.UINT, Type.IP),
}


def _cast_hint(from_: Type, to: Type) -> str | None:
    if to is Type.BOOL:
        return "a condition is written as a comparison: x <> 0"
    if from_ is Type.STRING and to.is_address:
        return "strtoip(x) reads an address"
    if to is Type.STRING and from_ is Type.TIMESTAMP:
        return "strftime(x, '%H:%M:%S') makes text of it"
    if to is Type.STRING and (from_.is_integer or from_.is_address):
        return "text(x) makes text of it"
    return None


# Small questions


def _has_no_value(operator: str, right: Expression, sink: DiagnosticSink) -> bool:
    """Report a constant right side for which no left one has a value."""
    if not isinstance(right, Constant) or right.value is None:
        return False
    if operator in _DIVISIONS and right.value == 0:
        sink.error("division-by-zero", "division by zero", right.span)
        return True
    return operator in _SHIFTS and not folding.is_shift(int(right.value), right.span, sink)


def _is_lost(operation: Expression, sink: DiagnosticSink) -> bool:
    """Report a constant operand that the type of the operation does not hold."""
    inner = operation.operand if isinstance(operation, Cast) else operation
    operands = inner.operands if isinstance(inner, Operation) else ()
    return any(is_beyond(operand, sink) for operand in operands)


def is_beyond(value: Expression, sink: DiagnosticSink) -> bool:
    """Report a constant beyond the type that it had to take."""
    if not (isinstance(value, Cast) and isinstance(value.operand, Constant) and value.checked):
        return False
    message = f"{value.operand.span.text} does not fit in {value.type}, which it meets here"
    hint = f"a float holds it nearly: CAST({value.operand.span.text} AS float)"
    sink.error("out-of-range", message, value.operand.span, hint)
    return True

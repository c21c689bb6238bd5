# SPDX-License-Identifier: Apache-2.0
"""Conditions: comparisons that are exact whatever the signs and widths, AND, OR, NOT, IS NULL."""

from __future__ import annotations

from gigastream.gsql.diagnostics import DiagnosticSink, printable
from gigastream.gsql.expressions import (
    Case,
    Cast,
    Constant,
    Expression,
    Operation,
    may_have_no_value,
)
from gigastream.gsql.operations import folding
from gigastream.gsql.operations.constant_lists import lists_of_constants
from gigastream.gsql.operations.conversion import (
    common_type,
    converted,
    counted,
    exact_type,
    is_null,
    with_article,
)
from gigastream.gsql.order.ranges import range_of
from gigastream.gsql.other_sql import NO_INSTANTS, instant_hint, number_hint
from gigastream.gsql.source import Span
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import replace


def comparison(
    operator: str,
    left: Expression | None,
    right: Expression | None,
    span: Span,
    sink: DiagnosticSink,
) -> Expression | None:
    """One of `= <> < <= > >=`, exact whatever the signs and widths of the two."""
    if left is None or right is None:
        return None
    if is_null(left) or is_null(right):
        hint = "write x IS NULL, or NOT x IS NULL"
        sink.error("null-comparison", "nothing is equal to NULL", span, hint)
        return None
    left, right = _truth_of_digits(left, right), _truth_of_digits(right, left)
    met = comparable(left, right, span, sink)
    if met is None:
        return None
    if _is_ullong_and_signed(left, right):
        return _exact(operator, left, right, span, sink)
    if met is Type.BOOL and operator not in ("=", "<>"):
        sink.error("wrong-type", f"conditions have no order, so no {operator}", span)
        return None
    if met.is_opaque and operator not in ("=", "<>"):
        sink.error("wrong-type", f"values of {met} have no order, so no {operator}", span)
        return None
    return _compared(operator, converted(left, met), converted(right, met), span, sink)


def comparable(
    left: Expression, right: Expression, span: Span, sink: DiagnosticSink
) -> Type | None:
    """The type in which two operands are compared; an error if there is none."""
    met = common_type(left, right)
    if met is None:
        met = common_type(counted(left), counted(right))
    if met is None:
        message = f"{exact_type(left)} and {exact_type(right)} cannot be compared"
        sink.error("wrong-type", message, span, _comparison_hint(left, right))
    return met


def conjunction(
    operator: str, operands: list[Expression | None], span: Span, sink: DiagnosticSink
) -> Expression | None:
    """`AND` or `OR` of conditions."""
    good = [condition(operand, sink) for operand in operands]
    if any(operand is None for operand in good):
        return None
    return _simplified(operator, [operand for operand in good if operand is not None], span)


def _simplified(operator: str, operands: list[Expression], span: Span) -> Expression:
    """Parameters switch conditions on and off: what is decided is left out."""
    neutral = operator == "AND"
    deciding = [part for part in operands if _is_truth(part, not neutral)]
    if deciding:
        return replace(deciding[0], span=span)
    open_ = lists_of_constants(operator, [p for p in operands if not _is_truth(p, neutral)])
    if not open_:
        return replace(operands[0], span=span)
    return open_[0] if len(open_) == 1 else logical(operator, tuple(open_), span)


def _is_truth(operand: Expression, value: bool) -> bool:
    return isinstance(operand, Constant) and operand.value is value


def is_decided(operand: Expression | None, operator: str) -> bool:
    """True for an operand that alone decides an AND or an OR."""
    return operand is not None and _is_truth(operand, operator == "OR")


def opposite(operand: Expression | None) -> Expression | None:
    """What is true where a constant condition is not; other conditions as they are."""
    if not isinstance(operand, Constant):
        return operand
    return replace(operand, value=operand.value is not True)


def inverted(operand: Expression | None, span: Span, sink: DiagnosticSink) -> Expression | None:
    """`NOT x`."""
    inner = condition(operand, sink)
    if inner is None:
        return None
    if isinstance(inner, Constant):
        return replace(inner, value=None if inner.value is None else not inner.value, span=span)
    return logical("NOT", (inner,), span)


def condition(operand: Expression | None, sink: DiagnosticSink) -> Expression | None:
    """The operand, if it is a condition."""
    if operand is None or operand.type is Type.BOOL:
        return operand
    message = f"a condition is wanted here, not {with_article(operand.type)}"
    hint = f"write {operand.span.text} <> 0" if operand.type.is_integer else None
    sink.error("wrong-type", message, operand.span, hint)
    return None


def null_test(operand: Expression | None, span: Span) -> Expression | None:
    """`x IS NULL`: always a condition with a value."""
    if operand is None:
        return None
    return Operation(type=Type.BOOL, operator="IS_NULL", operands=(operand,), span=span)


def logical(operator: str, operands: tuple[Expression, ...], span: Span) -> Operation:
    """AND, OR, NOT over conditions that are known to be such."""
    nullable = any(operand.nullable for operand in operands)
    return Operation(
        type=Type.BOOL, nullable=nullable, operator=operator, operands=operands, span=span
    )


# How comparisons are exact


def _is_ullong_and_signed(left: Expression, right: Expression) -> bool:
    """True for an ullong that may be too great and a signed number that may be too small."""
    first, second = counted(left), counted(right)
    if Type.ULLONG not in (first.type, second.type):
        return False
    return any(
        one.type.is_integer and not one.type.is_unsigned and not _fits_by_flexibility(one)
        for one in (first, second)
    )


def _fits_by_flexibility(operand: Expression) -> bool:
    return isinstance(operand, Constant) and operand.flexible and int(operand.value or 0) >= 0


def _exact(
    operator: str, left: Expression, right: Expression, span: Span, sink: DiagnosticSink
) -> Expression | None:
    """An ullong against signed: a number below 0 is less than every ullong, NULL stays NULL.

    One of the two may be a constant that the other's type does not hold, 2^63 or more beside a
    time: neither is converted to the other's type before the sign is known.
    """
    if counted(right).type is Type.ULLONG:
        return _exact(_TURNED[operator], right, left, span, sink)
    decided = _decided(operator, left, counted(right), span)
    if decided is not None:
        return decided
    number = converted(counted(right), Type.LLONG)
    zero = Constant(type=Type.ULLONG, temporal=Temporal.CONSTANT, value=0, span=span)
    below = _compared(_ABOVE_ZERO[operator], left, zero, span, sink)
    unsigned = _unchecked(number, Type.ULLONG)
    other = _compared(operator, left, unsigned, span, sink)
    if isinstance(number, Constant):
        return below if int(number.value or 0) < 0 else other
    nought = Constant(type=Type.LLONG, temporal=Temporal.CONSTANT, value=0, span=span)
    is_below = _compared("<", number, nought, span, sink)
    nullable = left.nullable or right.nullable
    return Case(
        type=Type.BOOL, nullable=nullable, branches=((is_below, below),), otherwise=other, span=span
    )


def _decided(operator: str, left: Expression, right: Expression, span: Span) -> Expression | None:
    """The constant that a comparison is where no values of the two sides overlap."""
    if any(side.nullable or may_have_no_value(side) for side in (left, right)):
        return None
    (low, high), (least, greatest) = range_of(left), range_of(right)
    if low <= greatest and least <= high:
        return None
    value = operator.startswith("<" if high < least else ">") or operator == "<>"
    return Constant(type=Type.BOOL, temporal=Temporal.CONSTANT, value=value, span=span)


_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_ABOVE_ZERO = {"=": "<", "<": "<", "<=": "<", "<>": ">=", ">": ">=", ">=": ">="}
"""What an ullong is compared with 0 by, to give what comparing it with a number below 0 gives."""


def _unchecked(number: Expression, type_: Type) -> Expression:
    if isinstance(number, Constant):
        return replace(number, type=type_, flexible=False)
    return Cast(type=type_, nullable=number.nullable, operand=number, span=number.span)


def _compared(
    operator: str, left: Expression, right: Expression, span: Span, sink: DiagnosticSink
) -> Expression:
    result = Operation(
        type=Type.BOOL,
        nullable=left.nullable or right.nullable,
        operator=operator,
        operands=(left, right),
        span=span,
    )
    return folding.folded(result, sink)


def _truth_of_digits(one: Expression, other: Expression) -> Expression:
    """`syn = 1`: 0 and 1 are conditions where they meet one."""
    if not (other.type is Type.BOOL and isinstance(one, Constant) and one.flexible):
        return one
    if one.value in (0, 1):
        return replace(one, type=Type.BOOL, value=bool(one.value), flexible=False)
    return one


def _comparison_hint(left: Expression, right: Expression) -> str | None:
    for one, other in ((left, right), (right, left)):
        if one.type.is_address and isinstance(other, Constant):
            return _address_hint(one.span.text, other)
        if one.type is Type.BOOL:
            return f"a condition stands by itself: {one.span.text}, or NOT {one.span.text}"
        if isinstance(other, Constant) and (one.type is Type.TIMESTAMP or one.type.is_integer):
            return _constant_hint(one.type, other)
    return None


def _constant_hint(type_: Type, constant: Constant) -> str | None:
    """Say how an instant or a number is written where a text was, or a number is none."""
    value = constant.value
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
    if (found := instant_hint(text)) is not None:
        return found
    if type_ is not Type.TIMESTAMP:
        return number_hint(text)
    return f"{NO_INSTANTS}: compare `time`, the seconds since the epoch, with a number"


def _address_hint(address: str, constant: Constant) -> str | None:
    value = constant.value
    if constant.type is Type.STRING and isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
        word = "IPV6_VAL" if ":" in text else "IP_VAL"
        written = f"{word}'{printable(text)}'"
        return f"write {address} IN {written}" if "/" in text else f"write {written}"
    return "an address is written IP_VAL'10.0.0.1'" if constant.type.is_numeric else None

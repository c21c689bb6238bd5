# SPDX-License-Identifier: Apache-2.0
"""Operations on constants, done once: their mistakes are errors with a place, not lost tuples."""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Callable
from typing import Any

from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Constant, Expression, Operation
from gigastream.gsql.operations.conversion import flexible_constant
from gigastream.gsql.order.bounds import divided
from gigastream.gsql.order.ranges import fits, limits_of
from gigastream.gsql.source import Span
from gigastream.gsql.types import Temporal, Type


def folded(operation: Expression, sink: DiagnosticSink) -> Expression:
    """The operation, or the constant that it is; as it is, and reported, where it has no value."""
    if not isinstance(operation, Operation):
        return operation
    values = [part.value for part in operation.operands if isinstance(part, Constant)]
    if len(values) < len(operation.operands) or None in values:
        return operation
    if operation.type is Type.BOOL:
        result: Any = _COMPARISONS[operation.operator](*values)
    elif operation.type is Type.FLOAT:
        result = _float(operation, values, sink)
    else:
        result = _whole(operation, values, sink)
    return operation if result is None else _constant(operation.type, result, operation.span)


def flexible(
    operator: str, left: Expression, right: Expression | None, span: Span, sink: DiagnosticSink
) -> Constant | None:
    """The result of an operation on whole numbers without a type: exact, and again without one."""
    values = [int(part.value or 0) for part in (left, right) if isinstance(part, Constant)]
    value = _exact(operator, values, span, sink)
    if value is None:
        return None
    found = flexible_constant(value, span)
    if found is None:
        sink.error("overflow", f"{_short(value)} does not fit in 64 bits", span)
    return found


def _constant(type_: Type, value: Any, span: Span) -> Constant:
    return Constant(type=type_, temporal=Temporal.CONSTANT, value=value, span=span)


def _whole(operation: Operation, values: list[Any], sink: DiagnosticSink) -> int | None:
    value = _exact(operation.operator, values, operation.span, sink)
    if value is None:
        return None
    if operation.operator == "~":
        value &= limits_of(operation.type)[1] if operation.type.is_unsigned else -1
    if fits((value, value), operation.type):
        return value
    message = f"{_short(value)} does not fit in {operation.type}"
    sink.error("overflow", message, operation.span)
    return None


def _exact(operator: str, values: list[int], span: Span, sink: DiagnosticSink) -> int | None:
    """The result in unlimited whole numbers."""
    if operator in ("/", "%") and values[1] == 0:
        sink.error("division-by-zero", "division by zero", span)
        return None
    if operator in ("<<", ">>") and not is_shift(values[1], span, sink):
        return None
    return _OPERATIONS[operator](*values)


def is_shift(places: int, span: Span, sink: DiagnosticSink) -> bool:
    """True for a number of places that 64 bits can be shifted by; all else is reported."""
    if 0 <= places <= 63:
        return True
    message = f"{_short(places)} is not a number of places to shift by"
    sink.error("out-of-range", message, span, "0 to 63")
    return False


def _float(operation: Operation, values: list[Any], sink: DiagnosticSink) -> float | None:
    try:
        value = _FLOATS[operation.operator](*values)
    except ZeroDivisionError:
        sink.error("division-by-zero", "division by zero", operation.span)
        return None
    except OverflowError:
        value = math.inf
    if math.isfinite(value):
        return float(value)
    sink.error("overflow", "the result does not fit in a float", operation.span)
    return None


def _remainder(value: int, divisor: int) -> int:
    return value - divided(value, divisor) * divisor


def _short(value: int) -> str:
    """A number for a message; one that nobody would read to its end as a power of two."""
    return str(value) if value.bit_length() <= 128 else f"a number of {value.bit_length()} bits"


_OPERATIONS: dict[str, Callable[..., int]] = {
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
    "/": divided,
    "%": _remainder,
    "&": operators.and_,
    "|": operators.or_,
    "^": operators.xor,
    "<<": operators.lshift,
    ">>": operators.rshift,
    "neg": operators.neg,
    "~": operators.invert,
}

_FLOATS: dict[str, Callable[..., float]] = {
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
    "/": operators.truediv,
    "%": math.fmod,
    "neg": operators.neg,
}

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operators.eq,
    "<>": operators.ne,
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}

# SPDX-License-Identifier: Apache-2.0
"""COALESCE, NULLIF, GREATEST, LEAST: values that are chosen by what they are (SQL's NULL rules).

Each is one operation, so that an operand is evaluated once. Operands meet in their common type. Of
COALESCE only the operands up to the first that is not NULL are evaluated. None is temporal: whether
an operand may be NULL would decide otherwise what ends a window.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Expression, Operation
from gigastream.gsql.operations.arithmetic import is_beyond, unified
from gigastream.gsql.operations.conversion import is_null
from gigastream.gsql.source import Span
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import replace


def coalesced(values: Sequence[Expression], span: Span, sink: DiagnosticSink) -> Expression | None:
    """The first value that is not NULL."""
    good = _together(values, "coalesce", sink)
    if good is None:
        return None
    taken = []
    for value in good:
        taken += [value] if not is_null(value) else []
        if not value.nullable and not is_null(value):
            break
    return _operation("COALESCE", taken, taken[-1].nullable, span)


def null_if(values: Sequence[Expression], span: Span, sink: DiagnosticSink) -> Expression | None:
    """The first of two, NULL where the second is equal to it."""
    if is_null(values[1]):
        return values[0]
    good = _together(values, "nullif", sink)
    return None if good is None else _operation("NULLIF", good, True, span)


def extreme(
    operator: str, values: Sequence[Expression], span: Span, sink: DiagnosticSink
) -> Expression | None:
    """GREATEST or LEAST of those that are not NULL; NULL where none is."""
    good = _together(values, operator.lower(), sink)
    if good is None:
        return None
    if good[0].type is Type.BOOL or good[0].type.is_opaque:
        what = "conditions" if good[0].type is Type.BOOL else f"values of {good[0].type}"
        sink.error("wrong-type", f"{what} have no order, so no {operator.lower()}", span)
        return None
    taken = [value for value in good if not is_null(value)]
    return _operation(operator, taken, all(value.nullable for value in taken), span)


def _together(
    values: Sequence[Expression], name: str, sink: DiagnosticSink
) -> list[Expression] | None:
    good = unified(list(values), f"the values of {name}", sink)
    for value in good or ():
        is_beyond(value, sink)
    return good


def _operation(
    operator: str, values: Sequence[Expression], nullable: bool, span: Span
) -> Expression:
    if len(values) == 1:
        (value,) = values
        order = Temporal.VARYING if value.temporal.is_temporal else value.temporal
        return replace(value, temporal=order, span=span, is_chosen=True)
    return Operation(
        type=values[0].type,
        nullable=nullable,
        operator=operator,
        operands=tuple(values),
        span=span,
    )

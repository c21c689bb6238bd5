# SPDX-License-Identifier: Apache-2.0
"""time_avg(x, from, to) (GSQL section 6.4): each value by the time for which it held."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Case, Constant, Expression
from gigastream.gsql.operations import arithmetic
from gigastream.gsql.operations.conditions import comparison
from gigastream.gsql.operations.conversion import converted, counted, exact_type
from gigastream.gsql.queries import AggregateCall
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import replace


def timed(
    aggregate: AggregateCall,
    times: Sequence[Expression | None],
    sink: DiagnosticSink,
) -> AggregateCall | None:
    """The aggregate of a value with the times between which it held; None after errors.

    Its argument becomes the value times how long that was; nothing where `to` is not behind `from`.
    """
    value = aggregate.argument
    known = [time for time in times if time is not None]
    assert value is not None
    if not all(_is_time(time, sink) for time in known):
        return None
    if any(e.nullable for e in (value, *known)):
        hint = "leave such rows out in WHERE"
        message = "time_avg takes nothing that may be NULL"
        sink.error("wrong-arguments", message, aggregate.span, hint)
        return None
    begin, end = (converted(counted(time), Type.LLONG) for time in known)
    length = _length(begin, end, sink)
    product = arithmetic.binary("*", value, length, aggregate.span, sink)
    if length is None or product is None:
        return None
    return replace(aggregate, argument=product, others=(length, value, begin, end))


def _is_time(time: Expression, sink: DiagnosticSink) -> bool:
    if time.type.is_integer or time.type is Type.TIMESTAMP:
        return True
    message = f"a time is a whole number or a timestamp, not {exact_type(time)}"
    sink.error("wrong-type", message, time.span)
    return False


def _length(begin: Expression, end: Expression, sink: DiagnosticSink) -> Expression | None:
    span = end.span
    distance = arithmetic.binary("-", end, begin, span, sink)
    is_behind = comparison(">", end, begin, span, sink)
    if distance is None or is_behind is None:
        return None
    nothing = Constant(type=Type.FLOAT, temporal=Temporal.CONSTANT, span=span, value=0.0)
    branch = (is_behind, converted(distance, Type.FLOAT))
    return Case(type=Type.FLOAT, span=span, branches=(branch,), otherwise=nothing)

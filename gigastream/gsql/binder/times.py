# SPDX-License-Identifier: Apache-2.0
"""Functions of times that are part of the language: arithmetic under the names that SQL has for it.

What is arithmetic keeps the order of time: windows can be cut by it.
"""

from __future__ import annotations

from collections.abc import Callable

from gigastream.gsql.binder.arguments import Bound, constant_text, has_arguments, known
from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.declared import built_in
from gigastream.gsql.diagnostics import did_you_mean, printable
from gigastream.gsql.durations import NANOSECONDS_OF_UNIT, duration_ns
from gigastream.gsql.expressions import Constant, Expression
from gigastream.gsql.operations import arithmetic
from gigastream.gsql.operations.conversion import exact_type
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Temporal, Type

_SECOND = 10**9
_DAY = 86_400 * _SECOND
_FROM_MONDAY = 3 * _DAY
"""From a Monday to the epoch, a Thursday."""


def _time_bucket(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    """The start of the bucket that holds a timestamp: t / width * width, which stays increasing."""
    shape = "time_bucket('1 min', timestamp)"
    if not has_arguments(context, call, 2, shape):
        return None
    width, time = arguments
    if width is None or time is None:
        return None
    if time.type is not Type.TIMESTAMP:
        message = f"time_bucket cuts a timestamp, not {exact_type(time)}"
        hint = f"{shape}; whole seconds are cut by time/60"
        context.sink.error("wrong-type", message, time.span, hint)
        return None
    width_ns = _width(context, width)
    if width_ns is None:
        return None
    return _cut(context, time, width_ns, call.span)


def _cut(context: BindingContext, time: Expression, width_ns: int, span: Span) -> Expression | None:
    width = _nanoseconds(width_ns, span)
    index = arithmetic.binary("/", time, width, span, context.sink)
    start = arithmetic.binary("*", index, width, span, context.sink)
    return arithmetic.cast(start, Type.TIMESTAMP, span, context.sink)


def _nanoseconds(value: int, span: Span) -> Constant:
    return Constant(type=Type.LLONG, temporal=Temporal.CONSTANT, value=value, span=span)


def _width(context: BindingContext, width: Expression) -> int | None:
    value = width.value if isinstance(width, Constant) else None
    if not isinstance(value, bytes):
        message = "the width of a bucket is a constant text like '1 min'"
        context.sink.error("wrong-arguments", message, width.span, _WIDTH_HINT)
        return None
    try:
        return duration_ns(value.decode("utf-8", "replace"))
    except ValueError as error:
        context.sink.error("wrong-arguments", str(error), width.span, _WIDTH_HINT)
        return None


_WIDTH_HINT = f"a whole number above 0 and a unit: {', '.join(NANOSECONDS_OF_UNIT)}"


# date_trunc

_UNITS = {
    "microsecond": 10**3,
    "millisecond": 10**6,
    "second": _SECOND,
    "minute": 60 * _SECOND,
    "hour": 3600 * _SECOND,
    "day": _DAY,
}
_CALENDAR = {"month": "start_of_month", "quarter": "start_of_quarter", "year": "start_of_year"}
"""Units of no fixed length, and the functions that find where one begins."""


def _date_trunc(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    """The start of the minute, hour, …, which stays increasing; of a month and more it does not."""
    found = _part_and_time(context, call, arguments, "date_trunc('hour', timestamp)")
    if found is None:
        return None
    unit, time = found
    if time.type is not Type.TIMESTAMP:
        message = f"date_trunc cuts a timestamp, not {exact_type(time)}"
        hint = "to_timestamp(x) makes one of seconds"
        context.sink.error("wrong-type", message, time.span, hint)
        return None
    if unit in _UNITS:
        return _cut(context, time, _UNITS[unit], call.span)
    if unit == "week":
        return _monday(context, time, call.span)
    if unit in _CALENDAR:
        return built_in(context, _CALENDAR[unit], [time], call.span)
    _unknown(context, call, unit, (*_UNITS, "week", *_CALENDAR))
    return None


def _monday(context: BindingContext, time: Expression, span: Span) -> Expression | None:
    offset = _nanoseconds(_FROM_MONDAY, span)
    moved = arithmetic.binary("+", time, offset, span, context.sink)
    cut = None if moved is None else _cut(context, moved, 7 * _DAY, span)
    return arithmetic.binary("-", cut, offset, span, context.sink)


# extract

_OTHER_PARTS = {"dow": "dayofweek", "doy": "dayofyear", "weekday": "dayofweek"}
_PARTS = ("year", "quarter", "month", "week", "day", "dayofyear", "dayofweek", "isodow", "hour",
          "minute", "second", "millisecond", "microsecond", "nanosecond")  # fmt: skip
_OF_TIMESTAMPS = ("millisecond", "microsecond", "nanosecond")


def _extract(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    """A part of a time: the function of its name."""
    shape = f"{call.name}('hour', timestamp)"
    found = _part_and_time(context, call, arguments, shape)
    if found is None:
        return None
    part, time = _OTHER_PARTS.get(found[0], found[0]), found[1]
    if part in TIMES and part.startswith("epoch"):
        return TIMES[part](context, _of(call), [time])
    if part not in _PARTS:
        _unknown(context, call, part, (*_PARTS, "epoch"))
        return None
    wanted = (Type.TIMESTAMP,) if part in _OF_TIMESTAMPS else (Type.TIMESTAMP, Type.UINT)
    if time.type not in wanted:
        takes = " or a uint, of seconds" if len(wanted) > 1 else ""
        message = f"{call.name} of {part} takes a timestamp{takes}, not {exact_type(time)}"
        context.sink.error("wrong-type", message, time.span, f"write {shape}")
        return None
    return built_in(context, part, [time], call.span)


def _of(call: ast.Call) -> ast.Call:
    """The call of the function of a part: it has the time alone."""
    return ast.Call(call.name, call.args[1:], name_span=call.name_span, span=call.span)


def _part_and_time(
    context: BindingContext, call: ast.Call, arguments: Bound, shape: str
) -> tuple[str, Expression] | None:
    if not has_arguments(context, call, 2, shape):
        return None
    good = known(arguments)
    if good is None:
        return None
    part = constant_text(good[0])
    if part is None:
        message = f"the unit of {call.name} is a constant text"
        context.sink.error("wrong-arguments", message, good[0].span, f"write {shape}")
        return None
    return part.strip().lower().removesuffix("s"), good[1]


def _unknown(context: BindingContext, call: ast.Call, part: str, known_: tuple[str, ...]) -> None:
    hint = did_you_mean(part, known_) or f"there are {', '.join(known_)}"
    message = f"{call.name} knows no '{printable(part, 30)}'"
    context.sink.error("wrong-arguments", message, call.args[0].span, hint)


# Seconds since the epoch


def _to_timestamp(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    """Whole seconds, or a float of them, as a time."""
    if not has_arguments(context, call, 1, "to_timestamp(time)") or arguments[0] is None:
        return None
    unit = _nanoseconds(_SECOND, call.span)
    ns = arithmetic.binary("*", arguments[0], unit, call.span, context.sink)
    return arithmetic.cast(ns, Type.TIMESTAMP, call.span, context.sink)


def _epoch_of(unit_ns: int) -> Callable[[BindingContext, ast.Call, Bound], Expression | None]:
    """A time in units since the epoch; those of seconds are a float."""

    def bind(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
        good = known(arguments)
        if not has_arguments(context, call, 1, f"{call.name}(timestamp)") or good is None:
            return None
        (time,) = good
        if time.type is not Type.TIMESTAMP:
            message = f"{call.name} takes a timestamp, not {exact_type(time)}"
            context.sink.error("wrong-type", message, time.span)
            return None
        number = arithmetic.cast(time, Type.LLONG, call.span, context.sink)
        if unit_ns == 1:
            return number
        if unit_ns == _SECOND:
            number = arithmetic.cast(number, Type.FLOAT, call.span, context.sink)
        unit = _nanoseconds(unit_ns, call.span)
        return arithmetic.binary("/", number, unit, call.span, context.sink)

    return bind


TIMES: dict[str, Callable[[BindingContext, ast.Call, Bound], Expression | None]] = {
    "time_bucket": _time_bucket,
    "date_trunc": _date_trunc,
    "extract": _extract,
    "date_part": _extract,
    "to_timestamp": _to_timestamp,
    "epoch": _epoch_of(_SECOND),
    "epoch_ms": _epoch_of(10**6),
    "epoch_us": _epoch_of(10**3),
    "epoch_ns": _epoch_of(1),
}

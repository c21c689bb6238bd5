# SPDX-License-Identifier: Apache-2.0
"""Windows on the inputs of a join: `FROM A [WA ts, RANGE 3 min] a, B [WA ts, RANGE 2 min] b`.

A row of a matches those of b whose time is less than 3 minutes above its own and less than 2 below
(Li et al., VLDB 2008, Q2): a band, and exclusive.
"""

from __future__ import annotations

from collections.abc import Mapping

from gigastream.gsql.binder.join_predicate import Predicate
from gigastream.gsql.binder.join_rows import JoinedRows, described
from gigastream.gsql.binder.names import Scope
from gigastream.gsql.binder.sources import SourceItem
from gigastream.gsql.binder.statement import Statement
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.durations import NANOSECONDS_OF_UNIT
from gigastream.gsql.expressions import ColumnRef, Expression, FieldRef
from gigastream.gsql.operations import arithmetic
from gigastream.gsql.operations.conditions import comparison
from gigastream.gsql.operations.conversion import flexible_constant
from gigastream.gsql.order.bounds import END
from gigastream.gsql.order.inference import NANOSECONDS
from gigastream.gsql.source import NOWHERE
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass

_EXAMPLE = "a join's window is [WA time, RANGE 3 min]"


@dataclass(frozen=True, slots=True)
class InputWindow:
    """The window of one input."""

    attribute: Expression
    """A column of the FROM item."""
    length: int
    """In ticks of the attribute, or in ns where they are known."""
    tick_ns: int | None


def bind_windows(statement: Statement) -> dict[int, InputWindow]:
    """The windows of the inputs, by port; what is wrong with them is reported."""
    items = [item for item in statement.items if item.node.window is not None]
    if items and len(items) < len(statement.items) and statement.sources_are_known:
        _refuse_lone(items[0], statement)
    found = {}
    for item in items:
        window = _window(item, statement.sink) if item.build is not None else None
        if window is not None:
            found[item.names.index] = window
    return found


def _refuse_lone(item: SourceItem, statement: Statement) -> None:
    others = [other.names.shown for other in statement.items if other.node.window is None]
    assert item.node.window is not None
    message = f"{item.names.shown} has a window and {others[0]} has none: they bound each other"
    hint = f"give {others[0]} one, or write a band in WHERE"
    statement.sink.error("no-temporal-predicate", message, item.node.window.span, hint)


def _window(item: SourceItem, sink: DiagnosticSink) -> InputWindow | None:
    window = item.node.window
    assert window is not None
    if window.range is None or window.range.unit == "rows" or window.slide is not None:
        _refuse_form(window, sink)
        return None
    attribute = _attribute(item, window, sink)
    if attribute is None:
        return None
    tick_ns = _tick_ns(item, attribute)
    if window.range.unit is None:
        length = window.range.value * (tick_ns or 1)
        return InputWindow(attribute, length, tick_ns)
    if tick_ns is None:
        message = f"{_name(attribute)} counts by no clock, so {window.range.unit} says nothing"
        hint = "give the length as a number, in the attribute's own unit"
        sink.error("wrong-window", message, window.range.span, hint)
        return None
    return InputWindow(
        attribute, window.range.value * NANOSECONDS_OF_UNIT[window.range.unit], tick_ns
    )


def _refuse_form(window: ast.Window, sink: DiagnosticSink) -> None:
    if window.slide is not None:
        message = "the window of a join's input does not slide: each row has its own"
        sink.error("wrong-window", message, window.slide.span, _EXAMPLE)
    elif window.range is None:
        sink.error("wrong-window", "this window has no RANGE", window.span, _EXAMPLE)
    else:
        message = "a join's window is a length of time: rows alone would not say what matches"
        sink.error("wrong-window", message, window.range.span, _EXAMPLE)


def _attribute(item: SourceItem, window: ast.Window, sink: DiagnosticSink) -> Expression | None:
    if window.attribute is None:
        pairs = item.names.everything(window.span)
        times = [(name, column) for name, column in pairs if column.temporal.is_temporal]
        if not times:
            message = f"{item.names.shown} has no temporal column"
            sink.error("not-temporal", message, window.span)
            return None
        return item.names.find(times[0][0], window.span)
    found = Scope((item.names,)).resolve(window.attribute, sink)
    if found is None or found.temporal.is_temporal:
        return found
    message = f"{window.attribute.name} is not temporal, so no window over it would ever close"
    sink.error("not-temporal", message, window.attribute.span, "WA time")
    return None


def _name(attribute: Expression) -> str:
    return attribute.field if isinstance(attribute, FieldRef) else getattr(attribute, "name", "")


def _tick_ns(item: SourceItem, attribute: Expression) -> int | None:
    """Nanoseconds of a tick; None where that is not known."""
    if attribute.type is Type.TIMESTAMP:
        return 1
    assert isinstance(attribute, FieldRef | ColumnRef)
    return NANOSECONDS.get(described(item.names, attribute)[1])


def relate_windows(
    predicate: Predicate,
    rows: JoinedRows,
    windows: Mapping[int, InputWindow],
    sink: DiagnosticSink,
) -> None:
    """Every two inputs of the two sides that have windows are a band.

    Of an input that may be absent, since an inner join keeps rows without it, times bound nothing:
    there the windows are a condition like another, and what is absent is within none.
    """
    left, right = ([windows[p] for p in sorted(side.ports) if p in windows] for side in rows.sides)
    for a in left:
        for b in right:
            _relate(predicate, rows, (a, b), sink)


def _relate(
    predicate: Predicate,
    rows: JoinedRows,
    windows: tuple[InputWindow, InputWindow],
    sink: DiagnosticSink,
) -> None:
    a, b = windows
    f, g = (rows.operand([window.attribute]) for window in windows)
    if a.attribute.temporal is b.attribute.temporal.flipped():
        _refuse_opposed(a, b, sink)
        return
    tick = min(a.tick_ns or 1, b.tick_ns or 1)
    f, g = _in_ticks(f, a, tick), _in_ticks(g, b, tick)
    forward, backward = (_exclusive(window.length, tick) for window in (a, b))
    if f.temporal.is_temporal and f.temporal is g.temporal:
        predicate.within(f, g, -backward, forward)
    else:
        predicate.residual += _is_within(f, g, -backward, forward)


def _is_within(f: Expression, g: Expression, least: int, greatest: int) -> list[Expression]:
    """The conditions that g - f is between these, of which 64 bits hold what matters."""
    quiet = DiagnosticSink()
    whole = [arithmetic.cast(e, Type.LLONG, e.span, quiet) for e in (g, f)]
    ahead = arithmetic.binary("-", whole[0], whole[1], g.span, quiet)
    limits = ((">=", max(least, -END)), ("<=", min(greatest, END)))
    found = [
        comparison(operator, ahead, flexible_constant(limit, NOWHERE), g.span, quiet)
        for operator, limit in limits
    ]
    return [condition for condition in found if condition is not None]


def _refuse_opposed(a: InputWindow, b: InputWindow, sink: DiagnosticSink) -> None:
    """Never dropped, though an equality of other times bounds the state: it selects pairs."""
    names = " and ".join(_name(window.attribute) for window in (a, b))
    message = f"the attributes of two windows move apart: of {names} one increases, one decreases"
    hint = "windows of a join are over times that move in one direction"
    sink.error("no-temporal-predicate", message, b.attribute.span, hint)


def _in_ticks(e: Expression, window: InputWindow, tick_ns: int) -> Expression:
    """An attribute in a finer unit than its own."""
    times = (window.tick_ns or tick_ns) // tick_ns
    factor = flexible_constant(times, NOWHERE)
    if times == 1 or factor is None:
        return e
    return arithmetic.binary("*", e, factor, e.span, DiagnosticSink()) or e


def _exclusive(length: int, tick_ns: int) -> int:
    """The greatest whole number of ticks that is less than the length."""
    return -(-length // tick_ns) - 1

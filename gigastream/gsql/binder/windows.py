# SPDX-License-Identifier: Apache-2.0
"""`[RANGE 5 min, SLIDE 1 min, WA ts]` of an aggregation (GSQL section 6.3).

The window is a group variable that nobody writes, before those that the query has: the number of
the window where a row is in one at most, of the pane where windows overlap (OPERATORS section 4).
"""

from __future__ import annotations

from collections.abc import Mapping

from gigastream.gsql.binder.columns import Origins, unique
from gigastream.gsql.binder.groups import Group
from gigastream.gsql.binder.names import PacketNames
from gigastream.gsql.binder.statement import Statement
from gigastream.gsql.durations import NANOSECONDS_OF_UNIT
from gigastream.gsql.expressions import (
    ROW_NUMBER,
    Constant,
    Expression,
    FieldRef,
    GroupRef,
    Operation,
)
from gigastream.gsql.operations import arithmetic
from gigastream.gsql.operations.conditions import comparison
from gigastream.gsql.order.inference import temporal_of
from gigastream.gsql.queries import GroupVariable, OutputColumn, SlidingWindow
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import dataclass, replace

_SHAPE = "[RANGE 5 min, SLIDE 1 min, WA timestamp]"
_NOTHING_INCREASES = "select a temporal column in the query that is read"
_NOTHING_STAYS = "a side that may be absent has no times: equate a column of both, or LEFT JOIN"


@dataclass(frozen=True, slots=True)
class BoundWindow:
    """A checked window."""

    window: SlidingWindow
    group: Group
    """The number of the window, or pane."""
    columns: Mapping[str, Expression]
    """What its own columns are, by name, where groups are spoken of."""
    condition: Expression | None
    """What rows of the gaps between windows do not fulfil; None: there are no gaps."""

    def with_clock(self, column: OutputColumn) -> OutputColumn:
        """The ends of a window count what its attribute does."""
        ends = (self.columns.get("window_start"), self.columns.get("window_end"))
        return replace(column, clock=self.window.unit) if column.expression in ends else column


def bind_window(statement: Statement) -> BoundWindow | None:
    """The window of the whole query; None where there is none, or after errors."""
    node = statement.body.window
    if node is None or not _is_well_formed(statement, node):
        return None
    attribute = _row_number(statement, node) if counts_rows(node) else _attribute(statement, node)
    if attribute is None:
        return None
    window = _lengths(statement, node, attribute)
    return None if window is None else _bound(statement, node, attribute, window)


def _is_well_formed(statement: Statement, node: ast.Window) -> bool:
    sink = statement.sink
    if statement.body.distinct:
        hint = "write GROUP BY with the columns, and count(*)"
        sink.error("misplaced-window", "SELECT DISTINCT has no window", node.span, hint)
    elif not statement.is_aggregation:
        message = "a window needs an aggregation: it says which rows are counted together"
        hint = "add count(*) or another aggregate; a condition on time stands in WHERE"
        sink.error("misplaced-window", message, node.span, hint)
    elif node.range is None:
        message = "RANGE is missing: nothing says how long the window is"
        sink.error("window-range", message, node.span, f"write {_SHAPE}")
    else:
        return True
    return False


# ROWS


def counts_rows(node: ast.Window | None) -> bool:
    """Whether it is of rows, and moves with them."""
    lengths = () if node is None else (node.range, node.slide)
    return any(length is not None and length.unit == "rows" for length in lengths)


def _row_number(statement: Statement, node: ast.Window) -> Expression | None:
    """The number of the tuple among those of its protocol, counted where packets come in."""
    sink, (item, *others) = statement.sink, statement.items
    assert node.range is not None
    mixed = [x for x in (node.range, node.slide) if x is not None and x.unit != "rows"]
    if mixed:
        message = "a window is of rows or of time, not of both"
        sink.error("window-unit", message, mixed[0].span, "write ROWS behind both numbers")
    elif node.attribute is not None:
        message = "a window of rows counts them: WA has nothing to say"
        sink.error("window-unit", message, node.attribute.span, "leave WA out")
    elif item.build is not None and (others or not isinstance(item.names, PacketNames)):
        message = "rows are counted where packets come in, not those of a query"
        sink.error("window-of-rows", message, node.span, "window the query that reads the packets")
    elif isinstance(item.node, ast.UnionItem):
        message = "the rows of a union come in no order that could be counted"
        sink.error("window-of-rows", message, node.span, "window one protocol, or use time")
    elif item.build is not None:
        return FieldRef(
            type=Type.LLONG,
            temporal=Temporal.INCREASING,
            protocol=item.names.tables[0],
            field="row",
            accessor=ROW_NUMBER,
            span=node.span,
        )
    return None


# WA


def _attribute(statement: Statement, node: ast.Window) -> Expression | None:
    if node.attribute is None:
        return _first_clock(statement, node)
    found = statement.columns.resolve(node.attribute, statement.sink)
    if found is None or _is_whole(found):
        return found
    shown = ".".join((*node.attribute.qualifier, node.attribute.name))
    if found.temporal is Temporal.DECREASING:
        message = f"{shown} decreases: the window's attribute must increase"
        hint = f"let a query give -{shown}, and window that"
    else:
        message = f"{shown} is not temporal, so no window over it would ever close"
        first = _first(statement, node.span)
        hint = f"WA {first[0]}" if first is not None else "WA time"
    statement.sink.error("not-temporal", message, node.attribute.span, hint)
    return None


def _is_whole(attribute: Expression) -> bool:
    counts = attribute.type.is_integer or attribute.type is Type.TIMESTAMP
    return counts and attribute.temporal is Temporal.INCREASING


def _first_clock(statement: Statement, node: ast.Window) -> Expression | None:
    """Without WA: the first column that increases, as the sources declare them."""
    if not statement.sources_are_known:
        return None
    first = _first(statement, node.span)
    if first is not None:
        return first[1]
    shown, hint = statement.items[0].names.shown, _NOTHING_INCREASES
    if len(statement.items) > 1:
        shown, hint = "a row of this join", _NOTHING_STAYS
    message = f"{shown} has no column that increases: no window would close"
    statement.sink.error("not-temporal", message, node.span, hint)
    return None


def _first(statement: Statement, place: Span) -> tuple[str, Expression] | None:
    """What increases in the rows that are grouped, and how it is named.

    A join may lack a side, whose columns then do not; of columns that it equates either will do.
    """
    scope = statement.columns
    for item in statement.items:
        increasing = (name for name, own in item.names.everything(place) if _is_whole(own))
        for name in increasing:
            having = [s for s in scope.sources if s.find(name, place) is not None]
            is_one = len(having) > 1 and scope.are_equated(name.lower(), having)
            sources = having if is_one else [item.names]
            found = [own for source in sources if (own := source.find(name, place)) is not None]
            column = scope.as_seen(found)
            if _is_whole(column):
                is_clear = is_one or len(statement.items) == 1
                return name if is_clear else f"{item.names.shown}.{name}", column
    return None


# RANGE and SLIDE


def _lengths(statement: Statement, node: ast.Window, attribute: Expression) -> SlidingWindow | None:
    """In the attribute's unit; without SLIDE windows tumble."""
    assert node.range is not None
    clock = _clock(statement, attribute)
    range_ = _length(statement, node.range, clock, attribute)
    slide = range_ if node.slide is None else _length(statement, node.slide, clock, attribute)
    if range_ is None or slide is None:
        return None
    return SlidingWindow(range_, slide, clock)


def _clock(statement: Statement, attribute: Expression) -> str:
    """The unit that the attribute counts; empty where that is not known."""
    if attribute.type is Type.TIMESTAMP:
        return "ns"
    if isinstance(attribute, FieldRef) and attribute.accessor == ROW_NUMBER:
        return ""
    return Origins(statement.origins).output("", attribute).clock


def _length(
    statement: Statement, length: ast.Duration, clock: str, attribute: Expression
) -> int | None:
    if length.unit in (None, "rows"):
        return length.value
    assert length.unit is not None
    if not clock:
        shown = attribute.span.text
        message = f"{shown} counts no time that is known here, so it has no {length.unit}"
        hint = "write a number without a unit, in what it counts; or window a timestamp"
        statement.sink.error("window-unit", message, length.span, hint)
        return None
    wanted_ns, tick_ns = length.value * NANOSECONDS_OF_UNIT[length.unit], NANOSECONDS_OF_UNIT[clock]
    if wanted_ns >= 1 << 63:
        statement.sink.error("window-unit", "the window is too long", length.span)
        return None
    if wanted_ns % tick_ns:
        message = f"{length.span.text} is no whole number of {clock}, which is what the window's "
        message += "attribute counts"
        statement.sink.error("window-unit", message, length.span, "WA timestamp counts ns")
        return None
    return wanted_ns // tick_ns


# What becomes of it


def _bound(
    statement: Statement, node: ast.Window, attribute: Expression, window: SlidingWindow
) -> BoundWindow | None:
    place = node.span
    value = arithmetic.cast(attribute, Type.LLONG, place, statement.sink)
    if value is None:
        return None
    name = unique(
        "pane" if window.has_panes else "wid", {name.lower() for name in _written(statement)}
    )
    variable = GroupVariable(name, floor_quotient(value, window.pane, place))
    return BoundWindow(
        window,
        Group("", variable, place),
        _columns(statement, variable, attribute.type, window, place),
        _in_no_gap(statement, value, window, place),
    )


def _written(statement: Statement) -> list[str]:
    """The names of the group variables that the query has."""
    items = (item for item in statement.body.group_by if isinstance(item, ast.GroupItem))
    return [written for item in items if (written := item.alias or _plain(item.expression))]


def _plain(node: ast.SyntaxExpression) -> str:
    return node.name if isinstance(node, ast.Name) else ""


def floor_quotient(value: Expression, divisor: int, place: Span) -> Operation:
    """The quotient rounded down: an operation that no query can write, and no other is like."""
    operation = Operation(
        type=Type.LLONG,
        nullable=value.nullable,
        operator="//",
        operands=(value, _whole(divisor, place)),
        span=place,
    )
    return replace(operation, temporal=temporal_of(operation))


def _whole(value: int, place: Span) -> Constant:
    return Constant(type=Type.LLONG, temporal=Temporal.CONSTANT, value=value, span=place)


def _columns(
    statement: Statement, variable: GroupVariable, type_: Type, window: SlidingWindow, place: Span
) -> dict[str, Expression]:
    """Of one window: it is the first and the last that a row of the output is in."""
    number = GroupRef(
        type=Type.LLONG,
        temporal=variable.expression.temporal,
        nullable=variable.expression.nullable,
        index=0,
        name="wid",
        span=place,
    )
    start = _moved(statement, number, window, window.slide - window.range, type_, place)
    end = _moved(statement, number, window, window.slide, type_, place)
    found = {"window_start": start, "window_end": end, "wid_start": number, "wid_end": number}
    return {name: e for name, e in found.items() if e is not None}


def _moved(
    statement: Statement,
    number: Expression,
    window: SlidingWindow,
    by: int,
    type_: Type,
    place: Span,
) -> Expression | None:
    """Its number times SLIDE, moved; signed: a window may begin before 0."""
    sink = statement.sink
    scaled = arithmetic.binary("*", number, _whole(window.slide, place), place, sink)
    sign = "-" if by < 0 else "+"
    moved = arithmetic.binary(sign, scaled, _whole(abs(by), place), place, sink)
    return arithmetic.cast(moved, type_, place, sink) if type_ is Type.TIMESTAMP else moved


def _in_no_gap(
    statement: Statement, value: Expression, window: SlidingWindow, place: Span
) -> Expression | None:
    """What remains of a row's time above the slide is in the window: not before its start."""
    if window.range >= window.slide:
        return None
    sink = statement.sink
    number = floor_quotient(value, window.slide, place)
    before = arithmetic.binary("*", number, _whole(window.slide, place), place, sink)
    into = arithmetic.binary("-", value, before, place, sink)
    least = _whole(window.slide - window.range, place)
    return comparison(">=", into, least, place, sink)

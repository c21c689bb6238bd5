# SPDX-License-Identifier: Apache-2.0
"""What aggregates are made of: accumulators that an LFTA keeps and an HFTA completes.

Sub-aggregate and super-aggregate of the papers: count becomes a sum of counts, avg a sum and a
count. A new aggregate is a line in AGGREGATES and, where it needs a new accumulator, one in KINDS
and its C in gigastream/codegen/accumulators.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Self

from gigastream.gsql.expressions import (
    Case,
    Constant,
    Expression,
    Operation,
    StateFunction,
    may_have_no_value,
)
from gigastream.gsql.queries import AggregateCall, GroupVariable, UserCall, UserState
from gigastream.gsql.source import NOWHERE
from gigastream.gsql.types import Column, Temporal, Type, size_of
from gigastream.late_dataclass import dataclass, field, fields, replace
from gigastream.plan.builders import NodeNames


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A part of an aggregate that can be kept below the border and completed above it."""

    kind: str
    """A key of KINDS."""
    argument: Expression | None
    type: Type
    """Of the argument; ULLONG for a count."""
    position: tuple[Expression, ...] = ()
    """FIRST, LAST, ARG_…: (timestamp, interface, position in the source) of a row; of a UDAF its
    further arguments."""
    distinct: bool = False
    """A value is added where its group has not met it: above the border, which keeps them all."""
    by: Expression | None = None
    """ARG_MIN, ARG_MAX: of which row the argument is; equal ones are told apart by position."""
    separator: bytes = b""
    """Of a list: what stands between its values."""

    @property
    def may_be_empty(self) -> bool:
        """Whether all that it is told of may be NULL: it has no value then. A count is 0."""
        return self.kind != "count" and self.argument is not None and self.argument.nullable

    @property
    def has_set(self) -> bool:
        """Whether a group asks a set of values about each row's."""
        return self.distinct or self.kind in ("mode", "histogram")

    @property
    def keeps_values(self) -> bool:
        """Whether a group keeps values in its window's memory; it begins as zeros."""
        return self.distinct or self.kind in KEEPING

    @property
    def looks_at_order(self) -> bool:
        """Whether of rows in another order it may be another; not so where it is partial rows'.

        0.0 and -0.0 are equal, and of equal ones the first stays.
        """
        return self.kind in ORDERED or (self.type is Type.FLOAT and self.kind != "count")

    @property
    def expressions(self) -> Iterator[Expression]:
        """What is evaluated of a row for it."""
        if self.argument is not None:
            yield self.argument
        if self.by is not None:
            yield self.by
        yield from self.position

    def placed(self, place: Callable[[Expression], Expression]) -> Self:
        """The same of other expressions."""
        argument = None if self.argument is None else place(self.argument)
        by = None if self.by is None else place(self.by)
        position = tuple(map(place, self.position))
        return replace(self, argument=argument, by=by, position=position)

    @property
    def functions(self) -> tuple[StateFunction, ...]:
        """What of it is C of definition files."""
        return ()


@dataclass(frozen=True, slots=True)
class UserAccumulator(Accumulator):
    """The state of a UDAF; `type` is that of what crosses the border, as bytes."""

    state: UserState = field(kw_only=True)

    @property
    def may_be_empty(self) -> bool:
        return any(e.nullable for e in self.expressions)

    @property
    def functions(self) -> tuple[StateFunction, ...]:
        return self.state.functions


@dataclass(frozen=True, slots=True)
class RowsAccumulator(Accumulator):
    """The bytes of each row, one behind the other, for a function in Python."""

    most_bytes: int = field(kw_only=True)
    """More are too many: what is kept says that then."""


@dataclass(frozen=True, slots=True)
class Final:
    """How an aggregate's value is made of its accumulators."""

    kind: str
    """value, average, variance, deviation, user, joined, array, counts, runs; in a group that goes
    on also those of Running."""
    accumulators: tuple[int, ...]
    type: Type
    nullable: bool
    windows: int = 1
    """That it is over, of those that move."""

    @property
    def functions(self) -> tuple[StateFunction, ...]:
        """What of it is C of definition files."""
        return ()


RUNNING_USER = "running_user"
"""The kind of the value of a RUNNING UDAF, in a group that goes on."""


@dataclass(frozen=True, slots=True)
class UserFinal(Final):
    """The value of a UDAF."""

    call: UserCall = field(kw_only=True)

    @property
    def functions(self) -> tuple[StateFunction, ...]:
        return () if self.call.extractor is None else (self.call.extractor,)


@dataclass(frozen=True, slots=True)
class Kind:
    """The columns of a partial row, as (suffix, type); None is the argument's type."""

    columns: tuple[tuple[str, Type | None], ...]


POSITION_COLUMNS = (("_ts", Type.LLONG), ("_if", Type.ULLONG), ("_pos", Type.ULLONG))
BY = "_by"
"""What ARG_MIN and ARG_MAX are by, which has a type of its own."""
_POSITIONED = ("first", "last", "arg_min", "arg_max", "list", "runs")
_SHIFTED_MOMENTS = (
    ("_n", Type.ULLONG),
    ("_origin", None),
    ("_sum", Type.LLONG),
    ("_squares", Type.ULLONG),
    ("_squares_high", Type.ULLONG),
)
"""Of differences from the first value of a slot, so that 64 and 128 bits last."""
KINDS = {
    "count": Kind((("", Type.ULLONG),)),
    "sum_unsigned": Kind((("", Type.ULLONG),)),
    "sum_signed": Kind((("", Type.LLONG),)),
    "sum_float": Kind(()),
    "min": Kind((("", None),)),
    "max": Kind((("", None),)),
    "and": Kind((("", None),)),
    "or": Kind((("", None),)),
    "xor": Kind((("", None),)),
    "first": Kind((("", None), *POSITION_COLUMNS)),
    "last": Kind((("", None), *POSITION_COLUMNS)),
    "arg_min": Kind((("", None), (BY, None), *POSITION_COLUMNS)),
    "arg_max": Kind((("", None), (BY, None), *POSITION_COLUMNS)),
    "moments_unsigned": Kind(_SHIFTED_MOMENTS),
    "moments_signed": Kind(_SHIFTED_MOMENTS),
    "moments_float": Kind(()),
    "user": Kind((("", None),)),
    "mode": Kind((("", None),)),
    "histogram": Kind((("", None),)),
    "list": Kind((("", None), *POSITION_COLUMNS)),
    "runs": Kind((("", None), *POSITION_COLUMNS)),
    "rows": Kind((("", None),)),
}
KEEPING = ("mode", "histogram", "list", "runs")
"""Kinds of which a group keeps values, as those of DISTINCT do: above the border alone."""
HIGH_ONLY = {
    "sum_float": "is a float, whose exact sum is too wide",
    "moments_float": "is a float, whose exact sum is too wide",
    "rows": "is kept of every row",
}
"""Why no slot of a low table holds them, and no partial row."""


ORDERED = (*_POSITIONED, *HIGH_ONLY, "mode", "user")
"""Kinds that look at the order of rows, be it in the last digit; of packets positions tell it."""


def accumulator_names(
    groups: Sequence[GroupVariable], accumulators: Sequence[Accumulator]
) -> tuple[str, ...]:
    """What each is called: `sum_unsigned1`; its columns have this name, with their suffixes.

    None of them is called as a group variable beside it, or as a column of another.
    """
    names = NodeNames()
    names.reserve(group.name for group in groups)
    return tuple(
        names.fresh(f"{a.kind}{index}", [suffix for suffix, _ in KINDS[a.kind].columns] or [""])
        for index, a in enumerate(accumulators)
    )


def partial_columns(accumulator: Accumulator, name: str) -> tuple[Column, ...]:
    """The columns in which an accumulator leaves an LFTA; of an empty one the first is NULL."""
    own = {"": accumulator.type, BY: accumulator.by.type if accumulator.by else accumulator.type}
    columns = (
        Column(name + suffix, own.get(suffix, accumulator.type) if type_ is None else type_)
        for suffix, type_ in KINDS[accumulator.kind].columns
    )
    if not accumulator.may_be_empty:
        return tuple(columns)
    first, *others = columns
    return (replace(first, nullable=True), *others)


@dataclass(slots=True)
class AccumulatorList:
    """Distinct accumulators of a query, in order of their first use."""

    position: tuple[Expression, ...]
    items: list[Accumulator]
    _known: dict[object, int] = field(default_factory=dict)

    def add(
        self,
        kind: str,
        argument: Expression | None,
        *,
        distinct: bool = False,
        position: tuple[Expression, ...] = (),
        by: Expression | None = None,
        separator: bytes = b"",
    ) -> int:
        """Index of an accumulator, made if it is new; `position` is that of rows by default."""
        type_ = Type.ULLONG if argument is None else argument.type
        order = (position or self.position) if kind in _POSITIONED else ()
        wanted = Accumulator(kind, argument, type_, order, distinct, by, separator)
        read = tuple(expression_key(e) for e in (argument, by) if e is not None)
        key = (kind, type_, read, distinct, separator, *map(expression_key, position))
        if key not in self._known:
            self._known[key] = len(self.items)
            self.items.append(wanted)
        return self._known[key]

    def add_user(self, call: AggregateCall, state: UserState) -> int:
        """Index of the state of a UDAF, made if it is new: extractors share one."""
        type_ = Type.opaque(size_of(state.partial))
        key = ("user", *map(expression_key, (state.whole, *call.expressions)))
        if key not in self._known:
            self._known[key] = len(self.items)
            self.items.append(
                UserAccumulator("user", call.argument, type_, call.others, state=state)
            )
        return self._known[key]

    def add_rows(self, call: AggregateCall, most_bytes: int) -> int:
        """Index of the rows that an aggregate in Python is of."""
        assert call.argument is not None
        key = ("rows", expression_key(call.argument))
        if key not in self._known:
            self._known[key] = len(self.items)
            made = RowsAccumulator("rows", call.argument, call.type, most_bytes=most_bytes)
            self.items.append(made)
        return self._known[key]


def expression_key(expression: Expression) -> object:
    """Equal for two expressions that compute the same, wherever and however they are written."""
    own = tuple(
        (item.name, repr(getattr(expression, item.name)))
        for item in fields(expression)
        if item.name not in _NOT_COMPUTED
    )
    return (type(expression).__name__, own, tuple(map(expression_key, expression.children)))


_NOT_COMPUTED = frozenset(
    (
        *("span", "is_chosen", "name", "field", "protocol", "flexible", "cost"),
        *("operand", "operands", "arguments", "branches", "otherwise", "keys"),
    )
)
"""Attributes that say nothing of the value, and those that are children."""


def _kind(stem: str, type_: Type) -> str:
    if type_ is Type.FLOAT:
        return f"{stem}_float"
    return f"{stem}_unsigned" if type_.is_unsigned else f"{stem}_signed"


def _count(call: AggregateCall, found: AccumulatorList) -> Final:
    argument = call.argument
    is_looked_at = call.distinct or (
        argument is not None and (argument.nullable or may_have_no_value(argument))
    )
    index = found.add("count", argument if is_looked_at else None, distinct=call.distinct)
    return Final("value", (index,), call.type, call.nullable)


def _sum(call: AggregateCall, found: AccumulatorList) -> Final:
    assert call.argument is not None
    kind = _kind("sum", call.argument.type)
    index = found.add(kind, call.argument, distinct=call.distinct)
    return Final("value", (index,), call.type, call.nullable)


def _average(call: AggregateCall, found: AccumulatorList) -> Final:
    assert call.argument is not None
    is_looked_at = call.distinct or call.argument.nullable
    kind = _kind("sum", call.argument.type)
    total = found.add(kind, call.argument, distinct=call.distinct)
    counted = call.argument if is_looked_at else None
    count = found.add("count", counted, distinct=call.distinct)
    return Final("average", (total, count), call.type, call.nullable)


def _plain(kind: str) -> Callable[[AggregateCall, AccumulatorList], Final]:
    def build(call: AggregateCall, found: AccumulatorList) -> Final:
        index = found.add(kind, call.argument, by=call.by)
        return Final("value", (index,), call.type, call.nullable)

    return build


def _kept(kind: str, final: str) -> Callable[[AggregateCall, AccumulatorList], Final]:
    """Of values that the group keeps."""

    def build(call: AggregateCall, found: AccumulatorList) -> Final:
        index = found.add(kind, call.argument, separator=call.separator)
        return Final(final, (index,), call.type, call.nullable)

    return build


def _moments(kind: str) -> Callable[[AggregateCall, AccumulatorList], Final]:
    def build(call: AggregateCall, found: AccumulatorList) -> Final:
        assert call.argument is not None
        index = found.add(_kind("moments", call.argument.type), call.argument)
        return Final(kind, (index,), call.type, call.nullable)

    return build


def _user(call: AggregateCall, found: AccumulatorList) -> Final:
    assert call.user is not None
    index = found.add_user(call, call.user.state)
    return UserFinal("user", (index,), call.type, call.nullable, call=call.user)


def _rows(call: AggregateCall, found: AccumulatorList) -> Final:
    assert call.in_python is not None
    index = found.add_rows(call, call.in_python.most_bytes)
    return Final("value", (index,), call.type, call.nullable)


def _going_on(kind: str) -> Callable[[AggregateCall, AccumulatorList], Final]:
    """Of each window its sum, and of how many values."""

    def build(call: AggregateCall, found: AccumulatorList) -> Final:
        average = _average(call, found)
        return Final(kind, average.accumulators, call.type, call.nullable, call.windows)

    return build


def _time_average(call: AggregateCall, found: AccumulatorList) -> Final:
    """The value that held last is carried into the next window, from when it ceased."""
    length, value, begin, end = call.others
    place = Constant(type=Type.ULLONG, temporal=Temporal.CONSTANT, span=call.span, value=0)
    parts = (
        found.add("sum_float", call.argument),
        found.add("sum_float", length),
        found.add("min", begin),
        found.add("last", value, position=(end, place, place)),
    )
    return Final("time_average", parts, call.type, call.nullable)


AGGREGATES: dict[str, Callable[[AggregateCall, AccumulatorList], Final]] = {
    "COUNT": _count,
    "SUM": _sum,
    "AVG": _average,
    "MIN": _plain("min"),
    "MAX": _plain("max"),
    "AND_AGGR": _plain("and"),
    "OR_AGGR": _plain("or"),
    "XOR_AGGR": _plain("xor"),
    "FIRST": _plain("first"),
    "LAST": _plain("last"),
    "ANY_VALUE": _plain("first"),
    "ARG_MIN": _plain("arg_min"),
    "ARG_MAX": _plain("arg_max"),
    "MODE": _kept("mode", "value"),
    "HISTOGRAM": _kept("histogram", "counts"),
    "STRING_AGG": _kept("list", "joined"),
    "CAT_AGGR": _kept("list", "joined"),
    "ARRAY_AGG": _kept("list", "array"),
    "COUNT_DIFF": _kept("runs", "runs"),
    "VAR": _moments("variance"),
    "STDDEV": _moments("deviation"),
    "MOVING_SUM": _going_on("moving_sum"),
    "MOVING_AVG": _going_on("moving_average"),
    "TIME_AVG": _time_average,
    "RUNNING_SUM": _going_on("running_sum"),
    "RUNNING_SUM_MAX": _going_on("running_sum_max"),
}


def decompose(
    calls: tuple[AggregateCall, ...], position: tuple[Expression, ...]
) -> tuple[tuple[Accumulator, ...], tuple[Final, ...]]:
    """The accumulators of a query's aggregates, and how each aggregate is made of them."""
    found = AccumulatorList(position, [])
    finals = tuple(_decomposition(call)(_unfiltered(call), found) for call in calls)
    return tuple(found.items), finals


def _decomposition(call: AggregateCall) -> Callable[[AggregateCall, AccumulatorList], Final]:
    if call.user is not None:
        return _user
    return _rows if call.in_python is not None else AGGREGATES[call.function]


def _unfiltered(call: AggregateCall) -> AggregateCall:
    """FILTER as what its argument is: NULL, which counts for none, of rows that it leaves out.

    What is not selected is not evaluated, as in any CASE. So is what ARG_MIN is by.
    """
    argument, by = call.argument, call.by
    if argument is not None and by is not None and by.nullable:
        is_null = Operation(type=Type.BOOL, operator="IS_NULL", operands=(by,), span=NOWHERE)
        has_order = Operation(type=Type.BOOL, operator="NOT", operands=(is_null,), span=NOWHERE)
        argument = _where(has_order, argument)
    if call.filter is not None:
        argument = _where(call.filter, argument or _constant(Type.BOOL, True))
        by = None if by is None else _where(call.filter, by)
    return replace(call, argument=argument, by=by, filter=None)


def _where(condition: Expression, value: Expression) -> Case:
    """The value where the condition is true, and NULL elsewhere."""
    return Case(
        type=value.type,
        nullable=True,
        branches=((condition, value),),
        otherwise=_constant(value.type, None),
        span=value.span,
    )


def _constant(type_: Type, value: bool | None) -> Constant:
    nullable = value is None
    return Constant(
        type=type_, temporal=Temporal.CONSTANT, nullable=nullable, span=NOWHERE, value=value
    )

# SPDX-License-Identifier: Apache-2.0
"""Aggregate calls: what they take, what they give, and the list of a query's distinct ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gigastream.gsql.binder.context import BindingContext, not_supported
from gigastream.gsql.binder.user_aggregates import user_aggregate
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import AggregateRef, Constant, Expression
from gigastream.gsql.operations.conversion import converted, counted, exact_type, is_null
from gigastream.gsql.queries import AggregateCall
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Type


def _is_number(type_: Type) -> bool:
    return type_.is_numeric or type_ is Type.TIMESTAMP


def _is_summable(type_: Type) -> bool:
    return type_.is_numeric


def _is_whole(type_: Type) -> bool:
    return type_.is_integer


def _has_order(type_: Type) -> bool:
    return _is_number(type_) or type_.is_address


def _is_any(type_: Type) -> bool:
    return True


def _count(type_: Type) -> Type:
    return Type.ULLONG


def _sum(type_: Type) -> Type:
    """64 bits of the argument's sign: no silent wrap at 32 (GSQL section 3)."""
    if type_ is Type.FLOAT:
        return Type.FLOAT
    return Type.ULLONG if type_.is_unsigned else Type.LLONG


def _float(type_: Type) -> Type:
    return Type.FLOAT


def _same(type_: Type) -> Type:
    return type_


@dataclass(frozen=True, slots=True)
class _Kind:
    """What an aggregate takes and gives."""

    takes: Callable[[Type], bool]
    wanted: str
    gives: Callable[[Type], Type]
    argument: Callable[[Type], Type] = _same
    """The type in which the argument is handed over."""
    is_moving: bool = False
    """Behind the argument stands over how many windows."""


_NUMBERS = "a number"
AGGREGATES = {
    "COUNT": _Kind(_is_any, "any value", _count),
    "SUM": _Kind(_is_summable, _NUMBERS, _sum, _sum),
    "MIN": _Kind(_has_order, "a number, a timestamp or an address", _same),
    "MAX": _Kind(_has_order, "a number, a timestamp or an address", _same),
    "AVG": _Kind(_is_number, _NUMBERS, _float, _sum),
    "AND_AGGR": _Kind(_is_whole, "a whole number", _same),
    "OR_AGGR": _Kind(_is_whole, "a whole number", _same),
    "XOR_AGGR": _Kind(_is_whole, "a whole number", _same),
    "FIRST": _Kind(_is_any, "any value", _same),
    "LAST": _Kind(_is_any, "any value", _same),
    "VAR": _Kind(_is_number, _NUMBERS, _float, _sum),
    "STDDEV": _Kind(_is_number, _NUMBERS, _float, _sum),
    "MOVING_SUM": _Kind(_is_summable, _NUMBERS, _sum, _sum, is_moving=True),
    "MOVING_AVG": _Kind(_is_summable, _NUMBERS, _float, _sum, is_moving=True),
    "RUNNING_SUM": _Kind(_is_summable, _NUMBERS, _sum, _sum),
    "RUNNING_SUM_MAX": _Kind(_is_summable, _NUMBERS, _sum, _sum),
}

_OF_DISTINCT = ("COUNT", "SUM", "AVG")

RUNNING = ("MOVING_SUM", "MOVING_AVG", "TIME_AVG", "RUNNING_SUM", "RUNNING_SUM_MAX")
"""Aggregates that go on from window to window: they need CLOSING_WHEN."""

MAX_WINDOWS = 1000
"""A group keeps a part for each window that MOVING_… is over."""

_OF_A_GROUP = ("COUNT", "FIRST", "LAST", "RUNNING_SUM", "RUNNING_SUM_MAX")
"""What a group that goes on has in a window without rows, too."""

_LATER = (
    *("TIME_AVG",),
    *("APPROX_COUNT_DISTINCT", "QUANTILE_OF", "MEDIAN_OF", "HEAVY_HITTERS", "COUNT_DIFF"),
    "CAT_AGGR",
)

NAMES = (*(name.lower() for name in AGGREGATES), *(name.lower() for name in _LATER))


def is_aggregate(name: str, context: BindingContext) -> bool:
    """True if a call of that name aggregates."""
    return name.lower() in NAMES or is_user_aggregate(name, context)


def is_user_aggregate(name: str, context: BindingContext) -> bool:
    """True if a definition file has a UDAF, or an extractor, of that name."""
    return name.upper() not in AGGREGATES and bool(context.catalog.aggregated(name))


def unsupported_aggregate(node: ast.Call, context: BindingContext) -> bool:
    """Report an aggregate that the language has and this version has not."""
    if node.name.upper() not in _LATER:
        return False
    not_supported(context.sink, f"the aggregate {node.name}", node.name_span)
    return True


def refuse(node: ast.Call, clause: str, sink: DiagnosticSink) -> None:
    """Report an aggregate where none may stand."""
    if clause.startswith(("the argument of", "the FILTER of")):
        message = f"the aggregate {node.name} stands in {clause}: aggregates do not nest"
        nested = "let one query read the other: the inner aggregate in a query of its own"
        sink.error("nested-aggregate", message, node.span, nested)
        return
    message = f"the aggregate {node.name} cannot stand in {clause}"
    hint = "a condition on groups stands in HAVING" if clause == "WHERE" else None
    sink.error("misplaced-aggregate", message, node.span, hint)


class Aggregates:
    """The distinct aggregates of a query, in the order in which they are met.

    `may_be_of_nothing`: without GROUP BY there is an answer where no row came, as in SQL.
    `goes_on`: with CLOSING_WHEN a group has an answer in windows in which it had no row.
    """

    def __init__(self, *, may_be_of_nothing: bool, goes_on: bool = False) -> None:
        self._always = _OF_A_GROUP if goes_on else ("COUNT",)
        self._may_be_of_nothing = may_be_of_nothing or goes_on
        self._found: list[AggregateCall] = []
        self._known: dict[object, int] = {}

    @property
    def found(self) -> tuple[AggregateCall, ...]:
        """All aggregates so far."""
        return tuple(self._found)

    def add(
        self,
        node: ast.Call,
        arguments: list[Expression | None],
        condition: Expression | None,
        context: BindingContext,
    ) -> Expression | None:
        """Return a reference to the aggregate of a call, or None after an error.

        `condition` is that of FILTER.
        """
        if node.filter is not None and condition is None:
            return None
        if isinstance(condition, Constant) and condition.value is True:
            condition = None
        if is_user_aggregate(node.name, context):
            aggregate = _user(node, arguments, condition, context)
        else:
            aggregate = _of_the_language(node, arguments, context.sink)
        if aggregate is None:
            return None
        is_sure = aggregate.function in self._always
        may_be_of_nothing = self._may_be_of_nothing or condition is not None
        nullable = aggregate.nullable or (may_be_of_nothing and not is_sure)
        call = replace(aggregate, nullable=nullable, filter=condition, distinct=node.distinct)
        return self._reference(call, node)

    def _reference(self, aggregate: AggregateCall, node: ast.Call) -> AggregateRef:
        index = self._index(aggregate)
        return AggregateRef(
            type=aggregate.type,
            nullable=aggregate.nullable,
            index=index,
            name=node.span.text,
            span=node.span,
        )

    def _index(self, aggregate: AggregateCall) -> int:
        of_rows = (aggregate.argument, aggregate.filter, aggregate.distinct, aggregate.others)
        key = (aggregate.function, aggregate.windows, *of_rows, aggregate.user)
        if key not in self._known:
            self._known[key] = len(self._found)
            self._found.append(aggregate)
        return self._known[key]


def _user(
    node: ast.Call,
    arguments: list[Expression | None],
    condition: Expression | None,
    context: BindingContext,
) -> AggregateCall | None:
    good = [argument for argument in arguments if argument is not None]
    found = user_aggregate(node, good, context) if len(good) == len(arguments) else None
    if found is not None and condition is not None and found.argument is None:
        message = f"{node.name} has no argument that FILTER could leave out"
        context.sink.error("wrong-arguments", message, node.span)
        return None
    return found


def _of_the_language(
    node: ast.Call, arguments: list[Expression | None], sink: DiagnosticSink
) -> AggregateCall | None:
    if not _has_right_shape(node, sink) or None in arguments:
        return None
    aggregate = _checked(node, None if node.star else arguments[0], sink)
    if aggregate is not None and AGGREGATES[aggregate.function].is_moving:
        return _moving(aggregate, arguments[1], sink)
    return aggregate


def _has_right_shape(node: ast.Call, sink: DiagnosticSink) -> bool:
    name = node.name.upper()
    if node.distinct and name not in _OF_DISTINCT:
        message, hint = f"{node.name} takes no DISTINCT", "COUNT, SUM and AVG take it"
        if name in ("MIN", "MAX"):
            message, hint = f"DISTINCT changes nothing in {node.name}", "leave it out"
        sink.error("wrong-arguments", message, node.span, hint)
        return False
    if node.star and name != "COUNT":
        message = f"{node.name} takes a value, not *"
        sink.error("wrong-arguments", message, node.span, f"{node.name}(len)")
        return False
    if AGGREGATES[name].is_moving and len(node.args) != 2:
        message = f"{node.name} takes a value, and over how many windows"
        sink.error("wrong-arguments", message, node.span, f"{node.name}(len, 5)")
        return False
    if len(node.args) != (0 if node.star else 1 + AGGREGATES[name].is_moving):
        message = f"{node.name} takes one argument"
        counts = "count(*) counts rows" if name == "COUNT" else None
        sink.error("wrong-arguments", message, node.span, counts)
        return False
    return True


def _checked(
    node: ast.Call, argument: Expression | None, sink: DiagnosticSink
) -> AggregateCall | None:
    kind = AGGREGATES[node.name.upper()]
    if argument is None:
        return AggregateCall(node.name.upper(), None, Type.ULLONG, False, node.span)
    if is_null(argument) or not kind.takes(argument.type):
        message = f"{node.name} takes {kind.wanted}, not {exact_type(argument)}"
        sink.error("wrong-type", message, argument.span, _hint(node, argument))
        return None
    handed = argument if kind.argument is _same else counted(argument)
    typed = converted(handed, kind.argument(handed.type))
    result = kind.gives(argument.type)
    nullable = _may_be_null(node.name.upper(), argument)
    return AggregateCall(node.name.upper(), typed, result, nullable, node.span)


def _moving(
    aggregate: AggregateCall, windows: Expression | None, sink: DiagnosticSink
) -> AggregateCall | None:
    """Over so many windows; None, and an error, where that is no number of them."""
    assert windows is not None
    number = windows.value if isinstance(windows, Constant) and windows.type.is_integer else None
    if isinstance(number, int) and 1 <= number <= MAX_WINDOWS:
        return replace(aggregate, windows=number)
    message = f"the number of windows is a constant from 1 to {MAX_WINDOWS}"
    sink.error("wrong-arguments", message, windows.span, "the window that ends is one of them")
    return None


def _may_be_null(name: str, argument: Expression) -> bool:
    """As in SQL: one row alone has no sample variance."""
    return name in ("VAR", "STDDEV") or (argument.nullable and name != "COUNT")


def _hint(node: ast.Call, argument: Expression) -> str | None:
    text = argument.span.text
    if argument.type is Type.BOOL and node.name.upper() == "SUM":
        return f"{node.name}(UINT({text})) counts where it is true"
    if argument.type is Type.TIMESTAMP:
        return "a sum of times leaves 64 bits at once; sum a difference of two"
    return None

# SPDX-License-Identifier: Apache-2.0
"""Aggregate calls: what they take, what they give, and the list of a query's distinct ones."""

from __future__ import annotations

from collections.abc import Callable

from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.python_aggregates import of_rows
from gigastream.gsql.binder.time_average import timed
from gigastream.gsql.binder.user_aggregates import user_aggregate
from gigastream.gsql.binder.value_lists import has_text, of_texts
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import AggregateRef, Constant, Expression
from gigastream.gsql.operations.conversion import converted, counted, exact_type, is_null
from gigastream.gsql.queries import AggregateCall
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass, replace


def _is_number(type_: Type) -> bool:
    return type_.is_numeric or type_ is Type.TIMESTAMP


def _is_summable(type_: Type) -> bool:
    return type_.is_numeric


def _has_bits(type_: Type) -> bool:
    return type_.is_integer or type_ is Type.BOOL


def _has_order(type_: Type) -> bool:
    return _is_number(type_) or type_.is_address


def _is_any(type_: Type) -> bool:
    return True


def _is_met_again(type_: Type) -> bool:
    return _has_order(type_) or type_ is Type.STRING


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


def _string(type_: Type) -> Type:
    return Type.STRING


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
    is_timed: bool = False
    """Behind the argument stands from when it held, and until when."""
    has_order: bool = False
    """Behind the argument stands what tells which row it is of."""
    is_of_texts: bool = False
    """It is handed the text of its argument."""
    has_separator: bool = False
    """Beside the argument stands what is put between two of them."""

    @property
    def arity(self) -> int:
        """How many arguments it takes."""
        return 1 + (self.is_moving or self.has_order or self.has_separator) + 2 * self.is_timed


_NUMBERS, _ORDERED = "a number", "a number, a timestamp or an address"
_TEXTS = "a whole number, an address or a string"
AGGREGATES = {
    "COUNT": _Kind(_is_any, "any value", _count),
    "SUM": _Kind(_is_summable, _NUMBERS, _sum, _sum),
    "MIN": _Kind(_has_order, _ORDERED, _same),
    "MAX": _Kind(_has_order, _ORDERED, _same),
    "AVG": _Kind(_is_number, _NUMBERS, _float, _sum),
    "AND_AGGR": _Kind(_has_bits, "a whole number or a bool", _same),
    "OR_AGGR": _Kind(_has_bits, "a whole number or a bool", _same),
    "XOR_AGGR": _Kind(_has_bits, "a whole number or a bool", _same),
    "FIRST": _Kind(_is_any, "any value", _same),
    "LAST": _Kind(_is_any, "any value", _same),
    "ANY_VALUE": _Kind(_is_any, "any value", _same),
    "ARG_MIN": _Kind(_is_any, "any value", _same, has_order=True),
    "ARG_MAX": _Kind(_is_any, "any value", _same, has_order=True),
    "MODE": _Kind(_is_met_again, "a number, a timestamp, an address or a string", _same),
    "COUNT_DIFF": _Kind(_is_any, "any value", _count),
    "HISTOGRAM": _Kind(has_text, _TEXTS, _string, is_of_texts=True),
    "ARRAY_AGG": _Kind(has_text, _TEXTS, _string, is_of_texts=True),
    "STRING_AGG": _Kind(has_text, _TEXTS, _string, is_of_texts=True, has_separator=True),
    "CAT_AGGR": _Kind(has_text, _TEXTS, _string, is_of_texts=True, has_separator=True),
    "VAR": _Kind(_is_number, _NUMBERS, _float, _sum),
    "STDDEV": _Kind(_is_number, _NUMBERS, _float, _sum),
    "MOVING_SUM": _Kind(_is_summable, _NUMBERS, _sum, _sum, is_moving=True),
    "MOVING_AVG": _Kind(_is_summable, _NUMBERS, _float, _sum, is_moving=True),
    "TIME_AVG": _Kind(_is_summable, _NUMBERS, _float, _float, is_timed=True),
    "RUNNING_SUM": _Kind(_is_summable, _NUMBERS, _sum, _sum),
    "RUNNING_SUM_MAX": _Kind(_is_summable, _NUMBERS, _sum, _sum),
}

_OF_DISTINCT = ("COUNT", "SUM", "AVG")

RUNNING = ("MOVING_SUM", "MOVING_AVG", "TIME_AVG", "RUNNING_SUM", "RUNNING_SUM_MAX")
"""Aggregates that go on from window to window: they need CLOSING_WHEN."""

MAX_WINDOWS = 1000
"""A group keeps a part for each window that MOVING_… is over."""

_OF_A_GROUP = ("COUNT", "FIRST", "LAST", "TIME_AVG", "RUNNING_SUM", "RUNNING_SUM_MAX")
"""What a group that goes on has in a window without rows, too."""

_COUNTS = ("COUNT", "COUNT_DIFF")
"""Of no value they are 0, and not NULL."""

NAMES = tuple(name.lower() for name in AGGREGATES)


def is_aggregate(name: str, context: BindingContext) -> bool:
    """True if a call of that name aggregates."""
    return name.lower() in NAMES or is_user_aggregate(name, context)


def is_user_aggregate(name: str, context: BindingContext) -> bool:
    """True if a definition file has a UDAF, or an extractor, of that name."""
    return name.upper() not in AGGREGATES and bool(context.catalog.aggregated(name))


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
        self._always = _OF_A_GROUP if goes_on else _COUNTS
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
            aggregate = _of_the_language(node, arguments, context)
        if aggregate is None:
            return None
        is_sure = aggregate.function in (self._always if condition is None else _COUNTS)
        may_be_of_nothing = self._may_be_of_nothing or condition is not None
        nullable = aggregate.nullable or (may_be_of_nothing and not is_sure)
        call = replace(aggregate, nullable=nullable, filter=condition, distinct=node.distinct)
        kept = self._reference(call, node)
        return kept if call.in_python is None else of_rows(kept, call.in_python)

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
        of_rows = (aggregate.argument, aggregate.filter, aggregate.distinct, aggregate.by)
        told = (aggregate.windows, aggregate.separator, aggregate.others, aggregate.user)
        key = (aggregate.function, *of_rows, *told)
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
    node: ast.Call, arguments: list[Expression | None], context: BindingContext
) -> AggregateCall | None:
    sink = context.sink
    if not _has_right_shape(node, sink) or None in arguments:
        return None
    kind = AGGREGATES[node.name.upper()]
    if node.name.upper() == "CAT_AGGR":  # Gigascope's: the separator first
        arguments = arguments[::-1]
    aggregate = _checked(node, None if node.star else arguments[0], sink)
    if aggregate is not None and kind.is_moving:
        return _moving(aggregate, arguments[1], sink)
    if aggregate is not None and kind.is_timed:
        return timed(aggregate, arguments[1:], sink)
    if aggregate is not None and kind.has_order:
        return _ordered(aggregate, arguments[1], sink)
    if aggregate is not None and kind.is_of_texts:
        return of_texts(aggregate, arguments[1] if kind.has_separator else None, context)
    return aggregate


def _has_right_shape(node: ast.Call, sink: DiagnosticSink) -> bool:
    if any(isinstance(argument, ast.Broken) for argument in node.args):
        return False
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
    if AGGREGATES[name].is_timed and node.filter is not None:
        hint = "leave the rows out in WHERE"
        sink.error("wrong-arguments", f"{node.name} has no FILTER", node.span, hint)
        return False
    if AGGREGATES[name].is_timed and len(node.args) != AGGREGATES[name].arity:
        message = f"{node.name} takes a value, from when it held, and until when"
        sink.error("wrong-arguments", message, node.span, f"{node.name}(n, began, ended)")
        return False
    if AGGREGATES[name].has_order and len(node.args) != 2:
        message = f"{node.name} takes a value, and what it is the value at"
        sink.error("wrong-arguments", message, node.span, f"{node.name}(srcIP, len)")
        return False
    if AGGREGATES[name].has_separator and len(node.args) != 2:
        message = f"{node.name} takes a value, and what stands between two of them"
        order = "', ', destPort" if name == "CAT_AGGR" else "destPort, ', '"
        sink.error("wrong-arguments", message, node.span, f"{node.name}({order})")
        return False
    if len(node.args) != (0 if node.star else AGGREGATES[name].arity):
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


def _ordered(
    aggregate: AggregateCall, by: Expression | None, sink: DiagnosticSink
) -> AggregateCall | None:
    """Of the row in which `by` is the least or the greatest; None, and an error, for no order."""
    assert by is not None
    if is_null(by) or not _has_order(by.type):
        message = f"{aggregate.function} is at the least or greatest of {_ORDERED}"
        sink.error("wrong-type", f"{message}, not of {exact_type(by)}", by.span)
        return None
    return replace(aggregate, by=converted(by, by.type), nullable=aggregate.nullable or by.nullable)


def _may_be_null(name: str, argument: Expression) -> bool:
    """As in SQL: one row alone has no sample variance."""
    return name in ("VAR", "STDDEV") or (argument.nullable and name not in _COUNTS)


def _hint(node: ast.Call, argument: Expression) -> str | None:
    text = argument.span.text
    if AGGREGATES[node.name.upper()].is_of_texts and argument.type is Type.TIMESTAMP:
        return f"strftime({text}, '%H:%M:%S') makes text of it"
    if argument.type is Type.BOOL and node.name.upper() == "SUM":
        return f"{node.name}(UINT({text})) counts where it is true"
    if argument.type is Type.TIMESTAMP:
        return "a sum of times leaves 64 bits at once; sum a difference of two"
    return None

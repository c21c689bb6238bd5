# SPDX-License-Identifier: Apache-2.0
"""What a query asks of a supergroup: superaggregates, and calls of stateful functions."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.binder.aggregates import Aggregates
from gigastream.gsql.binder.constant_ranges import is_in_range
from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.catalog.catalog import StatefulFunction
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import (
    AggregateRef,
    Constant,
    Expression,
    FunctionCall,
    SuperaggregateRef,
    SupergroupState,
)
from gigastream.gsql.operations.conversion import converted, exact_type
from gigastream.gsql.operations.overloads import chosen
from gigastream.gsql.queries import Superaggregate
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Type, size_of
from gigastream.late_dataclass import replace


class Superaggregates:
    """The distinct superaggregates of a query, in the order in which they are met."""

    def __init__(self, aggregates: Aggregates) -> None:
        self._aggregates = aggregates
        self._found: list[Superaggregate] = []

    @property
    def found(self) -> tuple[Superaggregate, ...]:
        """All of them so far."""
        return tuple(self._found)

    def add(
        self,
        node: ast.Call,
        arguments: list[Expression | None],
        condition: Expression | None,
        context: BindingContext,
    ) -> Expression | None:
        """Return a reference to the superaggregate of a call, or None after an error."""
        name = node.name.upper()
        if name == "COUNT_DISTINCT":
            return self._count(node, context.sink)
        if name == "SUM":
            return self._sum(node, arguments, condition, context)
        message, hint = f"there is no superaggregate {node.name}$", _THERE_ARE
        context.sink.error("unknown-function", message, node.name_span, hint)
        return None

    def _count(self, node: ast.Call, sink: DiagnosticSink) -> Expression | None:
        if node.args or node.distinct or node.filter is not None:
            message = "count_distinct$ counts the groups of a supergroup: it takes no argument"
            sink.error("wrong-arguments", message, node.span, "count_distinct$()")
            return None
        return self._reference(Superaggregate(None), Type.ULLONG, node)

    def _sum(
        self,
        node: ast.Call,
        arguments: list[Expression | None],
        condition: Expression | None,
        context: BindingContext,
    ) -> Expression | None:
        summed = replace(node, superaggregate=False)
        found = self._aggregates.add(summed, arguments, condition, context)
        if not isinstance(found, AggregateRef):
            return None
        if not found.type.is_integer:
            message = f"sum$ takes a whole number, not {exact_type(arguments[0] or found)}"
            hint = "what leaves a sum of floats could not be taken away from it exactly"
            context.sink.error("wrong-type", message, node.span, hint)
            return None
        return self._reference(Superaggregate(found.index), found.type, node)

    def _reference(self, item: Superaggregate, type_: Type, node: ast.Call) -> SuperaggregateRef:
        if item not in self._found:
            self._found.append(item)
        index = self._found.index(item)
        return SuperaggregateRef(type=type_, index=index, name=node.span.text, span=node.span)


_THERE_ARE = "there are sum$(x) and count_distinct$()"


def refuse_of_supergroup(what: str, clause: str, span: Span, sink: DiagnosticSink) -> None:
    """Report what asks a supergroup where there is none."""
    message = f"{what} cannot stand in {clause}: it is asked of a supergroup"
    hint = "WHERE, HAVING, CLEANING_WHEN, CLEANING_BY and SELECT of a query with GROUP BY have it"
    sink.error("misplaced-stateful", message, span, hint)


def stateful_call(
    context: BindingContext, node: ast.Call, arguments: Sequence[Expression | None]
) -> Expression | None:
    """The checked call of a stateful function, or None after an error."""
    overloads = context.catalog.stateful_functions[node.name.lower()]
    good = [argument for argument in arguments if argument is not None]
    if len(good) < len(arguments):
        return None
    function = chosen(overloads, good)
    if not isinstance(function, StatefulFunction):
        message = f"there is no {node.name}({', '.join(map(exact_type, good))})"
        hint = f"there is {', '.join(overload.signature for overload in overloads)}"
        context.sink.error("wrong-arguments", message, node.span, hint)
        return None
    pairs = zip(good, function.parameters, strict=True)
    typed = tuple(converted(argument, type_) for argument, type_ in pairs)
    for at in sorted(function.constants):
        given = typed[at]
        if not isinstance(given, Constant) or given.value is None:
            message = f"argument {at + 1} of {function.name} must be a constant"
            hint = "a literal, a $parameter or a #define"
            context.sink.error("wrong-arguments", message, given.span, hint)
            return None
        if not is_in_range(function, at, given, context.sink):
            return None
    return _called(function, typed, node)


def _called(
    function: StatefulFunction, arguments: tuple[Expression, ...], node: ast.Call
) -> FunctionCall:
    """The state is the first argument."""
    kept = Type.opaque(size_of(function.storage))
    state = SupergroupState(type=kept, state=function.state, span=node.name_span)
    return FunctionCall(
        type=function.result,
        nullable=any(argument.nullable for argument in arguments),
        name=function.name,
        symbol=function.symbol,
        arguments=(state, *arguments),
        handle=None if function.handle is None else function.handle + 1,
        partial=function.partial,
        lfta_legal=False,
        hfta_legal=True,
        cost=function.cost,
        header=function.header,
        include=function.include,
        span=node.span,
    )

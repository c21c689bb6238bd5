# SPDX-License-Identifier: Apache-2.0
"""Calls of UDAFs and extractors: which overload is meant, and what of it is constant."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.binder.constant_ranges import is_in_range
from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.python_aggregates import python_aggregate
from gigastream.gsql.catalog.catalog import COSTS, Extractor, Function, UserAggregate
from gigastream.gsql.catalog.python_functions import PythonAggregate
from gigastream.gsql.expressions import Constant, Expression, StateFunction
from gigastream.gsql.operations.conversion import converted, exact_type
from gigastream.gsql.operations.overloads import chosen
from gigastream.gsql.queries import AggregateCall, UserCall, UserState
from gigastream.gsql.syntax import ast

USER = "USER"
"""The `function` of an AggregateCall that is somebody's own."""


def user_aggregate(
    node: ast.Call, arguments: Sequence[Expression], context: BindingContext
) -> AggregateCall | None:
    """The checked call of a UDAF or extractor, or None after an error."""
    overloads = context.catalog.aggregated(node.name)
    if node.star or node.distinct:
        mark = "*" if node.star else "DISTINCT"
        message = f"{node.name} takes no {mark}"
        context.sink.error("wrong-arguments", message, node.span, _there_is(overloads))
        return None
    function = chosen(overloads, arguments)
    if not isinstance(function, UserAggregate | Extractor | PythonAggregate):
        types = ", ".join(map(exact_type, arguments))
        message = f"there is no {node.name}({types})"
        context.sink.error("wrong-arguments", message, node.span, _there_is(overloads))
        return None
    pairs = zip(arguments, function.parameters, strict=True)
    typed = tuple(converted(argument, type_) for argument, type_ in pairs)
    if isinstance(function, PythonAggregate):
        return python_aggregate(node, function, typed)
    if not _has_constants(function, typed, context):
        return None
    return _called(node, function, typed)


def _there_is(overloads: Sequence[Function]) -> str:
    return f"there is {', '.join(overload.signature for overload in overloads)}"


def _has_constants(
    function: Function, arguments: Sequence[Expression], context: BindingContext
) -> bool:
    for at in sorted(function.constants):
        argument = arguments[at]
        if isinstance(argument, Constant) and argument.value is not None:
            if not is_in_range(function, at, argument, context.sink):
                return False
            continue
        message = f"argument {at + 1} of {function.name} must be a constant"
        if isinstance(argument, Constant):
            message = f"argument {at + 1} of {function.name} must not be NULL"
        hint = "a literal, a $parameter or a #define"
        context.sink.error("wrong-arguments", message, argument.span, hint)
        return False
    return True


def _called(
    node: ast.Call,
    function: UserAggregate | Extractor,
    arguments: tuple[Expression, ...],
) -> AggregateCall:
    aggregate = function.aggregate if isinstance(function, Extractor) else function
    taken = arguments[: len(aggregate.parameters)]
    constants = tuple(taken[at] for at in sorted(aggregate.constants))
    rows = [e for at, e in enumerate(taken) if at not in aggregate.constants]
    extractor = None
    if isinstance(function, Extractor):
        own = arguments[len(aggregate.parameters) :]
        extractor = _functions(function, aggregate, own, node)
    user = UserCall(_state(aggregate, constants, node), extractor)
    return AggregateCall(
        USER,
        rows[0] if rows else None,
        function.result,
        any(argument.nullable for argument in rows),
        node.span,
        others=tuple(rows[1:]),
        user=user,
    )


def _state(
    aggregate: UserAggregate, constants: tuple[Expression, ...], node: ast.Call
) -> UserState:
    whole = _functions(aggregate, aggregate, constants, node)
    about = (_why_high(aggregate), aggregate.is_running)
    if aggregate.below is None or aggregate.above is None:
        return UserState(whole, whole, whole, *about)
    below = _functions(aggregate.below, aggregate, constants, node)
    above = _functions(aggregate.above, aggregate, constants, node)
    return UserState(whole, below, above, *about)


def _why_high(aggregate: UserAggregate) -> str:
    """What keeps a UDAF above the border; empty if nothing does."""
    if not aggregate.may_begin_low:
        return f"{aggregate.name} is not LFTA-legal"
    below = aggregate.below or aggregate
    return f"{aggregate.name} is expensive" if below.cost >= COSTS["EXPENSIVE"] else ""


def _functions(
    function: Function,
    aggregate: UserAggregate,
    constants: tuple[Expression, ...],
    node: ast.Call,
) -> StateFunction:
    """The C of a UDAF, or a part of it, or of an extractor, with constants in their order."""
    handle, is_extractor = None, isinstance(function, Extractor)
    if aggregate.handle is not None and not is_extractor:
        handle = sorted(aggregate.constants).index(aggregate.handle)
    return StateFunction(
        type=function.result,
        name=function.name,
        symbol=function.symbol,
        arguments=constants,
        handle=handle,
        partial=function.partial,
        lfta_legal=function.lfta_legal,
        hfta_legal=True,
        cost=function.cost,
        header=function.header,
        include=function.include,
        state=function.state if isinstance(function, UserAggregate) else aggregate.state,
        prepared_by=aggregate.symbol,
        span=node.span,
    )

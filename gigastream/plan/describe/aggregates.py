# SPDX-License-Identifier: Apache-2.0
"""Aggregates in words: what is kept, and how it is completed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gigastream.gsql.expressions import AggregateRef, Case, Constant, Expression, walk
from gigastream.plan.accumulators import (
    KINDS,
    RUNNING_USER,
    Accumulator,
    Final,
    UserAccumulator,
    UserFinal,
    accumulator_names,
    partial_columns,
)
from gigastream.plan.text import expression_text
from gigastream.words import counted

if TYPE_CHECKING:
    from gigastream.gsql.queries import GroupVariable
    from gigastream.plan.operators.aggregate import Aggregate

_KEPT = {
    "count": "count of",
    "sum_unsigned": "sum of",
    "sum_signed": "sum of",
    "sum_float": "sum of",
    "min": "least",
    "max": "greatest",
    "and": "bits in all of",
    "or": "bits in any of",
    "xor": "bits of odd number in",
    "first": "first",
    "last": "last",
    "arg_min": "at the least",
    "arg_max": "at the greatest",
    "moments_unsigned": "moments of",
    "moments_signed": "moments of",
    "moments_float": "moments of",
    "user": "state of",
    "rows": "every",
    "mode": "the most frequent of",
    "histogram": "how often each of",
    "list": "values, in order, of",
    "runs": "runs, in order, of",
}
_COMPLETED = {**_KEPT, "count": "sum of", "user": "states of"}
"""Of partial values: counts are added."""


def accumulator_text(accumulator: Accumulator) -> str:
    """What a slot or group keeps: `sum of len`."""
    if accumulator.by is not None:
        value, by = map(_argument_text, (accumulator.argument, accumulator.by))
        return f"{value} {_KEPT[accumulator.kind]} {by}"
    each = "distinct " if accumulator.distinct else ""
    what = f"{each}{_argument_text(accumulator.argument)}"
    if isinstance(accumulator, UserAccumulator):
        state = accumulator.state.whole
        given = map(_argument_text, (*accumulator.expressions, *state.arguments))
        what = f"{state.name}({', '.join(given)})"
    return f"{_KEPT[accumulator.kind]} {what}"


def _argument_text(argument: Expression | None) -> str:
    """`len`, or `len where protocol = 6`, as FILTER makes it."""
    if argument is None or (isinstance(argument, Constant) and argument.value is True):
        return "rows"
    if isinstance(argument, Case) and len(argument.branches) == 1 and _is_null(argument.otherwise):
        ((condition, value),) = argument.branches
        return f"{_argument_text(value)} where {expression_text(condition)}"
    return expression_text(argument)


def _is_null(expression: Expression) -> bool:
    return isinstance(expression, Constant) and expression.value is None


def kept(groups: Sequence[GroupVariable], accumulators: Sequence[Accumulator]) -> tuple[str, ...]:
    """`sum_unsigned1 = sum of len`, each."""
    named = zip(accumulator_names(groups, accumulators), accumulators, strict=True)
    return tuple(f"{name} = {accumulator_text(a)}" for name, a in named)


def kept_columns(accumulator: Accumulator) -> Iterator[str]:
    """What the columns of a partial row have of it."""
    for suffix, _ in KINDS[accumulator.kind].columns:
        yield f"{accumulator_text(accumulator)}{_PARTS.get(suffix, '')}"


_PARTS = {
    "_by": ": what it is at",
    "_ts": ": its time",
    "_if": ": its interface",
    "_pos": ": its place",
    "_n": ": their number",
    "_origin": ": the first one",
    "_sum": ": sum of the differences from it",
    "_squares": ": sum of their squares",
    "_squares_high": ": what it is above 64 bits",
}


def completed(node: Aggregate) -> tuple[str, ...]:
    """`avg(len) = sum_unsigned0 / count1`, each aggregate."""
    finals = zip(_labels(node), node.finals, strict=True)
    return tuple(f"{name} = {_final_text(node, final)}" for name, final in finals)


def _final_text(node: Aggregate, final: Final) -> str:
    """How an aggregate is made of accumulators."""
    parts = [_part(node, index) for index in final.accumulators]
    if final.kind == "average":
        return " / ".join(parts)
    if isinstance(final, UserFinal):
        since = "since the group began, " if final.kind == RUNNING_USER else ""
        extractor = final.call.extractor
        return f"{since}{parts[0] if extractor is None else f'{extractor.name} of {parts[0]}'}"
    if final.kind in _GOING_ON:
        of = _GOING_ON[final.kind].format(counted(final.windows, "window"))
        return f"{of} of {' / '.join(parts[: 1 + (final.kind in _QUOTIENTS)])}"
    return parts[0] if final.kind == "value" else f"{final.kind} from {parts[0]}"


_QUOTIENTS = ("moving_average", "time_average")
_GOING_ON = {
    "time_average": "by how long each held, the average",
    "moving_sum": "over {}, the sum",
    "moving_average": "over {}, the sum",
    "running_sum": "since the group began, the sum",
    "running_sum_max": "since the group began, the greatest sum at a window's end",
    "kept_first": "since the group began, the first",
    "kept_last": "since the group began, the last",
}


def _part(node: Aggregate, index: int) -> str:
    accumulator = node.accumulators[index]
    name = accumulator_names(node.groups, node.accumulators)[index]
    if not node.merges_partials:
        return name
    columns = (column.name for column in partial_columns(accumulator, name))
    return f"{_COMPLETED[accumulator.kind]} {', '.join(columns)}"


def _labels(node: Aggregate) -> list[str]:
    """Each aggregate as the query writes it."""
    found = {index: f"aggregate {index}" for index in range(len(node.finals))}
    for expression in (*node.column_expressions, *node.conditions_of_groups):
        for part in walk(expression):
            if isinstance(part, AggregateRef):
                found[part.index] = part.name
    return list(found.values())

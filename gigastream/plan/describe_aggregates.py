# SPDX-License-Identifier: Apache-2.0
"""Aggregates in words: what is kept, and how it is completed."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.expressions import AggregateRef, walk
from gigastream.plan.nodes import Accumulator, Aggregate, Final
from gigastream.plan.text import expression_text

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
    "moments_unsigned": "moments of",
    "moments_signed": "moments of",
    "moments_float": "moments of",
}
_COMPLETED = {**_KEPT, "count": "sum of"}
"""Of partial values: counts are added."""


def accumulator_text(accumulator: Accumulator) -> str:
    """What a slot or group keeps: `sum of len`."""
    what = "rows" if accumulator.argument is None else expression_text(accumulator.argument)
    return f"{_KEPT[accumulator.kind]} {what}"


def final_text(final: Final, node: Aggregate, names: Sequence[Sequence[str]]) -> str:
    """How an aggregate is made of accumulators; `names` are the columns of each."""
    parts = [_part(node, index, names) for index in final.accumulators]
    if final.kind == "average":
        return " / ".join(parts)
    return parts[0] if final.kind == "value" else f"{final.kind} from {parts[0]}"


def _part(node: Aggregate, index: int, names: Sequence[Sequence[str]]) -> str:
    kind = node.accumulators[index].kind
    if not node.merges_partials:
        return f"{kind}{index}"
    return f"{_COMPLETED[kind]} {', '.join(names[index])}"


def labels(node: Aggregate) -> list[str]:
    """Each aggregate as the query writes it."""
    found = {index: f"aggregate {index}" for index in range(len(node.finals))}
    shown = [output.expression for output in node.outputs]
    for expression in [*shown, *([] if node.having is None else [node.having])]:
        for part in walk(expression):
            if isinstance(part, AggregateRef):
                found[part.index] = part.name
    return list(found.values())

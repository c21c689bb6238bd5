# SPDX-License-Identifier: Apache-2.0
"""Union of streams: rows of all inputs, the least of their bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.queries import MergeClause
from gigastream.gsql.types import Column, Schema, Temporal
from gigastream.late_dataclass import dataclass, replace
from gigastream.plan.base_time import BaseTimes, joined
from gigastream.plan.builders import first_temporal, progressing
from gigastream.plan.nodes import Node
from gigastream.plan.operators.merge import merge_node


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Node):
    """Rows of all inputs; the least of their bounds."""

    title: ClassVar[str] = "union"
    is_light: ClassVar[bool] = True
    holds_rows: ClassVar[bool] = False
    keeps_inputs_apart: ClassVar[bool] = True

    parts: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        return replace(self, parts=inputs)

    @property
    def undivided(self) -> str | None:
        return None

    def asked_below(self, watched: Sequence[Monotone]) -> tuple[Monotone, ...]:
        return tuple(watched)

    def base_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        return joined(inputs)

    def origins(self, column: int) -> Iterator[tuple[str, int]]:
        for part in self.parts:
            yield from part.origins(column)

    def punctuation(self, index: int) -> str:
        return "least punctuation of all inputs"


def union_of(name: str, parts: tuple[Node, ...], *, in_order: bool | None = None) -> Node:
    """The union of streams; a single one is itself; in order it is their merge."""
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(part.schema.columns for part in parts), strict=True)
    schema = Schema(tuple(map(_shared_column, columns)))
    ordered = first_temporal(schema)
    if in_order and ordered is not None:
        return merge_node(name, schema, parts, MergeClause(ordered, slack=0))
    return Union(name=name, schema=schema, order=progressing(schema), parts=parts)


def _shared_column(columns: tuple[Column, ...]) -> Column:
    """A union's column is temporal only if it is so, in one direction, in every input."""
    first = columns[0]
    agrees = all(column.temporal is first.temporal for column in columns)
    return replace(
        first,
        temporal=first.temporal if agrees else Temporal.VARYING,
        nullable=any(column.nullable for column in columns),
        subtype=first.subtype if len({column.subtype for column in columns}) == 1 else "",
        clock=first.clock if len({column.clock for column in columns}) == 1 else "",
    )

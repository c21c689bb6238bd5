# SPDX-License-Identifier: Apache-2.0
"""LIMIT of a selection: the first rows that come, and then its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.queries import CheckedQuery
from gigastream.gsql.source import NOWHERE, Span
from gigastream.late_dataclass import dataclass, field, replace
from gigastream.plan.builders import NodeNames
from gigastream.plan.nodes import ClauseNode, Detail, Node
from gigastream.words import counted

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(ClauseNode):
    """LIMIT of a selection: the first rows that come, and then its end."""

    title: ClassVar[str] = "limit"

    limit: int
    span: Span = field(default=NOWHERE, compare=False)

    @classmethod
    def on_top(cls, query: CheckedQuery, rows: Node, names: NodeNames) -> Node:
        if query.is_aggregation or query.limit is None:
            return rows
        below = replace(rows, name=names.fresh(f"{query.name}_rows"))
        return cls(
            name=query.name,
            schema=below.schema,
            order=below.order,
            input=below,
            limit=query.limit,
            span=query.limit_span,
        )

    def asked_below(self, watched: Sequence[Monotone]) -> tuple[Monotone, ...]:
        return tuple(watched)

    def together(self, columns: frozenset[int]) -> frozenset[int]:
        return columns

    @property
    def ends_at(self) -> Span | None:
        return self.span

    def details(self, plan: Plan) -> Iterator[Detail]:
        yield "limit", (f"{counted(self.limit, 'row')}, and then the end",)

    def punctuation(self, index: int) -> str:
        return f"punctuation of {self.schema.columns[index].name}, all of it after the last row"

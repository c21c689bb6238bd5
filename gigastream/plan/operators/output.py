# SPDX-License-Identifier: Apache-2.0
"""What the user sees of a query."""

from __future__ import annotations

from typing import ClassVar

from gigastream.gsql.queries import CheckedQuery
from gigastream.late_dataclass import dataclass
from gigastream.plan.nodes import Node, PassingNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Output(PassingNode):
    """Rows leave the plan here, under the query's name."""

    title: ClassVar[str] = "output"
    holds_rows: ClassVar[bool] = False
    is_output: ClassVar[bool] = True
    is_light: ClassVar[bool] = True

    @property
    def undivided(self) -> str | None:
        return None

    @property
    def is_of_parts(self) -> bool:
        return True


def output_node(query: CheckedQuery, top: Node) -> Output:
    """What is seen of a query whose top node is `top`."""
    return Output(name=query.name, schema=query.schema, order=top.order, input=top)

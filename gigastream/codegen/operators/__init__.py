# SPDX-License-Identifier: Apache-2.0
"""The operators of a plan as C, a file each. What is the same for every query is in csrc/."""

from __future__ import annotations

from typing import Any, Protocol

from gigastream.codegen.c_text import Lines
from gigastream.codegen.context import CodeContext
from gigastream.codegen.operators import (
    aggregate,
    expand,
    join,
    limit,
    low_select,
    merge,
    order_limit,
    output,
    partial_aggregate,
    python_map,
    running_aggregate,
    sample,
    select,
    slide,
    slide_rows,
    sort,
    union,
)
from gigastream.plan.nodes import Node
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.expand import Expand
from gigastream.plan.operators.join import Join
from gigastream.plan.operators.limit import Limit
from gigastream.plan.operators.low_select import LowSelect
from gigastream.plan.operators.merge import Merge
from gigastream.plan.operators.order_limit import OrderLimit
from gigastream.plan.operators.output import Output
from gigastream.plan.operators.partial_aggregate import PartialAggregate
from gigastream.plan.operators.python_map import PythonMap
from gigastream.plan.operators.running_aggregate import RunningAggregate
from gigastream.plan.operators.sample import Sample
from gigastream.plan.operators.select import Select
from gigastream.plan.operators.slide import Slide
from gigastream.plan.operators.slide_rows import SlideRows
from gigastream.plan.operators.sort import Sort
from gigastream.plan.operators.union import Union


class OperatorCode(Protocol):
    """How a node becomes C."""

    @property
    def node_kind(self) -> str: ...
    def prefix(self, context: CodeContext, node: Any) -> str: ...
    def write(self, lines: Lines, context: CodeContext, node: Any) -> None: ...
    def write_above(self, lines: Lines, context: CodeContext, node: Any) -> None: ...


CODES: dict[type[Node], OperatorCode] = {
    LowSelect: low_select.CODE,
    PartialAggregate: partial_aggregate.CODE,
    Select: select.CODE,
    Aggregate: aggregate.CODE,
    Slide: slide.CODE,
    SlideRows: slide_rows.CODE,
    Expand: expand.CODE,
    PythonMap: python_map.CODE,
    RunningAggregate: running_aggregate.CODE,
    Sample: sample.CODE,
    Union: union.CODE,
    Join: join.CODE,
    Sort: sort.CODE,
    Merge: merge.CODE,
    OrderLimit: order_limit.CODE,
    Limit: limit.CODE,
    Output: output.CODE,
}


def code_of(node: Node) -> OperatorCode:
    """How the node becomes C."""
    return CODES[type(node)]

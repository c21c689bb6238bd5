# SPDX-License-Identifier: Apache-2.0
"""The operators of a plan on Spark, a file each."""

from __future__ import annotations

from typing import Any

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
from gigastream.plan.plan import Plan
from spark_sink.lateness import Late
from spark_sink.operators.aggregate import AggregateOnSpark
from spark_sink.operators.expand import ExpandOnSpark
from spark_sink.operators.join import JoinOnSpark
from spark_sink.operators.limit import LimitOnSpark
from spark_sink.operators.low_stream import LowStream
from spark_sink.operators.merge import MergeOnSpark
from spark_sink.operators.operator import SparkOperator, Times
from spark_sink.operators.order_limit import OrderLimitOnSpark
from spark_sink.operators.output import OutputOnSpark
from spark_sink.operators.python_map import PythonMapOnSpark
from spark_sink.operators.running_aggregate import RunningAggregateOnSpark
from spark_sink.operators.sample import SampleOnSpark
from spark_sink.operators.select import SelectOnSpark
from spark_sink.operators.slide import SlideOnSpark
from spark_sink.operators.sort import SortOnSpark
from spark_sink.operators.union import UnionOnSpark
from spark_sink.operators.unknown import Unknown

OPERATORS: dict[type[Node], SparkOperator[Any]] = {
    LowSelect: LowStream(),
    PartialAggregate: LowStream(),
    Select: SelectOnSpark(),
    Aggregate: AggregateOnSpark[Aggregate](),
    Slide: SlideOnSpark(),
    SlideRows: SlideOnSpark(),
    Expand: ExpandOnSpark(),
    PythonMap: PythonMapOnSpark(),
    RunningAggregate: RunningAggregateOnSpark(),
    Sample: SampleOnSpark(),
    Union: UnionOnSpark(),
    Join: JoinOnSpark(),
    Sort: SortOnSpark(),
    Merge: MergeOnSpark(),
    OrderLimit: OrderLimitOnSpark(),
    Limit: LimitOnSpark(),
    Output: OutputOnSpark(),
}


def column_times(plan: Plan) -> Times:
    """For each node but the outputs, by name, its columns as functions of base time."""
    return {name: late.times for name, late in lateness(plan).items()}


def lateness(plan: Plan) -> dict[str, Late]:
    """The same, with how far apart the times of one row can be."""
    found: dict[str, Late] = {}
    for node in plan.nodes:
        if not node.is_output:
            inputs = [found[child.name] for child in node.inputs]
            found[node.name] = operator_of(node).late(node, inputs)
    return found


def operator_of(node: Node) -> SparkOperator[Any]:
    """How a node becomes DataFrame operations; one without a line here is refused."""
    return OPERATORS.get(type(node), Unknown())

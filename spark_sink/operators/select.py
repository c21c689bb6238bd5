# SPDX-License-Identifier: Apache-2.0
"""Selection above the border on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gigastream.gsql.expressions import Expression
from gigastream.plan.operators.select import Select
from gigastream.plan.text import expression_text
from spark_sink.operators.operator import Lines, SparkOperator, Times
from spark_sink.operators.rows import kept, numbered, outputs_text, over_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames


class SelectOnSpark(SparkOperator[Select]):
    """WHERE and the SELECT list."""

    def frame(self, frames: Frames, node: Select) -> DataFrame:
        rows = frames.of(node.input)
        outputs = [over_columns(output.expression, rows) for output in node.outputs]
        predicates = [over_columns(predicate, rows) for predicate in node.predicates]
        return kept(rows, predicates, outputs).select(*numbered(outputs))

    def lines(self, plan: Plan, node: Select, times: Times) -> Lines:
        for predicate in node.predicates:
            yield "where", expression_text(predicate)
        yield "select", outputs_text(node.outputs)

    def expressions(self, node: Select) -> Iterator[Expression]:
        yield from node.predicates
        yield from node.column_expressions

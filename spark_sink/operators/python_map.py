# SPDX-License-Identifier: Apache-2.0
"""Functions in Python on Spark: as Arrow UDFs in its Python workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.arrow_calls import batch_call
from gigastream.arrow_schema import arrow_type
from gigastream.gsql.diagnostics import Diagnostic
from gigastream.gsql.expressions import ColumnRef, PythonCall
from gigastream.gsql.source import read_text
from gigastream.ownership import check_code
from gigastream.plan.operators.python_map import COLUMNS_OF_CALL, PythonMap
from gigastream.plan.text import expression_text
from spark_sink.expressions.values import SPARK_TYPE
from spark_sink.operators.operator import Lines, SparkOperator, Times
from spark_sink.operators.refusal import refused
from spark_sink.python_functions import GIVEN, VALUE, answering

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames


class PythonMapOnSpark(SparkOperator[PythonMap]):
    """A struct for each call, and of it the two columns."""

    def frame(self, frames: Frames, node: PythonMap) -> DataFrame:
        rows = frames.of(node.input)
        passed = rows.columns
        made = [_called(rows, call).alias(f"p{i}") for i, call in enumerate(node.python_calls)]
        answers = rows.select("*", *made)
        own = [
            answers[f"p{i}"][part].alias(f"c{node.width + COLUMNS_OF_CALL * i + at}")
            for i in range(len(node.python_calls))
            for at, part in enumerate((VALUE, GIVEN))
        ]
        return answers.select(*(answers[name] for name in passed), *own)

    def refusals(self, node: PythonMap) -> Iterator[Diagnostic]:
        """Before Spark starts: its workers run what the driver has read, and cannot tell whose."""
        for call in node.python_calls:
            if call.code.made is not None:
                continue
            try:
                text = read_text(check_code(Path(call.code.file)))
            except OSError as error:
                yield refused(f"{call.name} is not run: {error}", call.span)
                continue
            if text != call.code.text:
                message = f"{call.name} is not run: {call.code.file} has changed since it was read"
                yield refused(message, call.span)

    def lines(self, plan: Plan, node: PythonMap, times: Times) -> Lines:
        for call in node.python_calls:
            yield "arrow_udf", expression_text(call)


def _called(rows: DataFrame, call: PythonCall) -> Column:
    """Not deterministic to Spark, which would else move it and call it for rows of other places."""
    types = tuple(arrow_type(e.type) for e in call.arguments)
    type_ = f"struct<{VALUE}: {SPARK_TYPE[call.type]}, {GIVEN}: boolean>"
    function = F.arrow_udf(answering(batch_call(call), types), type_).asNondeterministic()
    columns = [rows[f"c{_index(argument)}"] for argument in call.arguments]
    found: Column = function(*columns)
    return found


def _index(argument: object) -> int:
    assert isinstance(argument, ColumnRef)
    return argument.index

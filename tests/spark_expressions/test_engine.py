# SPDX-License-Identifier: Apache-2.0
"""The engine's answers for the expressions that Spark is asked: the reference's, so Spark's."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow
import pytest

pytest.importorskip("pyspark")

from gigastream.arrow_schema import arrow_schema
from gigastream.gsql.source import SourceFile
from gigastream.plan import Plan, plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.sessions.high_session import HighSession
from tests.spark_expressions.inputs import INNER, INNER_NAME, Cell, rows
from tests.spark_expressions.reference import NO_VALUE, Outcome, assert_same, expected
from tests.spark_expressions.test_extremes import EXPRESSIONS

NOTHING = -(1 << 63)
PARTS = 5


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_engine(part: int) -> None:
    texts = EXPRESSIONS[part::PARTS]
    data = rows()
    assert_same(texts, data, expected(texts, data), _outcomes(texts, data))


def _outcomes(texts: Sequence[str], data: Sequence[dict[str, Cell]]) -> list[list[Outcome]]:
    plan = _plan(texts)
    found: list[list[Outcome]] = [[NO_VALUE] * len(data) for _ in texts]
    with HighSession(plan, ["default"]) as session:
        batch = _batch(plan, data)
        session.push(INNER_NAME, "default", batch, [NOTHING] * batch.num_columns)
        session.end(INNER_NAME, "default")
        for event in session.batches():
            row_numbers, values = event.batch.to_arrow().columns
            outcomes = found[int(event.query.removeprefix("q"))]
            for at, value in zip(row_numbers.to_pylist(), _cells(values), strict=True):
                outcomes[at] = value
    return found


def _plan(texts: Sequence[str]) -> Plan:
    """A query for each expression, beside the number of the row, which stands in `time`."""
    outer = [
        f"DEFINE {{ query_name q{index}; }} SELECT time, {text} AS r FROM {INNER_NAME}"
        for index, text in enumerate(texts)
    ]
    source = SourceFile("test", ";\n".join([INNER, *outer]))
    return plan_queries(check_texts(QueryTexts((source,))).queries)


def _batch(plan: Plan, data: Sequence[dict[str, Cell]]) -> pyarrow.RecordBatch:
    schema = arrow_schema(plan.low[0].schema)
    numbered = [{"time": number, **row} for number, row in enumerate(data)]
    columns = [pyarrow.array([row[f.name] for row in numbered], f.type) for f in schema]
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _cells(values: pyarrow.Array) -> list[Cell]:
    if pyarrow.types.is_timestamp(values.type):
        values = values.cast("int64")
    cells: list[Cell] = values.to_pylist()
    return cells

# SPDX-License-Identifier: Apache-2.0
"""VAR and STDDEV of whole numbers: the exact answer, rounded, in a state that does not grow."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from gigastream.gsql.types import Type
from gigastream.plan.accumulators import Accumulator
from spark_sink.aggregates import accumulator_column
from spark_sink.expressions.values import SPARK_TYPE
from spark_sink.moments import variance
from tests.spark_expressions.evaluation import ansi_mode

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_TIME = 1_795_248_000_123_456_789
_CASES: dict[str, tuple[Type, list[list[int]]]] = {
    "times": (Type.TIMESTAMP, [[_TIME, _TIME + 1, _TIME + 5], [_TIME + 7], [_TIME - 1000]]),
    "equal": (Type.ULLONG, [[2**64 - 3] * 3, [2**64 - 3]]),
    "large": (Type.ULLONG, [[2**64 - 1, 2**64 - 2], [2**63, 2**63 + 1], [2**64 - 1]]),
    "far": (Type.LLONG, [[-(2**63), -(2**63) + 9], [2**63 - 1], [0, 1]]),
    "across": (Type.LLONG, [[2**32 - 1, 2**32], [-1, 0], [-(2**32), 2**33]]),
    "small": (Type.INT, [[-5, 3, 2**31 - 1], [-(2**31)]]),
    "one": (Type.UINT, [[7]]),
    "none": (Type.UINT, []),
}


def _partial(values: Sequence[int]) -> tuple[int, ...]:
    """A slot's row: of differences from its first value, as the engine sends it."""
    origin = values[0]
    squares = sum((value - origin) ** 2 for value in values)
    total = sum(value - origin for value in values)
    return len(values), origin, total, squares % 2**64, squares >> 64


def _expected(slots: Sequence[Sequence[int]]) -> float | None:
    values = [Fraction(value) for slot in slots for value in slot]
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return float(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _answer(spark: SparkSession, rows: Sequence[Any], types: Sequence[str], type_: Type) -> Any:
    schema = ", ".join(f"x{place} {name}" for place, name in enumerate(types))
    frame = spark.createDataFrame(rows, schema)
    partial = len(types) > 1
    sums = accumulator_column(
        _accumulator(type_), [frame[n] for n in frame.columns], partial=partial
    )
    return frame.groupBy().agg(sums.alias("a")).select(variance(_column("a"), type_)).first()[0]


def _column(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(name)


def _accumulator(type_: Type) -> Accumulator:
    kind = "moments_unsigned" if type_.is_unsigned else "moments_signed"
    return Accumulator(kind, None, type_)


def _partial_types(type_: Type) -> list[str]:
    ullong = SPARK_TYPE[Type.ULLONG]
    return [ullong, SPARK_TYPE[type_], "bigint", ullong, ullong]


def _as(name: str, value: int) -> Any:
    from decimal import Decimal

    return Decimal(value) if name.startswith("decimal") else value


def _rows(rows: Sequence[Sequence[int]], types: Sequence[str]) -> list[tuple[Any, ...]]:
    return [tuple(_as(n, v) for n, v in zip(types, row, strict=True)) for row in rows]


@pytest.mark.parametrize("mode", ["true", "false"])
@pytest.mark.parametrize("name", _CASES)
def test_what_slots_hold_is_merged_to_the_last_digit(
    spark: SparkSession, name: str, mode: str
) -> None:
    type_, slots = _CASES[name]
    types = _partial_types(type_)
    rows = _rows([_partial(slot) for slot in slots], types)
    with ansi_mode(spark, mode):
        found = _answer(spark, rows, types, type_)
    _assert_close(found, _expected(slots))


@pytest.mark.parametrize("name", _CASES)
def test_plain_rows_are_the_same(spark: SparkSession, name: str) -> None:
    type_, slots = _CASES[name]
    types = [SPARK_TYPE[type_]]
    rows = _rows([[value] for slot in slots for value in slot], types)
    _assert_close(_answer(spark, rows, types, type_), _expected(slots))


def test_many_slots_of_many_values(spark: SparkSession) -> None:
    made = random.Random(6)
    slots = [
        [_TIME + made.randrange(10 ** made.randrange(1, 10)) for _ in range(made.randrange(1, 9))]
        for _ in range(500)
    ]
    types = _partial_types(Type.TIMESTAMP)
    rows = _rows([_partial(slot) for slot in slots], types)
    _assert_close(_answer(spark, rows, types, Type.TIMESTAMP), _expected(slots))


def _assert_close(found: float | None, expected: float | None) -> None:
    if expected is None or found is None:
        assert found is expected
    else:
        assert math.isclose(found, expected, rel_tol=1e-15), (found, expected)


@pytest.mark.parametrize("partial", [True, False])
def test_the_state_of_a_group_does_not_grow(spark: SparkSession, partial: bool) -> None:
    """Sums alone: whatever keeps its rows (collect_list) is an aggregate of objects to Spark."""
    types = _partial_types(Type.UINT) if partial else [SPARK_TYPE[Type.UINT]]
    frame = spark.createDataFrame([], ", ".join(f"x{at} {name}" for at, name in enumerate(types)))
    columns = [frame[name] for name in frame.columns]
    sums = accumulator_column(_accumulator(Type.UINT), columns, partial=partial)
    grouped = frame.groupBy("x0").agg(sums.alias("a"))
    plan = grouped._jdf.queryExecution().executedPlan().toString()
    assert "HashAggregate" in plan
    assert "ObjectHashAggregate" not in plan

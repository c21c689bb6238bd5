# SPDX-License-Identifier: Apache-2.0
"""The event time of a value is the base instant at which it ends.

Spark's arithmetic against Monotone.inverse, which is the engine's own.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as F

from gigastream.gsql.order.bounds import END
from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.types import Temporal
from gigastream.plan.base_time import base_times
from spark_sink.event_time import COLUMN, END_MS, METADATA, event_time, has_event_time, is_over
from tests.answers.engine import plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = (
    "time",
    "time/60",
    "0 - time/7",
    "timestamp/1000",
    "time*3 + 5",
    "time & HEX'FFFFFF00'",
    "time >> 4",
    "UMAX(time/60, time_ms/7000)",
    "(time/60 - 29000000)/5",
    "(0 - timestamp) >> 7",
    "time_ms - 5000000000000",
    "timestamp",
)
NEAR = 1 << 56
RANDOM = random.Random(20080101)
VALUES = [
    *(0, 1, -1, 5, -5, 59, 60, 61, 1_700_000_000, 28_333_333, -28_333_333, -1_700_000_000),
    *(2**31, 2**32 - 1, 2**32, 2**63 - 1, 1_700_000_000_000_000_123),
    *(RANDOM.randrange(-(2**33), 2**62) >> RANDOM.randrange(32) for _ in range(80)),
]


def test_event_times_are_the_ends_of_values(spark: SparkSession) -> None:
    functions = _functions()
    rows = spark.createDataFrame([(value,) for value in VALUES], "v bigint")
    ends = [event_time([(rows.v, (f,))]).cast("double").alias(f"f{i}") for i, f in functions]
    for row in rows.select("v", *ends).collect():
        for index, function in functions:
            found, expected = round(row[f"f{index}"] * 1000), _end_ms(function, row.v)
            if expected is None:  # centuries before the epoch: long over, however long
                assert found <= -(END - 2 * NEAR) // 1_000_000, (function.forward_text, row.v)
            else:
                assert found == expected, (function.forward_text, row.v)


def _functions() -> list[tuple[int, Monotone]]:
    plan = plan_of(f"SELECT {', '.join(f'{c} AS f{i}' for i, c in enumerate(COLUMNS))} FROM PKT")
    alternatives = base_times(plan)["query"]
    assert all(map(has_event_time, alternatives))
    return [(index, each[0]) for index, each in enumerate(alternatives)]


@pytest.mark.parametrize("steps", [2, 12, 24])
def test_a_chain_of_steps_grows_with_their_number_and_no_faster(
    spark: SparkSession, steps: int
) -> None:
    text = "time"
    for _ in range(steps // 2):
        text = f"({text}/2 + 3)"
    (function,) = base_times(plan_of(f"SELECT {text} AS t FROM PKT"))["query"][0]
    rows = spark.createDataFrame([(value,) for value in VALUES], "v bigint")
    column = event_time([(rows.v, (function,))])
    assert len(str(column)) < 10_000 + 2_000 * steps
    marked = rows.select("v", column)
    assert marked.schema[COLUMN].metadata == METADATA
    for v, end in marked.select("v", F.col(COLUMN).cast("double")).collect():
        found, expected = round(end * 1000), _end_ms(function, v)
        if expected is None:
            assert found <= -(END - 2 * NEAR) // 1_000_000, v
        else:
            assert found == expected, v


def _end_ms(function: Monotone, value: int) -> int | None:
    held = -value if function.temporal is Temporal.DECREASING else value
    end = function.inverse(min(held + 1, END))
    if end >= END - NEAR:
        return END_MS
    return None if end <= NEAR - END else -(-end // 1_000_000)


INSTANTS = (0, 1, 59_999, 60_000, 1_700_000_000_000, 1_700_000_000_123, -7_000, 9_000_000_000_000)


def test_a_value_is_over_where_its_event_time_is_reached(spark: SparkSession) -> None:
    """Comparing with numbers says the same as the instant that would be computed of each row."""
    functions = dict(_functions())
    ways = [(f,) for f in functions.values()] + [(functions[0], functions[1])]
    rows = spark.createDataFrame([(value,) for value in VALUES], "v bigint")
    pairs = [(way, ms) for way in ways for ms in INSTANTS]
    said = [
        is_over([(rows.v, way)], ms * 10**6).alias(f"o{n}") for n, (way, ms) in enumerate(pairs)
    ]
    ends = [
        (event_time([(rows.v, way)]) <= F.timestamp_millis(F.lit(ms).cast("bigint"))).alias(f"e{n}")
        for n, (way, ms) in enumerate(pairs)
    ]
    for row in rows.select("v", *said, *ends).collect():
        for n, (way, ms) in enumerate(pairs):
            assert row[f"o{n}"] == row[f"e{n}"], (row.v, [f.forward_text for f in way], ms)


def test_any_of_several_times_ends_a_group(spark: SparkSession) -> None:
    seconds = dict(_functions())[0]
    rows = spark.createDataFrame([(7, 9)], "a bigint, b bigint")
    values = [(rows.a, (seconds,)), (rows.b, (seconds,))]
    asked = [is_over(values, ns).alias(f"o{n}") for n, ns in enumerate((8 * 10**9 - 1, 8 * 10**9))]
    assert tuple(rows.select(*asked).collect()[0]) == (False, True)
    assert rows.select(is_over([], 10**18).alias("o")).collect()[0].o is False


def test_an_inverse_that_doubles_with_each_query_is_not_written_down() -> None:
    texts = ["SELECT time AS t FROM PKT"]
    for n in range(1, 40):
        read = "query" if n == 1 else f"q{n - 1}"
        texts.append(f"DEFINE {{ query_name q{n}; }} SELECT UMAX(t, t - 1) AS t FROM {read}")
    times = base_times(plan_of("; ".join(texts)))
    found = [has_event_time(times[f"q{n}"][0]) for n in range(1, 40)]
    assert found == [n < 7 for n in range(1, 40)]


def test_a_value_of_two_streams_ends_with_the_later(spark: SparkSession) -> None:
    minutes, halves = (dict(_functions())[index] for index in (1, 0))
    rows = spark.createDataFrame([(7,)], "v bigint")
    both = rows.select(event_time([(rows.v, (minutes, halves))]).cast("bigint").alias("e"))
    either = rows.select(
        event_time([(rows.v, (minutes,)), (rows.v, (halves,))]).cast("bigint").alias("e")
    )
    assert both.collect()[0].e == 480
    assert either.collect()[0].e == 8

# SPDX-License-Identifier: Apache-2.0
"""The ends of values lie near their lines, and rows of joins are not told to be over too early."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("pyspark")

from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.types import Temporal
from gigastream.plan.base_time import Alternatives, base_times
from gigastream.plan.operators.join import Join
from spark_sink.lateness import relation_times
from spark_sink.lines import line_of
from spark_sink.operators import column_times
from tests.answers.engine import plan_of

FORMS = (
    "time",
    "time/60",
    "time*3 + 5",
    "0 - time/7",
    "time >> 4",
    "(0 - timestamp) >> 7",
    "time & HEX'FFFFFF00'",
    "UMAX(time, time_ms/1000 - 7)",
    "UMIN(time/60, time_ms/60000)",
    "(time/60 - 29000000)/5",
    "time_ms/7*2 - 1",
    "timestamp",
)
RANDOM = random.Random(20080830)
START_NS, SECOND_NS = 1_700_000_000 * 10**9, 10**9
BASES_NS = [START_NS + RANDOM.randrange(10**12) for _ in range(200)]


@pytest.mark.parametrize("form", FORMS)
def test_ends_lie_between_the_two_lines(form: str) -> None:
    (ways,) = _times(f"SELECT {form} AS t FROM PKT")
    line = line_of(ways)
    assert line is not None
    for function in ways:
        for base_ns in BASES_NS:
            value = function.forward(base_ns)
            offset = function.inverse(value) - line.rate * value
            assert line.least <= offset <= line.most
            lasts = function.inverse(value + 1) - function.inverse(value)
            assert line.shortest <= lasts <= line.granule


def test_what_stands_still_has_no_line() -> None:
    (ways,) = _times("SELECT UMAX(time, 1700000100) AS t FROM PKT")
    assert line_of(ways) is None


def _times(text: str) -> tuple[Alternatives, ...]:
    plan = plan_of(text)
    return base_times(plan)[plan.outputs[0].name]


# A join whose rows are known by their times alone: `late` is what is above it, as Spark sees it

CONDITIONS = (
    "a.time = b.time",
    "a.time/60 = b.time/60",
    "a.time/10 = b.time/10 + 3",
    "2*a.time = b.time_ms/500",
    "a.time >= b.time - 2 AND a.time < b.time + 3",
    "b.timestamp - a.timestamp BETWEEN -40 AND 1500000000",
    "b.time > a.time AND b.time < a.time + 4",
    "0 - a.time/5 = 0 - b.time/5",
    "-a.time <= -b.time + 1 AND -a.time >= -b.time - 3",
    "a.time_ms/100 >= b.time_ms/100 - 3 AND b.time_ms/100 + 3 >= a.time_ms/100",
)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_column_of_a_joined_row_is_over_while_the_row_is_held(condition: str) -> None:
    shown = ", ".join(
        f"{side}.{name} AS {side}_{name}"
        for side in "ab"
        for name in ("time", "time_ms", "timestamp")
    )
    plan = plan_of(f"SELECT {shown} FROM TCP a, UDP b WHERE {condition} AND a.ttl = b.ttl")
    (join,) = (node for node in plan.nodes if isinstance(node, Join))
    times = column_times(plan)
    inputs = [times[child.name] for child in join.inputs]
    for base_ns in BASES_NS:
        for port in (0, 1):
            held_until = _held_until(join, port, base_ns, inputs)
            for at, column in enumerate(join.columns):
                place = column.places[port]
                if place is not None:
                    (own,) = inputs[port][place]
                    over = max(f.inverse(own.forward(base_ns) + 1) for f in times[join.name][at])
                    assert over >= held_until, (condition, column.name)


def _held_until(join: Join, port: int, base_ns: int, inputs: list[tuple[Alternatives, ...]]) -> int:
    """When the last row that it matches can have come."""
    (pair,) = join.pairs
    ((own,), (other,)) = (relation_times(pair, inputs)[side] for side in (port, 1 - port))
    value = own.forward(base_ns)
    return max(own.inverse(value + 1), other.inverse(value + max(0, pair.reach[port]) + 1))


def test_groups_of_an_equated_window_wait_for_nothing() -> None:
    plan = plan_of("""
        SELECT tb, count(*) AS n FROM x a LEFT JOIN y b ON a.tb = b.tb GROUP BY a.tb AS tb;
        DEFINE { query_name x; visibility internal; }
        SELECT tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb;
        DEFINE { query_name y; visibility internal; }
        SELECT tb, count(*) AS n FROM UDP GROUP BY time/60 AS tb""")
    (function,) = column_times(plan)["query"][0]
    assert _end_s(function, 100) == 101 * 60
    assert function.temporal is Temporal.INCREASING


def test_groups_of_a_band_wait_as_long_as_its_rows() -> None:
    plan = plan_of("""
        SELECT t, count(*) AS n FROM TCP a, UDP b
        WHERE a.time >= b.time - 2 AND a.time < b.time + 3 GROUP BY a.time AS t""")
    (function,) = column_times(plan)["query"][0]
    assert _end_s(function, 100) == 103


def _end_s(function: Monotone, value: int) -> float:
    return function.inverse(value + 1) / SECOND_NS

# SPDX-License-Identifier: Apache-2.0
"""Joins as plans: what feeds them, what they ask for, and whose state would have no bound."""

from __future__ import annotations

import pytest
from plan.planned import node, planned

from gigastream.gsql.diagnostics import GsqlError
from gigastream.plan.base_time import base_times
from gigastream.plan.operators.join import Join
from gigastream.plan.operators.low_node import LowNode

HALVES = "; DEFINE { query_name half; } SELECT 2*time AS tr, time AS ts, len FROM UDP"
SECONDS = "b -> min(floor(b/1000000000), 4294967295)"


def join(text: str, name: str = "query") -> Join:
    found = node(planned(text), name)
    assert isinstance(found, Join)
    return found


# Unrelated clocks


@pytest.mark.parametrize(
    "condition",
    [
        "a.time = b.time_ms",
        "a.time = 2*b.time",
        "a.time/60 = b.time",
        "a.time >= b.time_ms - 5 AND a.time <= b.time_ms + 5",
        "a.time_ms = b.time*1000 + b.time_ms",
        "200*a.time = 201*b.time",
        "a.time/200 = b.time/201",
        "UMAX(a.time, 3000000000) = b.time",
        "UMAX(a.time, 2*a.time - 3000000000) = b.time",
    ],
)
def test_times_of_unrelated_clocks_are_refused_with_their_place(condition: str) -> None:
    text = f"SELECT a.len FROM TCP a, UDP b WHERE {condition}"
    with pytest.raises(GsqlError) as failure:
        planned(text)
    (found,) = failure.value.diagnostics
    assert found.code == "unrelated-clocks"
    assert "are of unrelated clocks, so the state of the join has no bound" in found.message
    assert found.span.text == condition.partition(" AND ")[0].removesuffix(" - 5")


@pytest.mark.parametrize(
    "condition",
    [
        "a.time = b.time_ms/1000",
        "a.time_ms = b.time*1000",
        "a.time = b.time + 100000",
        "a.time/60 + 1 = b.time_ms/60000",
        "a.time/2592000 = b.time/2592000",
        "-a.time = 5 - b.time",
        "a.time = b.time_ms AND a.time = b.time",
        "200*a.time = 200*b.time",
        "a.time/200 = b.time_ms/200000",
        "a.time + a.time = 2*b.time",
        "UMAX(a.time, 9) = UMIN(b.time, 2*b.time)",
        "UMIN(a.time, a.time - 5) = (b.time >> 3)*8",
        "time_bucket('1 min', a.timestamp) = time_bucket('1 min', b.timestamp)",
    ],
)
def test_times_of_one_clock_are_not(condition: str) -> None:
    planned(f"SELECT a.len FROM TCP a, UDP b WHERE {condition}")


def test_a_time_that_stands_still_is_said_to() -> None:
    for side in ("UMIN(a.time, 100)", "a.time >> 32"):
        with pytest.raises(GsqlError, match="stands still as time goes on, so the state of") as no:
            planned(f"SELECT a.len FROM TCP a, UDP b WHERE {side} = b.time")
        assert no.value.diagnostics[0].message.startswith(side)


def test_clocks_are_followed_through_queries() -> None:
    planned(f"SELECT a.len FROM half a, TCP b WHERE a.tr = 2*b.time{HALVES}")
    with pytest.raises(GsqlError, match="unrelated clocks"):
        planned(f"SELECT a.len FROM half a, half b WHERE a.tr = b.ts{HALVES}")


@pytest.mark.parametrize("reach", [1795252254, 4294967295])
def test_a_band_beyond_the_range_of_time_is_not_said_to_be_of_two_clocks(reach: int) -> None:
    with pytest.raises(GsqlError, match="reaches beyond what they hold, so the state of the join"):
        planned(
            f"SELECT a.len FROM TCP a, UDP b WHERE a.time BETWEEN b.time - 1 AND b.time + {reach}"
        )


# What feeds it


def test_a_side_carries_what_is_read_of_it() -> None:
    found = join("SELECT a.len FROM TCP a, UDP b WHERE a.time = b.time AND a.srcIP = b.destIP")
    names = [[column.name for column in side.schema.columns] for side in found.inputs]
    assert names == [["time", "srcIP", "len"], ["time", "destIP"]]
    assert [sorted(found.columns_read(port)) for port in (0, 1)] == [[0, 1, 2], [0, 1]]


def test_a_source_joined_with_itself_is_one_low_selection() -> None:
    same = "a.time = b.time AND a.srcPort = b.destPort"
    found = join(f"SELECT a.len FROM TCP a, TCP b WHERE {same} AND a.len > 9 AND b.len > 9")
    assert found.left is found.right
    found = join(f"SELECT a.len FROM TCP a, TCP b WHERE {same} AND a.syn")
    assert found.left is not found.right


def test_a_condition_of_one_side_is_asked_below_the_border() -> None:
    plan = planned("SELECT a.len FROM TCP a, UDP b WHERE a.time = b.time AND b.len > 100")
    (low,) = (item for item in plan.low if item.signature)
    assert low.name == "query_b"


# What it asks for


def needs(text: str) -> list[list[str]]:
    plan = planned(text)
    found = next(item for item in plan.nodes if isinstance(item, Join))
    sides = [side for side in found.inputs if isinstance(side, LowNode)]
    return [[function.forward_text for function in side.needs] for side in sides]


def test_low_selections_announce_the_times_that_a_join_relates() -> None:
    text = "SELECT a.len FROM TCP a, UDP b WHERE a.time/5 = b.time_ms/5000"
    assert needs(text) == [[f"{SECONDS}/5"], ["b -> floor(b/1000000)/5000"]]


def test_what_grows_with_every_packet_is_not_announced() -> None:
    text = (
        "SELECT a.time AS ts FROM TCP a, UDP b "
        "WHERE a.timestamp BETWEEN b.timestamp AND b.timestamp + 5"
    )
    assert needs(text) == [[], []]


def test_what_is_grouped_by_above_is_asked_of_its_side() -> None:
    text = "SELECT m FROM TCP a, UDP b WHERE a.time = b.time GROUP BY a.time_ms/60000 AS m"
    assert needs(text) == [[SECONDS, "b -> floor(b/1000000)/60000"], [SECONDS]]


@pytest.mark.parametrize(
    ("groups", "gives"),
    [
        ("a.time, b.time", True),
        ("UMAX(a.time, b.time) AS later", True),
        ("UMAX(a.time, b.time)/60 AS later", True),
        ("a.time", False),
        ("a.time, b.len", False),
    ],
)
def test_a_joint_bound_is_given_where_somebody_asks(groups: str, gives: bool) -> None:
    band = "a.time >= b.time - 5 AND a.time <= b.time + 5"
    for kind, is_inner in (("INNER_JOIN", True), ("LEFT_OUTER_JOIN", False)):
        text = f"SELECT count(*) {kind} FROM TCP a, UDP b WHERE {band} GROUP BY a.time/9, {groups}"
        assert join(text, "query_join").gives_joint is (gives and is_inner)


# Its columns


def test_a_kept_side_s_times_stay_temporal_and_a_padded_one_s_do_not() -> None:
    columns = "a.time_ms AS x, b.time_ms AS y, time AS z"
    text = f"SELECT {columns} FROM TCP a {{}} JOIN UDP b ON a.time = b.time"
    expected = {
        "INNER": [True, True, True],
        "LEFT": [True, False, True],
        "RIGHT": [False, True, True],
        "FULL": [False, False, True],
    }
    for kind, temporal in expected.items():
        found = join(text.format(kind))
        assert [c.temporal.is_temporal for c in found.schema.columns] == temporal
        assert [c.nullable for c in found.schema.columns] == [not each for each in temporal]


def test_base_times_are_those_of_the_sides() -> None:
    plan = planned("SELECT time AS t, a.len OUTER_JOIN FROM TCP a, UDP b WHERE a.time = b.time")
    times = base_times(plan)["query"]
    assert [[f.forward_text for f in column] for column in times] == [[SECONDS], []]

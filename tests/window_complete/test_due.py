# SPDX-License-Identifier: Apache-2.0
"""What an output needs between two punctuations: asked of the functions, held to every value."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("pyspark")

from gigastream.gsql.order.bounds import NONE
from gigastream.plan.base_time import base_times
from gigastream.plan.operators.join import Join
from gigastream.spool import END, NOTHING, Entry
from gigastream.spool.entry import Ranges
from spark_sink.offsets import END_MS
from spark_sink.operators import column_times
from spark_sink.operators.join_sides import Ways, ways_out
from spark_sink.window_complete.due import Due
from tests.answers.engine import plan_of
from tests.answers.stream_maker import BANDS, EQUALITIES

MINUTE_MS, SECOND_NS = 60_000, 10**9
MINUTES = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb"
CHAIN = """SELECT m, max(n) AS most FROM sevens GROUP BY s/60 AS m;
    DEFINE { query_name sevens; visibility internal; }
    SELECT s, count(*) AS n FROM PKT GROUP BY time/7*7 AS s"""
TOP = MINUTES.replace("GROUP BY time/60 AS tb", "GROUP BY time/60 AS tb, len ORDER BY n LIMIT 3")
ALL = "DEFINE { no_temporal_aggr true; } SELECT count(*) AS n FROM PKT"
SLIDE = "SELECT window_end, count(*) AS n FROM PKT [RANGE 90 s, SLIDE 1 min, WA time]"
PAIRS = "SELECT a.time, b.len FROM TCP a, UDP b WHERE a.time = b.time"
PACKETS = "SELECT time, len FROM PKT"
MIXED = f"""SELECT tb, n FROM counts UNION lengths;
    DEFINE {{ query_name counts; visibility internal; }} {MINUTES};
    DEFINE {{ query_name lengths; visibility internal; }}
    SELECT time/60 AS tb, CAST(len AS ullong) AS n
    FROM PKT"""


def due_of(text: str) -> Due:
    plan = plan_of(text)
    return Due(plan, plan.outputs[0])


def entry(ranges: Ranges | None) -> Entry:
    return Entry("segment", 0, 1, 1, 0, (NOTHING,), NOTHING, 0, 0, 0, ranges=ranges)


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        *((text, True) for text in (MINUTES, CHAIN, TOP, ALL, SLIDE, PAIRS)),
        *((text, False) for text in (PACKETS, MIXED)),
    ],
)
def test_what_is_grouped_waits_for_time(text: str, waits: bool) -> None:
    assert due_of(text).waits == waits


@pytest.mark.parametrize("text", [MINUTES, TOP])
def test_a_window_closes_with_its_last_moment_and_not_before(text: str) -> None:
    due = due_of(text)
    at = 1_000_020 * MINUTE_MS
    assert not due.closes(at, at + MINUTE_MS - 1)
    assert due.closes(at, at + MINUTE_MS)
    assert due.closes(at + 1, at + MINUTE_MS)
    assert due.closes(None, at)
    assert due.closes(at, END_MS)


def test_what_has_no_window_closes_with_the_stream_alone() -> None:
    due = due_of(ALL)
    assert not due.closes(0, 10**13)
    assert due.closes(0, END_MS)
    assert due.needed_from(10**12) == {"query_low": NONE}


@pytest.mark.parametrize("text", [MINUTES, TOP])
def test_rows_of_the_open_window_are_needed_again(text: str) -> None:
    (since,) = due_of(text).needed_from(1_000_020 * MINUTE_MS + 59_999).values()
    assert since == 1_000_020 * 60 * SECOND_NS


def test_a_window_of_windows_begins_with_the_first_of_them() -> None:
    """Seven seconds that began before the minute did are the minute's before."""
    due = due_of(CHAIN)
    minute, first = 60_000_000, 60_000_003
    assert minute % 60 == first % 7 == 0
    for second in (first, minute + 59):
        assert due.needed_from(second * 1000) == {"sevens_low": first * SECOND_NS}
    (before,) = due.needed_from(first * 1000 - 1).values()
    assert before == (first - 63) * SECOND_NS
    assert not due.closes(minute * 1000, first * 1000 - 1)
    assert due.closes(minute * 1000, first * 1000)


GROUPS = (
    *("time/60", "time_ms/700", "0 - time/7", "time*3 + 5", "UMAX(time/60, time_ms/7000)"),
    *("timestamp/1000", "(time/60 - 29000000)/5", "time & HEX'FFFFFF00'"),
)


@pytest.mark.parametrize("group", GROUPS)
def test_no_row_of_what_closes_is_left_out(group: str) -> None:
    """Any packet, any two punctuations: if its group ends between them, its segment is read."""
    text = f"SELECT g, count(*) AS n FROM PKT GROUP BY {group} AS g"
    plan = plan_of(text)
    due = Due(plan, plan.outputs[0])
    (stream,) = due.streams
    (ways, _) = base_times(plan)[stream.name]
    (function,) = ways
    draw = random.Random(group)
    ended = left_out = 0
    for _ in range(4000):
        base_ns = draw.randrange(1_700_000_000_000, 1_700_000_600_000) * 10**6 + draw.randrange(9)
        after_ms = base_ns // 10**6 + draw.randrange(-200_000, 200_000)
        until_ms = after_ms + draw.randrange(1, 200_000)
        value = function.forward(base_ns)
        end_ms = -(-function.inverse(value + 1) // 10**6)
        since = due.needed_from(after_ms)[stream.name]
        is_read = due.has_rows(stream, entry(((value, value), None)), since, until_ms)
        if after_ms < end_ms <= until_ms:
            ended += 1
            assert is_read
            assert since <= base_ns
            assert due.closes(after_ms, until_ms)
        else:
            left_out += not is_read
    assert ended > 100
    assert left_out > 100


@pytest.mark.parametrize(("length", "slide"), [(90, 60), (120, 60), (7, 3), (60, 1)])
def test_a_window_that_slides_begins_with_its_first_pane(length: int, slide: int) -> None:
    """Of the windows that are not over the first, which a row of its beginning is in."""
    text = f"SELECT window_end, count(*) AS n FROM PKT [RANGE {length} s, SLIDE {slide} s, WA time]"
    due, draw = due_of(text), random.Random(text)
    for _ in range(500):
        after_s = draw.randrange(1_700_000_000, 1_700_000_600)
        end_s = (after_s // slide + 1) * slide
        (since_ns,) = due.needed_from(after_s * 1000).values()
        assert since_ns == (end_s - length) * SECOND_NS
        assert due.closes(after_s * 1000, end_s * 1000)
        assert not due.closes(after_s * 1000, end_s * 1000 - 1)


@pytest.mark.parametrize("times", [*EQUALITIES, *BANDS])
def test_no_row_of_what_leaves_a_join_is_left_out(times: str) -> None:
    """Any two packets that match: if one is let go between two punctuations, both are read.

    A row of a kept side leaves alone if nothing matches it: what might must be there to be asked.
    """
    query = "SELECT a.time AS t, b.len FROM TCP a FULL JOIN UDP b ON " + times.format(a="a", b="b")
    plan = plan_of(query)
    join = next(node for node in plan.nodes if isinstance(node, Join))
    due, draw = Due(plan, plan.outputs[0]), random.Random(times)
    ways = ways_out(join, column_times(plan))
    matched = ended = 0
    for _ in range(20_000):
        base = [draw.randrange(1_700_000_000 * SECOND_NS, 1_700_000_600 * SECOND_NS)] * 2
        base[1] += draw.randrange(-12 * SECOND_NS, 12 * SECOND_NS)
        if not all(_matches(join, way, base) for way in ways):
            continue
        matched += 1
        until_ms = [min(_held_until_ms(join, way, port, base) for way in ways) for port in (0, 1)]
        after_ms = min(until_ms) + draw.randrange(-9000, 9000)
        leaves = [after_ms < until <= after_ms + 5000 for until in until_ms]
        if any(leaves):
            ended += 1
            assert max(due.needed_from(after_ms).values()) <= min(base)
            assert due.closes(after_ms, after_ms + 5000)
    assert matched > 100
    assert ended > 50


def _matches(join: Join, way: Ways, base: list[int]) -> bool:
    left, right = (side[0].forward(ns) for side, ns in zip(way.sides, base, strict=True))
    above, below = join.pairs[way.pair].reach
    return right - left <= above and left - right <= below


def _held_until_ms(join: Join, way: Ways, port: int, base: list[int]) -> int:
    own, other = way.sides[port][0], way.sides[1 - port][0]
    value = own.forward(base[port])
    ahead = max(0, join.pairs[way.pair].reach[port])
    ns = max(own.inverse(value + 1), other.inverse(value + ahead + 1))
    return -(-ns // 10**6)


def test_a_segment_that_does_not_say_what_it_holds_is_read() -> None:
    due = due_of(MINUTES)
    (stream,) = due.streams
    for ranges in (None, (None, None)):
        assert due.has_rows(stream, entry(ranges), END - 1, 0)

# SPDX-License-Identifier: Apache-2.0
"""Rows say whose were missing, through every operator: all that a gap concerns, and nothing else.

West says nothing from 14 s to 35 s of capture time; east goes on without it, and both together from
36 s. What is of both windows of ten seconds that lie in the gap, and of those in which it begins
and ends, lacks rows: 1, 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.engine.stepping import plan_of
from tests.engine.test_silent_pipes import Writer
from tests.engine.traffic import EPOCH_NS
from tests.live.mock_link import SECOND_NS, MockSession
from tests.live.test_liveness import Pipe

FIRST = EPOCH_NS // SECOND_NS
LIVENESS_NS = 5 * SECOND_NS
END = 120
WEST = ("west",)
TENS = "DEFINE { query_name tens; visibility internal; } "
OUT = "DEFINE { query_name out; } "
AT_THE_END = "DEFINE { query_name out; no_temporal_aggr true; } "
SIDES = """
DEFINE { query_name a; visibility internal; } SELECT time, srcPort FROM east.UDP;
DEFINE { query_name b; visibility internal; } SELECT time, srcPort FROM west.UDP;
"""
Marked = list[tuple[tuple[Any, ...], tuple[str, ...]]]


def told(
    folder: Path, text: str, batch_rows: int | None = None, flush: str | None = None
) -> Marked:
    """Rows as they come, each with who is said to be missing of it."""
    east, west = Pipe(Writer(folder / "east")), Pipe(Writer(folder / "west"))
    sources = [FileSource(name, str(folder / name)) for name in ("west", "east")]
    settings = Settings(
        slack_ns=0,
        liveness_ns=LIVENESS_NS,
        on_failure="go-on",
        batch_rows=batch_rows,
        flush=flush,
    )
    found: Marked = []
    with MockSession(plan_of(text, ("east", "west")), sources, settings) as session:

        def answer(at_s: int) -> None:
            session.set_clock(at_s * SECOND_NS)
            for event in session.events():
                rows = event.batch.to_arrow().to_pylist() if event.batch.row_count else []
                found.extend((tuple(row.values()), event.batch.missing) for row in rows)

        west.say(*range(14))
        east.say(*range(36))
        answer(0)
        east.say(36)
        answer(5)
        west.say(36)
        answer(6)
        for start in range(37, END, 10):
            west.say(*range(start, start + 10))
            east.say(*range(start, start + 10))
            answer(6)
        west.writer.end()
        east.writer.end()
        answer(6)
    return found


def by_first(rows: Marked, unit: int) -> dict[int, set[tuple[str, ...]]]:
    """By the first column, counted from the first packet on."""
    marks: dict[int, set[tuple[str, ...]]] = {}
    for (first, *_), missing in rows:
        marks.setdefault(first - FIRST // unit, set()).add(missing)
    return marks


def told_of(marks: dict[int, set[tuple[str, ...]]]) -> Iterator[tuple[int, bool]]:
    for value, names in sorted(marks.items()):
        assert len(names) == 1, f"of {value} it is said and not said"
        yield value, names == {WEST}


OF_TENS = {
    "an aggregation": "SELECT time/10 AS tb, count(*) FROM PKT GROUP BY time/10",
    "distinct": "SELECT DISTINCT time/10 AS tb FROM PKT",
    "order": "SELECT tb, srcPort, count(*) AS n FROM UDP GROUP BY time/10 AS tb, srcPort "
    "ORDER BY n LIMIT 1",
    "a selection of an aggregation": f"{TENS} SELECT tb, count(*) AS n FROM PKT GROUP BY "
    f"time/10 AS tb; {OUT} SELECT tb, n FROM tens WHERE n > 0",
    "a time beyond all bounds beside a window": "SELECT tb, tb + ULLONG(9223372036854775000) AS "
    "great, count(*) AS n FROM PKT GROUP BY time/10 AS tb",
    "the first of windows that show one": "SELECT tb, tb + ULLONG(9223372036854775000) AS great, "
    "srcPort, count(*) AS n FROM UDP GROUP BY time/10 AS tb, srcPort ORDER BY n LIMIT 1",
    "an aggregation of a selection": f"{TENS} SELECT time, len FROM PKT; "
    f"{OUT} SELECT time/10 AS tb, count(*) FROM tens GROUP BY time/10",
    "an aggregation of a merge": f"{SIDES} DEFINE {{ query_name both; visibility internal; }} "
    f"MERGE a.time : b.time FROM a, b; {OUT} "
    "SELECT time/10 AS tb, count(*) FROM both GROUP BY time/10",
    "an aggregation of an outer join": f"{SIDES} DEFINE {{ query_name j; visibility internal; }} "
    f"SELECT a.time, b.srcPort FROM a LEFT JOIN b ON a.time = b.time; {OUT} "
    "SELECT time/10 AS tb, count(*) FROM j GROUP BY time/10",
}


@pytest.mark.parametrize("batch_rows", [None, 1])
@pytest.mark.parametrize("text", OF_TENS.values(), ids=OF_TENS)
def test_windows_in_the_gap_are_marked(tmp_path: Path, text: str, batch_rows: int | None) -> None:
    rows = told(tmp_path, text, batch_rows)
    marks = dict(told_of(by_first(rows, 10)))
    assert set(range(12)) <= set(marks)
    assert {tb for tb, is_marked in marks.items() if is_marked} == {1, 2, 3}


@pytest.mark.parametrize("flush", FLUSH_POLICIES)
def test_groups_that_stay_below_keep_the_mark(tmp_path: Path, flush: str) -> None:
    """The bound of what stays in the low level's table comes long after the gap."""
    text = "SELECT time/10 AS tb, srcPort, count(*) FROM UDP GROUP BY time/10, srcPort"
    marks = dict(told_of(by_first(told(tmp_path, text, flush=flush), 10)))
    assert {1, 2, 3} <= {tb for tb, is_marked in marks.items() if is_marked} <= {1, 2, 3, 4, 5}


@pytest.mark.parametrize("counted", ["*", "DISTINCT len"])
@pytest.mark.parametrize(("range_", "slide"), [(30, 10), (60, 10), (25, 10), (20, 20)])
def test_every_window_that_contains_the_gap_is_marked(
    tmp_path: Path, range_: int, slide: int, counted: str
) -> None:
    text = (
        f"SELECT wid_start, count({counted}) AS n FROM IPV4 "
        f"[RANGE {range_}, SLIDE {slide}, WA time] GROUP BY srcIP"
    )
    rows = told(tmp_path, text)
    marks = {(w + 1) * slide - range_ - FIRST: missing == WEST for (w, _), missing in rows}
    for start, is_marked in marks.items():
        if start < 36 and start + range_ > 14:
            assert is_marked, f"[{start}, {start + range_})"
        elif start >= 40 + slide or start + range_ <= 10:
            assert not is_marked, f"[{start}, {start + range_})"
    assert set(marks.values()) == {True, False}


def test_minutes_of_marked_windows_are_marked(tmp_path: Path) -> None:
    """They are of a coarser clock, whose bound stands still while the gap begins and ends."""
    text = f"""{TENS} SELECT tb, count(*) AS n FROM PKT GROUP BY time/10 AS tb;
        {OUT} SELECT half, sum(n) FROM tens GROUP BY tb/5 AS half"""
    marks = dict(told_of(by_first(told(tmp_path, text), 50)))
    assert {half for half, is_marked in marks.items() if is_marked} == {0}
    assert {1, 2} <= set(marks)


def test_it_ends_where_no_column_is_temporal(tmp_path: Path) -> None:
    text = "SELECT srcPort, count(*) AS n FROM UDP GROUP BY time/10, srcPort"
    rows = told(tmp_path, text)
    assert [missing for _, missing in rows] == [(), WEST, WEST, WEST, *[()] * (len(rows) - 4)]
    assert len(rows) > 10


@pytest.mark.parametrize(
    "text",
    ["SELECT srcPort FROM UDP", "SELECT time + ULLONG(9223372036854775000) AS great FROM UDP"],
    ids=["none", "beyond all bounds"],
)
def test_it_ends_for_rows_without_a_time(tmp_path: Path, text: str) -> None:
    rows = told(tmp_path, text)
    assert rows[0][1] == () == rows[-1][1]
    assert WEST in {missing for _, missing in rows}


def test_an_answer_over_all_rows_is_marked(tmp_path: Path) -> None:
    """Whether it reads what is temporal or not."""
    text = f"{TENS} SELECT srcPort FROM UDP; {AT_THE_END} SELECT count(*) AS n FROM tens"
    rows = told(tmp_path, text)
    assert [missing for _, missing in rows] == [WEST]


def test_an_answer_over_all_rows_of_windows_without_a_row_is_marked(tmp_path: Path) -> None:
    text = f"""{TENS} SELECT srcPort, count(*) AS n FROM UDP GROUP BY time/10, srcPort
        HAVING count(*) > 1000; {AT_THE_END} SELECT count(*) AS n FROM tens"""
    assert told(tmp_path, text) == [((0,), WEST)]


def test_an_answer_at_the_end_over_times_beyond_all_bounds_is_marked(tmp_path: Path) -> None:
    """The mark has ended long before for the rows that it is made of."""
    great = 9223372036854775000
    text = f"""{TENS} SELECT time + ULLONG({great}) AS great FROM PKT;
        {AT_THE_END} SELECT at, count(*) AS n FROM tens GROUP BY great - ULLONG({great}) AS at"""
    rows = told(tmp_path, text)
    assert {missing for _, missing in rows} == {WEST}

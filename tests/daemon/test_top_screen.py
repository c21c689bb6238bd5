# SPDX-License-Identifier: Apache-2.0
"""What top shows, from statuses a second apart."""

from __future__ import annotations

import io

import msgspec
import pytest
from rich.console import Console

from gigastream.cli.top_screen import History, NewestRows, screen, short, sparkline
from gigastream.daemon.messages import (
    CaptureReport,
    OutputStatistics,
    RingStatistics,
    SetStatistics,
    StatusAnswer,
)
from gigastream.engine.statistics import LftaStatistics, SourceStatistics

SECOND_NS = 1_000_000_000


def status(second: int, packets: int, rows: int, incarnation: int = 0) -> StatusAnswer:
    source = SourceStatistics(
        *("eth0", "eth0", packets, 0, 0, 0, 0, packets, 0, 100 * packets, 0, 0, None),
        kernel_dropped=packets // 10,
        link="up",
    )
    queries = SetStatistics(
        name="mine",
        queries=("talkers",),
        lftas=(LftaStatistics("talkers_low", "eth0", 0, 0, 3, 0, 1, 7),),
        operators=(),
        outputs=(OutputStatistics(format="csv", path="x", lost=5),),
        rows={"talkers": rows},
        newest_ns={"talkers": (second - 3) * SECOND_NS},
    )
    report = CaptureReport(
        incarnation=incarnation,
        at_ns=second * SECOND_NS,
        sources=(source,),
        sets=(queries,),
        rings=(RingStatistics(label="eth0", blocks=4, used=1),),
    )
    return StatusAnswer(
        version="9.9",
        started_ns=0,
        incarnation=incarnation,
        restarts=incarnation,
        capture_pid=42,
        sets={},
        report=report,
    )


def shown(history: History, newest: NewestRows, height: int = 24, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, height=height)
    console.print(screen(history, newest, height, width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (123456, "123k"), (2.5e9, "2.5G"), (1e18, "1000P")],
)
def test_numbers_are_short(number: float, text: str) -> None:
    assert short(number) == text


def test_a_sparkline_ends_at_the_newest() -> None:
    assert sparkline([0, 1, 2, 4]) == "▁▂▄█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline(range(100), 3) == "███"


def test_counters_go_on_after_a_crash() -> None:
    """The capture process of now has read little, and answered less."""
    before, after = status(10, 50_000, 7_000), status(12, 10, 1, incarnation=1)
    assert before.report is not None
    sums = msgspec.structs.replace(
        after, sources=before.report.sources, set_totals=before.report.sets
    )
    history = History()
    history.look(sums)
    link, queries = (
        next(line.split() for line in shown(history, NewestRows()).splitlines() if name in line)
        for name in ("eth0", "mine.talkers")
    )
    assert link[4] == "5.0k"
    assert queries[-2] == "7.0k"


def test_rates_are_of_the_time_between_two_looks() -> None:
    history = History()
    history.look(status(10, 10_000, 5))
    history.look(status(12, 30_000, 9))
    text = shown(history, NewestRows())
    assert "11.0k" in text  # (20,000 read + 2,000 dropped) in two seconds
    assert "8.0M" in text
    assert "25 %" in text  # of the ring, and the selectivity
    assert "3.0 s" in text


def test_of_what_has_gone_nothing_is_remembered() -> None:
    """Sets come and go for months."""
    history = History()
    history.look(status(10, 10, 5))
    assert set(history.rates) == {"source:eth0", "query:mine.talkers"}
    now = history.now
    assert now is not None
    assert now.report is not None
    report = msgspec.structs.replace(now.report, sets=())
    history.look(msgspec.structs.replace(now, report=report))
    assert set(history.rates) == {"source:eth0"}


@pytest.mark.parametrize(("width", "bars"), [(200, 30), (120, 30), (80, 13), (70, 0)])
def test_the_course_gives_way_to_the_figures(width: int, bars: int) -> None:
    history = History()
    for second in range(30):
        history.look(status(second, 1_000_000 * second, 5_000 * second))
    lines = shown(history, NewestRows("mine.talkers"), width=width).splitlines()
    queries = next(line for line in lines if line.startswith("mine.talkers"))
    figures = [word for word in queries.split() if not set(word) & set("▁▂▃▄▅▆▇█")]
    assert figures == ["mine.talkers", "25.0", "%", "7", "0B", "3.0", "s", "5", "5.0k", "145k"]
    assert sum(queries.count(bar) for bar in "▁▂▃▄▅▆▇█") == bars
    assert max(map(len, lines)) <= width
    assert "   " * 5 not in queries  # columns stand beside each other, however wide it is


@pytest.mark.parametrize("width", [120, 80, 50])
def test_times_are_short_and_whole(width: int) -> None:
    history = History()
    history.look(status(10, 10, 5))
    columns = ("tb", "name", "ends", "packets")
    newest = NewestRows("mine.talkers", columns, frozenset({3}), frozenset({0, 2}))
    for second in range(3):
        times = [f"2026-11-25T14:{minute}:0{second}.000000000Z" for minute in (30, 31)]
        newest.rows.append((times[0], "a long name of a talker " * 3, times[1], f"1234{second}"))
    lines = shown(history, newest, width=width).splitlines()
    assert any("mine.talkers, 2026-11-25 UTC" in line for line in lines)
    last = lines[-1].split()
    assert (last[0], *last[-2:]) == ("14:30:02", "14:31:02", "12342")
    assert len(lines[-1]) <= width


def test_rows_on_both_sides_of_midnight_have_their_day() -> None:
    newest = NewestRows("mine.talkers", ("tb",), times=frozenset({0}))
    newest.rows.append(("2026-11-25T23:59:59.000000000Z",))
    newest.rows.append(("2026-11-26T00:00:00.000000000Z",))
    history = History()
    history.look(status(10, 10, 5))
    assert "2026-11-25T23:59:59" in shown(history, newest)
    assert "2026-11-26T00:00:00" in shown(history, newest)


def test_no_row_yet() -> None:
    history = History()
    history.look(status(10, 10, 5))
    assert "waiting for the first window" in shown(history, NewestRows("mine.talkers"))


def test_a_crash_gives_no_negative_rate() -> None:
    history = History()
    history.look(status(10, 10_000, 5))
    history.look(status(12, 10, 0, incarnation=1))
    text = shown(history, NewestRows())
    assert "begun again 1 time" in text
    assert "-" not in text.replace("-0", "").split("eth0")[1].split("\n")[0]


def test_the_newest_rows_are_the_last() -> None:
    history = History()
    history.look(status(10, 10, 5))
    newest = NewestRows("mine.talkers", ("srcIP", "n"), lost=3)
    newest.rows.extend((f"10.0.0.{n}", str(n)) for n in range(50))
    text = shown(history, newest)
    assert "10.0.0.49" in text
    assert "10.0.0.0 " not in text
    assert "3 rows were not shown" in text


def test_nothing_is_read() -> None:
    history = History()
    history.look(
        StatusAnswer(
            version="9",
            started_ns=0,
            incarnation=3,
            restarts=3,
            capture_pid=None,
            sets={},
            report=None,
        )
    )
    assert "nothing is read now" in shown(history, NewestRows())

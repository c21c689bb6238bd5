# SPDX-License-Identifier: Apache-2.0
"""What top shows, from statuses a second apart."""

from __future__ import annotations

import io

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


def shown(history: History, newest: NewestRows, height: int = 24) -> str:
    console = Console(file=io.StringIO(), width=120, height=height)
    console.print(screen(history, newest, height))
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


def test_rates_are_of_the_time_between_two_looks() -> None:
    history = History()
    history.look(status(10, 10_000, 5))
    history.look(status(12, 30_000, 9))
    text = shown(history, NewestRows())
    assert "11.0k" in text  # (20,000 read + 2,000 dropped) in two seconds
    assert "8.0M" in text
    assert "25 %" in text  # of the ring, and the selectivity
    assert "3.0 s" in text


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

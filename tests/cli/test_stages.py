# SPDX-License-Identifier: Apache-2.0
"""--stats stages: the shape of the table, its sums, and where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream

from gigastream.cli.stages import stage_table
from gigastream.engine.statistics import StageCosts
from gigastream.late_dataclass import fields
from gigastream.sessions.session import Session
from gigastream.sources.files import FileSource
from tests.engine.stepping import plan_of

QUERY = "SELECT tb, srcIP, count(*) AS n FROM IPV4 GROUP BY time/60 AS tb, srcIP"
TITLES = [
    *("stage", "read bytes", "find records", "decode", "unpack, prefilter", "LFTAs", "flush"),
    *("high level", "output", "all"),
]


def test_each_stage_has_its_time_a_packet_and_its_share() -> None:
    costs = StageCosts(100, 500, 1_000, 500, 250, 4_000, 1_250, 2_000)
    shown = [" ".join(line.split()) for line in stage_table(costs, 500).splitlines()]
    assert shown == [
        "stage ns/packet share",
        "read bytes 5.0 5%",
        "find records 10.0 10%",
        "decode 5.0 5%",
        "unpack, prefilter 2.5 2%",
        "LFTAs 40.0 40%",
        "flush 12.5 12%",
        "high level 20.0 20%",
        "output 5.0 5%",
        "all 100.0 100%",
    ]


def test_of_no_packet_it_is_zeros() -> None:
    shown = stage_table(StageCosts(0, 0, 0, 0, 0, 0, 0, 0), 0).splitlines()
    assert all(line.split()[-2:] == ["0.0", "0%"] for line in shown[1:])


def test_it_stands_below_the_account_and_the_rows_are_the_same() -> None:
    words = ("run", "-e", QUERY, "-r", DEMO_CAPTURE, "-o", "csv")
    plain, measured = gigastream(*words), gigastream(*words, "--stats", "stages")
    assert (measured.code, sorted(measured.lines)) == (0, sorted(plain.lines))
    lines = measured.err.splitlines()[-len(TITLES) :]
    assert [line[:17].strip() for line in lines] == TITLES


def test_every_packet_is_of_the_bursts_and_every_stage_has_some_time() -> None:
    with Session(plan_of(QUERY), [FileSource("default", str(DEMO_CAPTURE))]) as session:
        session.measure_stages()
        for _ in session.batches():
            pass
        costs, (source,) = session.stage_costs(), session.statistics().sources
    assert costs.packets == source.read
    assert [one.name for one in fields(StageCosts) if getattr(costs, one.name) == 0] == []


def test_who_does_not_ask_is_told_zeros() -> None:
    with Session(plan_of(QUERY), [FileSource("default", str(DEMO_CAPTURE))]) as session:
        for _ in session.batches():
            pass
        assert session.stage_costs() == StageCosts(0, 0, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("output", ["spool:spool", "csv"])
def test_it_is_of_captures_answered_here(output: str, tmp_path: Path) -> None:
    words = ("run", "-e", QUERY, "-r", DEMO_CAPTURE, "--stats", "stages")
    done = gigastream(
        *words, "-o", output, *(("--on", "spark") if output == "csv" else ()), cwd=tmp_path
    )
    assert done.code == 2
    assert "captures that are answered here" in done.err

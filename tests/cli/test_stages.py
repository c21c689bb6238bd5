# SPDX-License-Identifier: Apache-2.0
"""--stats stages: the shape of the table, its sums, and where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream

from gigastream.cli.stages import stage_table
from gigastream.engine.statistics import StageCosts
from gigastream.late_dataclass import fields
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.engine.stepping import plan_of
from tests.strategies import frames as f
from tests.strategies.files import Packet, pcap

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


@pytest.mark.parametrize("fast_path", [True, False])
def test_every_packet_is_of_the_bursts_and_every_stage_has_some_time(fast_path: bool) -> None:
    """An LFTA that is alone decodes by itself: that is time of its own."""
    settings = Settings(fast_path=fast_path)
    costs, (read,) = _costs([DEMO_CAPTURE], settings)
    assert costs.packets == read
    timeless = [one.name for one in fields(StageCosts) if getattr(costs, one.name) == 0]
    assert timeless == ["decode_ns"] * fast_path


def test_packets_that_are_not_taken_as_frames_count_once(tmp_path: Path) -> None:
    """One burst in eight is measured, whether frames were asked for in vain before it or not.

    The first burst is of a file of which the filter drops everything, and no LFTA runs.
    """
    dropped = [Packet(at * 1000, f.ethernet(f.ETHERTYPE_ARP, bytes(28))) for at in range(10)]
    datagram = f.ethernet(f.ETHERTYPE_IPV4, f.ipv4(1, 2, f.UDP, f.udp(1, 2)))
    kept = [Packet(10**6 + at * 1000, datagram) for at in range(1500)]
    paths = [tmp_path / "dropped.pcap", tmp_path / "kept.pcap"]
    for path, packets in zip(paths, (dropped, kept), strict=True):
        path.write_bytes(pcap(packets))
    costs, read = _costs(paths, Settings(filter="udp", burst=64))
    assert (costs.packets, read) == (1510, [10, 1500])
    assert costs.lfta_ns > 0


def _costs(paths: Sequence[Path], settings: Settings) -> tuple[StageCosts, list[int]]:
    """Of the files, and how many packets were read of each."""
    sources = [FileSource("default", str(path)) for path in paths]
    with Session(plan_of(QUERY), sources, settings) as session:
        session.measure_stages()
        for _ in session.batches():
            pass
        return session.stage_costs(), [source.read for source in session.statistics().sources]


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

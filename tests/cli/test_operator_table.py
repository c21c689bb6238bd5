# SPDX-License-Identifier: Apache-2.0
"""The table of operators: its figures are the counters, its advice is a number that helps."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream

from gigastream.cli.operator_table import recommendations, table
from gigastream.cli.table_slots import wanted_slots
from gigastream.engine.statistics import (
    END,
    LftaStatistics,
    OperatorStatistics,
    SourceStatistics,
    Statistics,
)
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.packets import PacketSource
from tests.engine.stepping import plan_of
from tests.engine.traffic import packet

SECOND_NS = 10**9
HASH_KEY = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
HOUR_NS = 3_600 * SECOND_NS
LINK = SourceStatistics("eth0", "eth0", *[0] * 10, None, high_ns=HOUR_NS, promise_ns=HOUR_NS)
LFTA = LftaStatistics(
    "q_low", "eth0", 1_000, 500, 0, 0, 2_500, 300, 4_096, 1_000_000, 2_000_000, 1_000, 800, 900,
    HOUR_NS - 2 * SECOND_NS,
)  # fmt: skip
HIGH = OperatorStatistics(
    "q", "aggregate", 1_000, 250, 0, 0, 7, 1, rows_refused=2, held_bytes=5_000, peak_bytes=6_000,
    promised_ns=HOUR_NS - 60 * SECOND_NS,
)  # fmt: skip


def test_the_table_shows_the_counters() -> None:
    shown = table(Statistics((LINK,), (LFTA,), (HIGH,)), seconds=2.0).splitlines()
    assert [" ".join(line.split()) for line in shown] == [
        "operator kind in out in/s out/in collisions refused held bytes peak behind",
        "q_low LFTA on eth0 4,000 1,000 2,000 0.25 300 800 1 MB 2 MB 2.0 s",
        "q aggregate 1,000 250 500 0.25 3 7 5 kB 6 kB 60.0 s",
    ]
    assert len({len(line) for line in shown}) == 1


def test_rates_are_of_the_time_since_the_table_before() -> None:
    before = Statistics((LINK,), (LFTA,), (HIGH,))
    after = Statistics((LINK,), (replace(LFTA, accepted=4_500),), (replace(HIGH, rows_in=1_100),))
    low, high = (line.split() for line in table(after, 2.0, before).splitlines()[1:])
    assert low[4:7] == ["6,000", "1,000", "1,000"]
    assert high[2:5] == ["1,100", "250", "50"]


def test_what_has_ended_or_knows_no_time_is_not_behind() -> None:
    done = Statistics((LINK,), (replace(LFTA, promised_ns=END),), ())
    assert not table(done, 1.0).splitlines()[1].endswith(" s")
    assert not table(Statistics((), (), (HIGH,)), 1.0).splitlines()[1].endswith(" s")


def run(hosts: int, slots: int) -> LftaStatistics:
    """A table of so many slots after packets of so many hosts, at random."""
    text = "SELECT tb, srcIP, count(*) AS n FROM IP GROUP BY time/600 AS tb, srcIP"
    chosen = random.Random(5).choices(range(hosts), k=20_000)
    packets = [packet(at / 1_000, host) for at, host in enumerate(chosen)]
    source = PacketSource([(one.timestamp_ns, one.data) for one in packets])
    settings = Settings(slots=slots, hash_key=HASH_KEY, heartbeat_packets=1_000)
    with Session(plan_of(text), [source], settings) as session:
        for _ in session.batches():
            pass
        (lfta,) = session.statistics().lftas
    return lfta


@pytest.mark.parametrize(("hosts", "slots"), [(500, 256), (2_000, 1_024), (1_000, 1_024)])
def test_as_many_slots_as_are_recommended_keep_nearly_all_groups_in(hosts: int, slots: int) -> None:
    lfta = run(hosts, slots)
    assert lfta.evicted * 8 > lfta.accepted
    wanted = wanted_slots(lfta)
    assert wanted is not None
    assert 2 * hosts <= wanted <= 16 * hosts
    better = run(hosts, wanted)
    assert better.evicted * 8 <= better.accepted
    assert list(recommendations(Statistics((), (better,), ()))) == []


def test_a_flood_is_told_apart() -> None:
    flood = run(10_000_000, 64)
    assert wanted_slots(flood) is None
    (sentence,) = recommendations(Statistics((), (flood,), ()))
    assert sentence.endswith("hardly any met its group; more slots would not help")


def test_the_sentence_has_the_number() -> None:
    lfta = run(500, 256)
    wanted = wanted_slots(lfta)
    (sentence,) = recommendations(Statistics((), (lfta,), ()))
    assert sentence.startswith("query_low on default: ")
    assert f"in 256 slots; DEFINE {{ aggregate_slots {wanted}; }}, or --slots {wanted}," in sentence


@pytest.mark.long
def test_the_command_shows_it_when_it_is_asked(tmp_path: Path) -> None:
    words = ("run", "-e", "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb")
    words += ("-o", f"csv:{tmp_path / 'rows.csv'}", "-r", str(DEMO_CAPTURE))
    for form in (("--stats",), ("--stats", "table")):
        lines = gigastream(*words, *form).err.splitlines()
        assert lines[-3].split()[:5] == ["operator", "kind", "in", "out", "in/s"]
        assert lines[-2].split()[:6] == ["query_low", "LFTA", "on", "default", "2,010", "4"]
        assert lines[-1].split()[:4] == ["query", "aggregate", "4", "4"]
    assert "operator" not in gigastream(*words).err
    assert gigastream(*words, "-q").err == ""
    asked = gigastream(*words, "-q", "--stats", "--stats-every", "1ns").err
    assert asked.count("operator ") > 1, "what is asked for is given"


def test_it_is_shown_again_and_again(tmp_path: Path) -> None:
    result = gigastream(
        "run", "-e", "SELECT time FROM PKT", "-o", f"csv:{tmp_path / 'rows.csv'}", "-r",
        DEMO_CAPTURE, "--stats-every", "1ns",
    )  # fmt: skip
    assert result.code == 0
    first, *_ = result.err.splitlines()
    assert first.split()[:2] == ["operator", "kind"]
    assert result.err.count("operator ") >= 1

# SPDX-License-Identifier: Apache-2.0
"""Several interfaces, several files of one: their union equals the models', call by call."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.plan import Plan
from gigastream.sessions.session import Session
from gigastream.sources.files import FileSource
from tests.engine.low_cases import CASES, LowCase
from tests.engine.low_level import Tuning
from tests.engine.several_sources import Capture, check_sources
from tests.engine.stepping import Call, Row, plan_of, run_steps
from tests.engine.traffic import SECOND_NS, crowd, packet, streams
from tests.oracle.capture import read_bytes
from tests.strategies.files import NANOSECONDS, Packet, pcap

TENS, STARTS, FALLING, TWO, *_ = CASES
Files = list[tuple[str, list[Packet]]]

quickly = settings(max_examples=60)
tunings = st.builds(
    Tuning,
    policy=st.sampled_from(["immediate", "slow_inorder", "slow", "lazy"]),
    slots=st.sampled_from([1, 8, 64]),
    disorder_bytes=st.sampled_from([0, 100, 700, 5_000, 1 << 20]),
    slack_ns=st.sampled_from([None, None, 0, 30 * SECOND_NS]),
    heartbeat_ns=st.sampled_from([0, SECOND_NS, 7 * SECOND_NS]),
    heartbeat_packets=st.sampled_from([0, 0, 3]),
    is_hurried=st.booleans(),
)


@cache
def plan(case: LowCase, interfaces: tuple[str, ...]) -> Plan:
    return plan_of(case.text(), interfaces)


def run(case: LowCase, tuning: Tuning, files: Files, *taps: str) -> list[Call]:
    captures = [(interface, pcap(packets, magic=NANOSECONDS)) for interface, packets in files]
    interfaces = tuple(sorted({interface for interface, _ in files}))
    queries, is_hurried = plan(case, interfaces), tuning.is_hurried
    return run_steps(queries, captures, tuning.settings(), taps, is_hurried=is_hurried)


def check(case: LowCase, tuning: Tuning, files: Files) -> None:
    captures = [
        Capture(interface, tuple(read_bytes(pcap(packets, magic=NANOSECONDS)).records))
        for interface, packets in files
    ]
    check_sources(run(case, tuning, files, "q_low"), captures, case, tuning)


def answer(calls: list[Call]) -> Counter[Row]:
    return Counter(
        row for call in calls for out in call.outs if out.node == "q" for row in out.rows
    )


@pytest.mark.long
@pytest.mark.parametrize("case", [TENS, FALLING, TWO], ids=lambda case: case.name)
@quickly
@given(tuning=tunings, one=streams(max_packets=30), other=streams(max_packets=30))
def test_two_interfaces(
    case: LowCase, tuning: Tuning, one: list[Packet], other: list[Packet]
) -> None:
    check(case, tuning, [("east", one), ("west", other)])


@quickly
@given(
    tuning=tunings,
    packets=streams(max_packets=60),
    cuts=st.lists(st.integers(0, 60), max_size=3),
    order=st.randoms(use_true_random=False),
)
def test_files_of_one_interface_in_any_order(tuning: Tuning, packets, cuts, order) -> None:
    borders = [0, *sorted(cuts), len(packets)]
    files = [("east", packets[a:b]) for a, b in pairwise(borders)]
    order.shuffle(files)
    check(STARTS, tuning, files)


@quickly
@given(tuning=tunings, parts=st.lists(streams(max_packets=15), min_size=4, max_size=4))
def test_files_of_several_interfaces(tuning: Tuning, parts: list[list[Packet]]) -> None:
    check(TENS, tuning, list(zip(["east", "west", "east", "north"], parts, strict=True)))


def test_the_cut_of_a_capture_changes_no_row() -> None:
    tuning = Tuning(disorder_bytes=20_000)
    packets = crowd(3, 1_500, hosts=40, seconds=180, back_seconds=5)
    whole = answer(run(TENS, tuning, [("east", packets)]))
    rotated = [("east", packets[at : at + 300]) for at in range(0, 1_500, 300)]
    assert answer(run(TENS, tuning, rotated[::-1])) == whole
    split = [("east", packets[0::2]), ("west", packets[1::2])]
    assert answer(run(TENS, tuning, split)) == whole
    assert sum(count for *_, count, _ in whole.elements()) == 1_500


def test_an_interface_without_packets_holds_nothing_up() -> None:
    """An empty file ends at once; from then on the others' bounds are the union's."""
    packets = [packet(at, at) for at in range(0, 200, 3)]
    tuning = Tuning("immediate", slack_ns=0, slots=64)
    files: Files = [("silent", []), ("east", packets)]
    calls = run(TENS, tuning, files, "q_low")
    check(TENS, tuning, files)
    first = next(at for at, call in enumerate(calls) if answer([call]))
    assert sum(call.records for call in calls[:first]) < 10, "windows leave while packets come"


def test_an_interface_that_is_behind_holds_the_bound_back() -> None:
    """West's first packet is an hour old: until it has gone by, nothing of east is complete."""
    old = [packet(-3_600), packet(-3_599), packet(300)]
    tuning = Tuning("immediate", slack_ns=0, slots=64)
    files: Files = [("east", [packet(at, at) for at in range(0, 200, 3)]), ("west", old)]
    check(TENS, tuning, files)
    check(TENS, replace(tuning, policy="slow"), files[::-1])


def late_of(files: Files, tuning: Tuning, folder: Path) -> list[int]:
    sources = []
    for number, (interface, packets) in enumerate(files):
        path = folder / f"{number}.pcap"
        path.write_bytes(pcap(packets, magic=NANOSECONDS))
        sources.append(FileSource(interface, str(path)))
    interfaces = tuple(sorted({interface for interface, _ in files}))
    with Session(plan(TENS, interfaces), sources, tuning.settings()) as session:
        for _ in session.batches():
            pass
        return [source.late for source in session.statistics().sources]


@pytest.mark.parametrize("interfaces", [("east", "east"), ("east", "west")], ids="-".join)
def test_what_is_within_the_slack_is_not_late_beside_other_files(
    interfaces: tuple[str, str], tmp_path: Path
) -> None:
    """Its first two blocks promise no more than the slack behind them lets."""
    tuning = Tuning(disorder_bytes=200, slack_ns=SECOND_NS)
    packets = [packet(10 + at / 10, 1) for at in range(6)] + [packet(9.8, 2), packet(11, 3)]
    other = [packet(at, 4) for at in range(5, 9)]
    files: Files = [(interfaces[0], other), (interfaces[1], packets)]
    assert late_of(files[1:], tuning, tmp_path) == [0]
    assert late_of(files, tuning, tmp_path) == [0, 0]
    assert late_of(files, replace(tuning, slack_ns=SECOND_NS // 10), tmp_path) == [0, 1]

# SPDX-License-Identifier: Apache-2.0
"""Partial rows and punctuation of LFTAs, packet by packet, equal the models'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.plan import Plan
from tests.engine.low_cases import CASES, LowCase
from tests.engine.low_level import AtPacket, Tuning, expected, flat, seen
from tests.engine.stepping import Call, plan_of, run_steps
from tests.engine.traffic import SECOND_NS, crowd, packet, streams
from tests.oracle.capture import read_bytes
from tests.strategies.captures import packet_lists
from tests.strategies.files import NANOSECONDS, Packet, pcap

POLICIES = ("immediate", "slow_inorder", "slow", "lazy")
OPTIONS = ((None, None), (1, 0), (3, 1), (None, 15))
"""(slow_flush, max_lfta_disorder): each pair is a query set that must be compiled."""
TENS, STARTS, FALLING, TWO, *_ = CASES

every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda name: f"flush-{name}")
hurried_or_not = pytest.mark.parametrize(
    "is_hurried", [True, False], ids=["as fast as it goes", "with a pace"]
)
quickly = settings(max_examples=40)
words = st.integers(1, 2**64 - 1)
tunings = st.builds(
    lambda options, **others: Tuning(slow_flush=options[0], max_disorder=options[1], **others),
    options=st.sampled_from(OPTIONS),
    policy=st.sampled_from(POLICIES),
    slots=st.sampled_from([1, 2, 8, 64]),
    disorder_bytes=st.sampled_from([0, 100, 700, 5_000]),
    slack_ns=st.sampled_from([None, None, 0, SECOND_NS, 30 * SECOND_NS]),
    heartbeat_ns=st.sampled_from([0, SECOND_NS, 7 * SECOND_NS]),
    heartbeat_packets=st.sampled_from([0, 0, 1, 4]),
    hash_key=st.tuples(words, words.map(lambda word: word | 1)),
    burst=st.sampled_from([1, 1, 7, 256]),
    batch_rows=st.sampled_from([1, 3, None]),
    is_hurried=st.booleans(),
)


@cache
def plan(case: LowCase, options: str) -> Plan:
    return plan_of(case.text(options))


@cache
def plan_of_all(options: str) -> Plan:
    """All cases as one query set, named after the cases."""
    texts = [
        case.text(options).replace("query_name q;", f"query_name {case.name};") for case in CASES
    ]
    return plan_of(";\n".join(texts))


def run(case: LowCase, tuning: Tuning, packets: list[Packet]) -> list[Call]:
    return run_whole(plan(case, tuning.options()), tuning, packets, ("q_low",))


def run_whole(
    queries: Plan, tuning: Tuning, packets: list[Packet], taps: Sequence[str]
) -> list[Call]:
    capture = [("default", pcap(packets, magic=NANOSECONDS))]
    return run_steps(queries, capture, tuning.settings(), taps, is_hurried=tuning.is_hurried)


def by_the_models(case: LowCase, tuning: Tuning, packets: list[Packet]) -> list[AtPacket]:
    return expected(read_bytes(pcap(packets, magic=NANOSECONDS)).records, case, tuning)


def check(case: LowCase, tuning: Tuning, packets: list[Packet]) -> list[AtPacket]:
    """What the engine put out, having found it equal; by packet where bursts are of one."""
    ours, theirs = by_the_models(case, tuning, packets), seen(run(case, tuning, packets), case)
    if tuning.burst == 1:
        assert theirs == ours
    assert flat(theirs) == flat(ours)
    return theirs


def rows(steps: list[AtPacket]) -> list[tuple[int, ...]]:
    """(window, source) of all partial rows, at which packet they left."""
    return [
        (at, token.window[0], token.group[0])
        for at, step in enumerate(steps)
        for token in (*step.before, *step.because)
        if hasattr(token, "group")
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@quickly
@given(tuning=tunings, packets=streams())
def test_any_stream(case: LowCase, tuning: Tuning, packets: list[Packet]) -> None:
    check(case, tuning, packets)


@pytest.mark.parametrize("case", [FALLING, TWO], ids=lambda case: case.name)
@quickly
@given(tuning=tunings, packets=packet_lists(30))
def test_packets_of_all_kinds(case: LowCase, tuning: Tuning, packets: list[Packet]) -> None:
    check(case, tuning, packets)


@every_policy
@quickly
@given(tuning=tunings, packets=streams(hosts=200))
def test_more_windows_than_the_list_holds(
    policy: str, tuning: Tuning, packets: list[Packet]
) -> None:
    wide = replace(tuning, policy=policy, slots=64, max_disorder=15, slow_flush=None)
    check(TENS, replace(wide, disorder_bytes=0, slack_ns=None), packets)


@quickly
@given(tuning=tunings, packets=streams())
def test_neighbours_in_a_query_set_change_nothing(tuning: Tuning, packets: list[Packet]) -> None:
    nodes = [f"{case.name}_low" for case in CASES]
    calls = run_whole(plan_of_all(tuning.options()), tuning, packets, nodes)
    for case, node in zip(CASES, nodes, strict=True):
        ours = by_the_models(case, tuning, packets)
        assert flat(seen(calls, case, node)) == flat(ours)


@every_policy
@pytest.mark.parametrize("slots", [2, 64])
@hurried_or_not
def test_thousands_of_packets(policy: str, slots: int, is_hurried: bool) -> None:
    tuning = Tuning(
        policy, slots=slots, disorder_bytes=9_000, heartbeat_packets=300, is_hurried=is_hurried
    )
    check(STARTS, tuning, crowd(7, 2_500, hosts=90, seconds=120, back_seconds=15))


@every_policy
@pytest.mark.parametrize("burst", [2, 64, 256])
@hurried_or_not
def test_bursts_change_nothing(policy: str, burst: int, is_hurried: bool) -> None:
    tuning = Tuning(
        policy, slots=8, disorder_bytes=2_000, heartbeat_packets=50, is_hurried=is_hurried
    )
    packets = crowd(8, 900, hosts=30, seconds=90, back_seconds=20)
    one, many = run(TENS, tuning, packets), run(TENS, replace(tuning, burst=burst), packets)
    assert flat(seen(one, TENS)) == flat(seen(many, TENS))


def test_the_window_is_part_of_the_key() -> None:
    """A straggler above W meets its own group, though the current window has one of its name."""
    tuning = Tuning("lazy", slots=64, disorder_bytes=0)
    packets = [packet(1, 3), packet(11, 4), packet(2, 3), packet(12, 4)]
    steps = check(TENS, tuning, packets)
    states = [token.state[0] for token in flat(steps) if hasattr(token, "state")]
    assert states == [2, 2]


def test_one_lying_timestamp_moves_nothing() -> None:
    packets = [packet(at, at) for at in range(5)] + [packet(5_000, 9), packet(5, 5)]
    steps = check(TENS, Tuning("immediate", slots=64, slack_ns=0), packets)
    assert [at for at, *_ in rows(steps)] == [7] * 7, "all leave at the end alone"


def test_the_m_check_runs_on_heartbeats_of_a_stream_that_the_query_rejects() -> None:
    """ARP carries time on: what is too old leaves though no packet is accepted any more."""
    tuning = Tuning("lazy", max_disorder=1, slots=64)
    later = [packet(at, 1) for at in (31, 32)]
    arps = [Packet(p.timestamp_ns, p.data[:12] + b"\x08\x06" + bytes(28)) for p in later]
    steps = check(TENS, tuning, [packet(1, 7), packet(2, 8), *arps])
    assert [at for at, *_ in rows(steps)] == [3, 3]


def test_slow_in_order_drips_while_packets_come_and_flushes_when_time_moves() -> None:
    tuning = Tuning("slow_inorder", slots=64, slack_ns=0, heartbeat_ns=0)
    hosts = [packet(1, host) for host in range(6)]
    later = [packet(at, 30 + at) for at in (11, 11, 11, 25, 25)]
    steps = check(TENS, tuning, [*hosts, *later])
    leaving = [at for at, window, _ in rows(steps) if window == 170_000_000]
    assert leaving == [7, 8, 9, 10, 10, 10], "one a packet, until W grows again at the last"


def test_seventeen_windows() -> None:
    """With nothing promised, windows leave because the list is full: the oldest for one more."""
    packets = [packet(10 * at, at) for at in range(20)]
    steps = check(TENS, Tuning("immediate", slots=1 << 12, disorder_bytes=0), packets)
    at_end = len(packets)
    assert [at for at, *_ in rows(steps) if at < at_end][-1] == at_end - 1
    assert sum(at == at_end for at, *_ in rows(steps)) <= 16

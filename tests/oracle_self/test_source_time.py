# SPDX-License-Identifier: Apache-2.0
"""The model of time at a source against its definition, computed afresh for every packet."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.models.bounds import END, NEVER, Bound
from tests.models.source_time import (
    FileTime,
    HeartbeatTimer,
    InterfaceTime,
    PipeTime,
    Reading,
    before_opening,
)

Read = tuple[int | None, int]


@st.composite
def reads(draw: st.DrawFn) -> list[Read]:
    """(timestamp or None, file offset) with offsets that grow, at times by more than a block."""
    offset, result = 24, []
    for _ in range(draw(st.integers(0, 40))):
        result.append((draw(st.none() | st.integers(0, 30)), offset))
        offset += draw(st.sampled_from([5, 20, 130, 700]))
    return result


def high_by_definition(seen: list[Read]) -> Bound:
    usable = [timestamp for timestamp, _ in seen if timestamp is not None]
    return max(map(min, pairwise(usable)), default=NEVER)


def promise_by_definition(seen: list[Read], block_bytes: int) -> Bound:
    """All blocks but the last record's are done."""
    blocks = sorted({offset // block_bytes for _, offset in seen})
    promise: Bound = NEVER
    for before, block in pairwise(blocks[:-1]):
        inside = [t for t, o in seen if o // block_bytes in (before, block) and t is not None]
        promise = max(promise, min(inside, default=NEVER))
    return promise


@given(reads())
def test_a_file_follows_its_bytes(packets: list[Read]) -> None:
    source = FileTime(disorder_bytes=100)
    for position, (timestamp, offset) in enumerate(packets):
        seen = packets[: position + 1]
        promise = promise_by_definition(seen, 100)
        late = timestamp is not None and timestamp < promise
        expected = Reading(high_by_definition(seen), promise, late)
        assert source.read(timestamp, offset) == expected


@given(reads(), st.integers(0, 10))
def test_a_pipe_follows_high(packets: list[Read], slack: int) -> None:
    source = PipeTime(slack)
    for position, (timestamp, offset) in enumerate(packets):
        high = high_by_definition(packets[: position + 1])
        late = timestamp is not None and timestamp < high - slack
        assert source.read(timestamp, offset) == Reading(high, high - slack, late)


@given(reads())
def test_disorder_all_loses_nothing(packets: list[Read]) -> None:
    source = FileTime(disorder_bytes=None)
    assert not any(source.read(*packet).late for packet in packets)


def test_a_step_back_of_less_than_a_block_is_never_late() -> None:
    source = FileTime(disorder_bytes=100)
    for position in range(1000):
        back = 3 if position % 4 == 3 else 0
        assert not source.read(100 + position - back, 24 + 30 * position).late


def test_one_lying_timestamp_raises_nothing() -> None:
    source = PipeTime(slack_ns=0)
    readings = [source.read(timestamp) for timestamp in (10, 10**18, 11, 12)]
    assert [reading.high for reading in readings] == [NEVER, 10, 11, 11]
    assert not any(reading.late for reading in readings)


def test_an_unopened_file_promises_the_least_of_two_blocks() -> None:
    records = [(50, 24), (40, 150), (30, 700), (10, 800)]
    assert before_opening(records, 100).promise(None) == 40
    assert before_opening([], 100).promise(None) == END
    assert before_opening([(None, 24)], 100).promise(None) == NEVER


def test_an_interface_waits_for_its_least_source() -> None:
    interface = InterfaceTime({"a": NEVER, "b": 40})
    assert interface.read("a", Reading(100, 90, False)) == (40, 40)
    assert interface.read("b", Reading(95, NEVER, False)) == (95, 40)
    assert interface.end("b") == (100, 90)
    assert interface.end("a") == (END, END)


def test_a_heartbeat_fires_once_however_large_the_jump() -> None:
    timer = HeartbeatTimer(period_ns=10)
    highs: list[Bound] = [NEVER, 5, 9, 10, 11, 57, 57, 60]
    due = [timer.due(high) for high in highs]
    assert due == [False, True, False, True, False, True, False, True]

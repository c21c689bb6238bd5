# SPDX-License-Identifier: Apache-2.0
"""A pipe that pauses: what is complete by then is out, and nothing that is not."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from gigastream.sessions.session import Session
from gigastream.sessions.shape import SessionOptions
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.engine.low_cases import CASES
from tests.engine.low_level import Tuning
from tests.engine.stepping import Out, Row, Stepper, out_of, plan_of
from tests.engine.traffic import SECOND_NS, crowd, packet
from tests.models.bounds import NEVER, Vector, passed
from tests.models.table import COUNT_AND_SUM
from tests.oracle.capture import read_bytes
from tests.oracle.records import Record
from tests.strategies.files import NANOSECONDS, Packet, pcap, pcap_record

TENS = CASES[0]
PLAN = plan_of(TENS.text())
HEADER = pcap([], magic=NANOSECONDS)
PATIENCE_S = 300

every_policy = pytest.mark.parametrize(
    "policy", ["immediate", "slow_inorder", "slow", "lazy"], ids=lambda name: f"flush-{name}"
)


def bytes_of(packets: list[Packet]) -> bytes:
    return b"".join(pcap_record(p, magic=NANOSECONDS) for p in packets)


def records_of(packets: list[Packet]) -> list[Record]:
    return read_bytes(pcap(packets, magic=NANOSECONDS)).records


def state_after(packets: list[Packet], tuning: Tuning) -> tuple[Vector, Vector]:
    """(f(W), the LFTA's punctuation) when so many packets have been read, by the models."""
    time, beats, lfta = tuning.source_time(), tuning.heartbeats(), tuning.lfta(TENS)
    promise: Vector = (NEVER,)
    for record in records_of(packets):
        reading = time.read(record.timestamp_ns, record.file_offset)
        lfta.advance(reading.high, reading.promise, beats.before_packet(reading.high))
        promise = tuple(v.column.bound(reading.promise) for v in TENS.variables)
        row = None if reading.late else TENS.accepted(record)
        if row is not None:
            lfta.enter(*row)
    return promise, lfta.punctuation


def bound_when_idle(packets: list[Packet], tuning: Tuning) -> Vector:
    """`slow` with its own pace lets old groups go while nothing comes; the others wait."""
    promise, punctuation = state_after(packets, tuning)
    return promise if tuning.policy == "slow" else punctuation


def answer(packets: list[Packet], tuning: Tuning, below: Vector | None = None) -> Counter[Row]:
    """The final rows, of the windows below a bound or of all."""
    groups: dict[tuple[Vector, Row], tuple[int, int]] = {}
    time = tuning.source_time()
    for record in records_of(packets):
        late = time.read(record.timestamp_ns, record.file_offset).late
        accepted = None if late else TENS.accepted(record)
        if accepted is not None:
            window, group, length = accepted
            before = groups.get((window, group))
            groups[window, group] = (
                COUNT_AND_SUM.add(before, length) if before else COUNT_AND_SUM.first(length)
            )
    return Counter(
        (*window, *group, *state)
        for (window, group), state in groups.items()
        if below is None or passed(window, below)
    )


def rows_of(outs: tuple[Out, ...] | list[Out], node: str = "q") -> Counter[Row]:
    return Counter(row for out in outs if out.node == node for row in out.rows)


class Pipe:
    """A pipe that is written here and read by the engine."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()

    def source(self, interface: str = "default") -> FileSource:
        """As the engine opens it, by its name; the first bytes must be there already."""
        return FileSource(interface, f"/dev/fd/{self.reading}")

    def write(self, data: bytes) -> None:
        assert os.write(self.writing, data) == len(data)

    def end(self) -> None:
        os.close(self.writing)

    def close(self) -> None:
        os.close(self.reading)


@contextmanager
def pipes(count: int) -> Iterator[list[Pipe]]:
    opened = [Pipe() for _ in range(count)]
    for pipe in opened:
        pipe.write(HEADER)
    yield opened
    for pipe in opened:
        pipe.close()


def until_silent(session: Stepper, records: int) -> list[Out]:
    """All that comes by itself, once so many records have been read."""
    outs: list[Out] = []
    silent = 0
    while silent < 3:
        _, new = session.step(timeout_ms=1)
        read = sum(count for count, _ in session.progress())
        silent = silent + 1 if not new and read == records else 0
        outs += new
    return outs


def to_the_end(session: Stepper) -> list[Out]:
    ended, all_outs = False, list[Out]()
    while not ended:
        ended, outs = session.step(timeout_ms=1)
        all_outs += outs
    return all_outs


@every_policy
def test_at_every_pause_what_is_complete_is_out(policy: str) -> None:
    tuning = Tuning(policy, is_hurried=False, slots=64, slack_ns=3 * SECOND_NS, burst=16)
    packets = crowd(21, 400, hosts=12, seconds=100, back_seconds=4)
    pauses = [0, 1, 90, 91, 180, 300, 400]
    with pipes(1) as (pipe,), Stepper(PLAN, [pipe.source()], tuning.settings()) as session:
        seen: Counter[Row] = Counter()
        for begin, end in pairwise([0, *pauses]):
            pipe.write(bytes_of(packets[begin:end]))
            seen += rows_of(until_silent(session, end))
            complete = bound_when_idle(packets[:end], tuning)
            assert seen == answer(packets[:end], tuning, complete)
        pipe.end()
        assert seen + rows_of(to_the_end(session)) == answer(packets, tuning)


def test_half_a_record_at_a_pause_is_waited_for() -> None:
    tuning = Tuning("slow", is_hurried=False, slots=64, slack_ns=0)
    packets = [packet(1, 1), packet(2, 2), packet(30, 3), packet(31, 4)]
    data = bytes_of(packets)
    with pipes(1) as (pipe,), Stepper(PLAN, [pipe.source()], tuning.settings()) as session:
        pipe.write(data[:-30])
        assert rows_of(until_silent(session, 3)) == Counter()
        pipe.write(data[-30:])
        assert rows_of(until_silent(session, 4)) == answer(packets[:2], tuning)
        pipe.end()
        assert rows_of(to_the_end(session)) == answer(packets[2:], tuning)


def test_a_silent_pipe_holds_back_the_bound_and_not_the_partial_rows() -> None:
    """Nobody knows what west will say; once it has ended, east's windows are complete."""
    tuning = Tuning("slow", is_hurried=False, slots=64, slack_ns=0)
    packets = [packet(at, at) for at in range(0, 100, 3)]
    plan = plan_of(TENS.text(), ("east", "west"))
    with pipes(2) as (east, west):
        sources = [east.source("east"), west.source("west")]
        with Stepper(plan, sources, tuning.settings(), SessionOptions(taps=("q_low",))) as session:
            east.write(bytes_of(packets))
            outs = until_silent(session, len(packets))
            assert rows_of(outs) == Counter()
            assert rows_of(outs, "q_low") == answer(
                packets, tuning, state_after(packets, tuning)[0]
            )
            assert {out.punctuation((0,)) for out in outs} == {(NEVER,)}
            west.end()
            outs = until_silent(session, len(packets))
            assert rows_of(outs) == answer(packets, tuning, state_after(packets, tuning)[0])
            east.end()
            assert rows_of(outs + to_the_end(session)) == answer(packets, tuning)


def test_a_writer_that_waits_for_our_rows_gets_them(tmp_path: Path) -> None:
    """A named pipe and a thread: it goes on when the rows are here, not before."""
    tuning = Tuning("slow", is_hurried=False, slots=64, slack_ns=SECOND_NS, burst=64)
    packets = crowd(22, 300, hosts=9, seconds=90)
    half, path = 200, tmp_path / "capture"
    os.mkfifo(path)
    are_here, in_time = threading.Event(), list[bool]()

    def write() -> None:
        with path.open("wb") as pipe:
            pipe.write(HEADER + bytes_of(packets[:half]))
            pipe.flush()
            in_time.append(are_here.wait(PATIENCE_S))
            pipe.write(bytes_of(packets[half:]))

    writer = threading.Thread(target=write)
    writer.start()
    wanted = answer(packets[:half], tuning, bound_when_idle(packets[:half], tuning))
    seen: Counter[Row] = Counter()
    with Session(PLAN, [FileSource("default", str(path))], tuning.settings()) as session:
        for event in session.batches():
            seen += rows_of([out_of(event.query, event.batch)])
            if seen == wanted:
                are_here.set()
    writer.join()
    assert wanted
    assert in_time == [True]
    assert seen == answer(packets, tuning)


def test_a_replay_has_its_pace_from_the_first_packet_of_a_silent_pipe_on() -> None:
    """Packets that come while it waits for the first are not read at once."""
    settings = Settings(speed=1e-3)
    packets = [packet(at, at % 9) for at in range(100)]
    with pipes(1) as (pipe,), Session(PLAN, [pipe.source()], settings) as session:
        assert session._pace is not None
        for _ in range(2):  # it is opened, and found silent
            session._engine.run(1, 0)
            session._keep_pace(session._pace)
        pipe.write(bytes_of(packets))
        for _ in range(3):
            session._engine.run(1000, 0)
        (source,) = session.statistics().sources
        assert source.read == 0
        session._keep_pace(session._pace)
        session._engine.run(1000, 0)
        assert session.statistics().sources[0].read == 1
        pipe.end()

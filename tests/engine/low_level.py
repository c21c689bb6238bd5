# SPDX-License-Identifier: Apache-2.0
"""One LFTA over one source: what the engine put out at each packet, and what the models say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gigastream.settings import Settings
from tests.engine.group_hash import PAIRED_BYTES, hash_with, slot_bytes
from tests.engine.group_hash import Key as HashKey
from tests.engine.heartbeats import Heartbeats
from tests.engine.low_cases import LowCase
from tests.engine.stepping import Call, Out
from tests.models.bounds import NEVER, Vector
from tests.models.lfta import Lfta, Step, direct_mapped, of_pairs
from tests.models.policies import Immediate, Lazy, Policy, Slow, SlowInOrder
from tests.models.source_time import FileTime, PipeTime, SourceTime
from tests.models.table import COUNT_AND_SUM, Partial
from tests.oracle.records import Record

DEFAULT_DISORDER_WINDOWS = 2


@dataclass(frozen=True)
class Punctuation:
    """Bounds that were given, in the place between rows where they stand."""

    bounds: Vector
    is_heartbeat: bool


Token = Partial | Punctuation


@dataclass(frozen=True)
class Tuning:
    """What is set for a run, and what the query's options say."""

    policy: str = "slow"
    slow_flush: int | None = None
    max_disorder: int | None = None
    slots: int = 8
    disorder_bytes: int = 16 << 20
    slack_ns: int | None = None
    heartbeat_ns: int = 1_000_000_000
    heartbeat_packets: int = 0
    hash_key: HashKey = (0x1234567, 0x9E3779B97F4A7C15)
    burst: int = 1
    batch_rows: int | None = None
    fast_path: bool = True
    is_hurried: bool = True
    """Whether input is a file that is read as fast as it goes, not a pipe, nor one with a pace."""

    def options(self) -> str:
        """As options of the query."""
        slow_flush = "" if self.slow_flush is None else f"slow_flush {self.slow_flush};"
        windows = "" if self.max_disorder is None else f"max_lfta_disorder {self.max_disorder};"
        return slow_flush + windows

    def settings(self) -> Settings:
        """As settings of the run."""
        return Settings(
            flush=self.policy,
            slots=self.slots,
            disorder_bytes=self.disorder_bytes,
            slack_ns=self.slack_ns,
            heartbeat_ns=self.heartbeat_ns,
            heartbeat_packets=self.heartbeat_packets,
            hash_key=self.hash_key,
            burst=self.burst,
            batch_rows=self.batch_rows,
            fast_path=self.fast_path,
            deliver_every_burst=self.burst == 1,
            output_punctuation=True,
        )

    def source_time(self) -> SourceTime:
        """The model of the source's time."""
        if self.slack_ns is not None:
            return PipeTime(self.slack_ns)
        return FileTime(self.disorder_bytes or None)

    def heartbeats(self) -> Heartbeats:
        """The model of the timer."""
        return Heartbeats(self.heartbeat_ns, self.heartbeat_packets)

    def lfta(self, case: LowCase) -> Lfta:
        """The model of the LFTA."""
        columns = tuple(variable.column for variable in case.variables)
        hash_of = hash_with([key.column for key in case.keys], self.hash_key)
        is_narrow = slot_bytes([key.column for key in case.keys], state_bytes=16) <= PAIRED_BYTES
        candidates = (of_pairs if is_narrow else direct_mapped)(hash_of, self.slots)
        return Lfta(columns, self.slots, candidates, self._policy(case), COUNT_AND_SUM)

    def _policy(self, case: LowCase) -> Policy:
        steps = tuple(variable.column.step for variable in case.variables)
        windows = DEFAULT_DISORDER_WINDOWS if self.max_disorder is None else self.max_disorder
        if self.policy == "slow":
            return Slow(steps, windows, self.slow_flush, hurried=self.is_hurried)
        if self.policy == "lazy":
            return Lazy(steps, windows)
        return Immediate() if self.policy == "immediate" else SlowInOrder()


@dataclass(frozen=True)
class AtPacket:
    """What left before a packet was read, and what left because of it."""

    before: tuple[Token, ...] = ()
    because: tuple[Token, ...] = ()


def expected(records: Iterable[Record], case: LowCase, tuning: Tuning) -> list[AtPacket]:
    """By the models, packet by packet; the last is the end of the input."""
    time, beats, lfta = tuning.source_time(), tuning.heartbeats(), tuning.lfta(case)
    given, steps = lfta.punctuation, []
    for record in records:
        reading = time.read(record.timestamp_ns, record.file_offset)
        is_due = beats.before_packet(reading.high)
        before, given = _event(lfta.advance(reading.high, reading.promise, is_due), given)
        row = None if reading.late else case.accepted(record)
        because = lfta.enter(*row) if row else ()
        after: tuple[Token, ...] = ()
        if beats.after_packet():
            after, given = _event(lfta.advance(reading.high, reading.promise, True), given)
        steps.append(AtPacket(before, (*because, *after)))
    before, _ = _event(lfta.finish(), given)
    return [*steps, AtPacket(before)]


def _event(step: Step | None, given: Vector) -> tuple[tuple[Token, ...], Vector]:
    """Punctuation is sent where it has grown or the timer has fired, behind the rows."""
    if step is None:
        return (), given
    if step.punctuation == given and not step.heartbeat:
        return step.partials, given
    punctuation = Punctuation(step.punctuation, step.heartbeat)
    return (*step.partials, punctuation), step.punctuation


def seen(calls: Iterable[Call], case: LowCase, node: str = "q_low") -> list[AtPacket]:
    """What the engine put out, by packet; the last is the end of the input."""
    tokens = Tokens(case)
    steps: list[AtPacket] = []
    before: list[Token] = []
    for call in calls:
        new = [token for out in call.outs if out.node == node for token in tokens.of(out)]
        if call.records == 0:
            before += new
            continue
        dropped = [AtPacket()] * (call.records - 1)
        steps += [*dropped, AtPacket(because=tuple(new))]
        first = len(steps) - call.records
        steps[first] = AtPacket(tuple(before), steps[first].because)
        before = []
    return [*steps, AtPacket(tuple(before))]


class Tokens:
    """Batches of partial rows as tokens: a punctuation only where it is news."""

    def __init__(self, case: LowCase) -> None:
        self._case = case
        self.given: Vector = (NEVER,) * len(case.temporal)

    def of(self, out: Out) -> list[Token]:
        """The tokens of one batch."""
        tokens: list[Token] = [Partial(*self._case.partial(row)) for row in out.rows]
        bounds = out.punctuation(self._case.temporal)
        if out.is_heartbeat or bounds != self.given:
            tokens.append(Punctuation(bounds, out.is_heartbeat))
        self.given = bounds
        return tokens


def flat(steps: Iterable[AtPacket]) -> list[Token]:
    """All tokens in their order."""
    return [token for step in steps for token in (*step.before, *step.because)]

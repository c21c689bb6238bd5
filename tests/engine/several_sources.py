# SPDX-License-Identifier: Apache-2.0
"""Several sources, several interfaces: what the models say of the stream of partial rows.

In which order sources are read is the engine's choice; the models follow it, and it is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.engine.low_cases import LowCase
from tests.engine.low_level import Punctuation, Token, Tokens, Tuning
from tests.engine.stepping import Call
from tests.models.bounds import END, NEVER, Bound
from tests.models.hfta import Batch, Union
from tests.models.lfta import Step
from tests.models.source_time import (
    DEFAULT_DISORDER_BYTES,
    BeforeOpening,
    InterfaceTime,
    before_opening,
)
from tests.oracle.records import Record


@dataclass(frozen=True)
class Capture:
    """A source: the interface whose packets it holds, and its records."""

    interface: str
    records: tuple[Record, ...]

    def promise(self, tuning: Tuning, is_alone: bool) -> Bound:
        """What it promises before it is opened; where no other waits for it, nothing."""
        has_rule = tuning.slack_ns is not None or tuning.disorder_bytes
        return self._seen(tuning).promise(tuning.slack_ns) if has_rule and not is_alone else NEVER

    def first(self, tuning: Tuning, is_alone: bool) -> Bound:
        """When it is opened among others: by the least timestamp that is known of it."""
        return NEVER if is_alone else self._seen(tuning).least

    def _seen(self, tuning: Tuning) -> BeforeOpening:
        records = ((record.timestamp_ns, record.file_offset) for record in self.records)
        return before_opening(records, tuning.disorder_bytes or DEFAULT_DISORDER_BYTES)


class Model:
    """All interfaces: their times, an LFTA each, and the union of these."""

    def __init__(self, captures: Sequence[Capture], case: LowCase, tuning: Tuning) -> None:
        self._captures, self._case = captures, case
        self._interfaces = list(dict.fromkeys(capture.interface for capture in captures))
        self._times = [tuning.source_time() for _ in captures]
        self._promises = [c.promise(tuning, len(captures) == 1) for c in captures]
        self._firsts = [c.first(tuning, len(captures) == 1) for c in captures]
        self._time = {name: self._interface_time(name) for name in self._interfaces}
        self._beats = {name: tuning.heartbeats() for name in self._interfaces}
        self._lftas = {name: tuning.lfta(case) for name in self._interfaces}
        self._union = Union(len(self._interfaces), len(case.variables))
        self._next = [0] * len(captures)
        self._open = set(range(len(captures)))

    def _interface_time(self, name: str) -> InterfaceTime:
        of_it = (i for i, capture in enumerate(self._captures) if capture.interface == name)
        return InterfaceTime({str(i): self._promises[i] for i in of_it})

    def next_timestamp(self, source: int) -> Bound:
        """Of its next record; of a source that is not opened, what is known of it."""
        at, records = self._next[source], self._captures[source].records
        if at == 0:
            return self._firsts[source]
        time = records[at].timestamp_ns if at < len(records) else None
        return END if time is None else time

    def last_timestamp(self, source: int) -> Bound:
        """Where its end is looked for: behind its last record."""
        records = self._captures[source].records
        time = records[-1].timestamp_ns if records else None
        return self._firsts[source] if time is None else time

    def is_next(self, source: int) -> bool:
        """Whether no other source has an older record to give."""
        others = (self.next_timestamp(other) for other in self._open)
        return self.next_timestamp(source) <= min(others)

    def start(self) -> list[Token]:
        """What is promised of captures that nobody has opened yet."""
        return [token for name in self._interfaces for token in self._start_of(name)]

    def _start_of(self, name: str) -> list[Token]:
        pairs = zip(self._promises, self._captures, strict=True)
        least = min(promise for promise, capture in pairs if capture.interface == name)
        is_due = self._beats[name].before_packet(least)
        return self._event(name, self._lftas[name].advance(least, least, is_due))

    def read(self, source: int) -> list[Token]:
        """One more record of a source."""
        record = self._captures[source].records[self._next[source]]
        self._next[source] += 1
        interface = self._captures[source].interface
        reading = self._times[source].read(record.timestamp_ns, record.file_offset)
        high, promise = self._time[interface].read(str(source), reading)
        lfta, beats = self._lftas[interface], self._beats[interface]
        tokens = self._event(interface, lfta.advance(high, promise, beats.before_packet(high)))
        kept = record.timestamp_ns is not None and record.timestamp_ns >= self._promises[source]
        row = self._case.accepted(record) if kept and not reading.late else None
        tokens += lfta.enter(*row) if row else ()
        if beats.after_packet():
            tokens += self._event(interface, lfta.advance(high, promise, True))
        return tokens

    def end(self, source: int) -> list[Token]:
        """A source has come to its end; the interface has when it was the last."""
        self._open.discard(source)
        interface = self._captures[source].interface
        high, promise = self._time[interface].end(str(source))
        lfta = self._lftas[interface]
        if any(self._captures[other].interface == interface for other in self._open):
            is_due = self._beats[interface].before_packet(high)
            return self._event(interface, lfta.advance(high, promise, is_due))
        return self._event(interface, lfta.finish())

    def _event(self, interface: str, step: Step | None) -> list[Token]:
        if step is None:
            return []
        before = self._union.punctuation
        port = self._interfaces.index(interface)
        after = self._union.on_batch(port, Batch((), step.punctuation)).punctuation
        tokens: list[Token] = list(step.partials)
        if after != before or step.heartbeat:
            tokens.append(Punctuation(after, step.heartbeat))
        return tokens


def check_sources(
    calls: Sequence[Call],
    captures: Sequence[Capture],
    case: LowCase,
    tuning: Tuning,
    node: str = "q_low",
) -> None:
    """Each call gives what the models give for what it has read, and reads what is next."""
    model, tokens = Model(captures, case, tuning), Tokens(case)
    expected, early = model.start(), list[Token]()
    for call in calls:
        seen = [token for out in call.outs if out.node == node for token in tokens.of(out)]
        for source in sorted(call.ended, key=model.last_timestamp):
            expected += model.end(source)
        if call.records:
            assert model.is_next(call.source)
            expected += [token for _ in range(call.records) for token in model.read(call.source)]
        early += seen
        if call.records or early == expected:
            assert early == expected
            expected, early = [], []
    assert early == expected

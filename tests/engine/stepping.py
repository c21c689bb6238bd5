# SPDX-License-Identifier: Apache-2.0
"""A session stopped after every packet, so that what it puts out is known to belong there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import NativeBatch, check
from gigastream.plan import Plan, plan_queries
from gigastream.punctuation import JointBound
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from gigastream.sessions.session import Session
from gigastream.sessions.shape import SessionOptions
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.models.bounds import END, NEVER, Bound, Joint, Vector

Row = tuple[Any, ...]
NOTHING, INFINITE = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True)
class Out:
    """A batch as it was put out."""

    node: str
    rows: tuple[Row, ...]
    bounds: tuple[int, ...]
    is_heartbeat: bool
    is_end: bool
    is_partial: bool
    sequence: int
    joint: JointBound | None = None
    missing: int = 0
    still_missing: int = 0
    """A bit an interface."""

    def punctuation(self, columns: Sequence[int]) -> Vector:
        """The bounds of these columns, as the models write them."""
        return tuple(bound(self.bounds[column]) for column in columns)

    def joint_of(self, columns: Sequence[int]) -> Joint | None:
        """The joint bound, if it is of these columns, as the models write it."""
        if self.joint is None or not set(self.joint.columns) <= set(columns):
            return None
        a, b = (columns.index(column) for column in self.joint.columns)
        first, second = map(bound, self.joint.bounds)
        return Joint((a, b), (first, second))


@dataclass(frozen=True)
class Call:
    """What one call of the engine did: sources ended, records were read of one, there was output.

    Records that are dropped at the source (late, undecodable) do not end a call, so that it may
    have read more than one; only the last of them can have reached a query. A source ends without
    being read, before another one is.
    """

    source: int
    records: int
    outs: tuple[Out, ...]
    ended: tuple[int, ...] = ()


def bound(value: int) -> Bound:
    """A bound of the engine as the models write it."""
    return {NOTHING: NEVER, INFINITE: END}.get(value, value)


def plan_of(
    text: str, interfaces: Sequence[str] = ("default",), *, is_finite: bool = False
) -> Plan:
    """The plan of GSQL text; of input that ends, also where something waits for that."""
    known: dict[str, dict[str, str]] = {name: {} for name in interfaces}
    texts = QueryTexts(inline_queries((text,)), interfaces=known, is_finite=is_finite)
    return plan_queries(check_texts(texts).queries, is_finite=is_finite)


class Stepper(Session):
    """A session that goes on by at most one record a call."""

    def step(self, timeout_ms: int = 0) -> tuple[bool, tuple[Out, ...]]:
        """(whether this was the end, what was put out)."""
        error = ffi.new("struct gs_error *")
        status = check(int(lib.gs_engine_run(self._engine.native, 1, timeout_ms, error)), error)
        outs = (out_of(e.query, e.batch) for e in self._queries.taken())
        return status == lib.GS_END, tuple(outs)

    def replay_all(self) -> None:
        """By a clock that has come to the end."""
        self._engine.replay_until(INFINITE - 1)

    def progress(self) -> list[tuple[int, bool]]:
        """By source: records read so far, and whether it has ended."""
        native, found = ffi.new("struct gs_source_statistics *"), []
        for index in range(lib.gs_engine_source_count(self._engine.native)):
            lib.gs_engine_source_statistics(self._engine.native, index, native)
            found.append((int(native.read), bool(native.is_ended)))
        return found


def out_of(node: str, batch: NativeBatch) -> Out:
    """A batch, copied out of the engine."""
    rows: tuple[Row, ...] = ()
    if batch.row_count:
        columns = (column.to_pylist() for column in batch.to_arrow().columns)
        rows = tuple(zip(*columns, strict=True))
    flags = batch.is_heartbeat, batch.is_end, batch.is_partial
    missing = int(batch.pointer.missing), int(batch.pointer.still_missing)
    return Out(node, rows, batch.bounds, *flags, batch.sequence, batch.joint, *missing)


def calls(session: Stepper) -> Iterator[Call]:
    """Call after call to the end of the input."""
    ended, before = False, session.progress()
    while not ended:
        ended, outs = session.step()
        after = session.progress()
        yield _call(outs, before, after)
        before = after


def _call(
    outs: tuple[Out, ...], before: list[tuple[int, bool]], after: list[tuple[int, bool]]
) -> Call:
    pairs = list(zip(before, after, strict=True))
    read = [(at, new[0] - old[0]) for at, (old, new) in enumerate(pairs) if new[0] > old[0]]
    assert len(read) <= 1, "a call reads from one source"
    source, records = read[0] if read else (0, 0)
    return Call(source, records, outs, tuple(i for i, (a, b) in enumerate(pairs) if b[1] > a[1]))


def memory_file(data: bytes) -> tuple[int, str]:
    """(descriptor, path) of a file that lies in memory."""
    descriptor = os.memfd_create("capture")
    os.write(descriptor, data)
    return descriptor, f"/proc/self/fd/{descriptor}"


def run_steps(
    plan: Plan,
    captures: Sequence[tuple[str, bytes]],
    settings: Settings,
    taps: Sequence[str] = (),
    *,
    is_hurried: bool = True,
) -> list[Call]:
    """All calls of a run over captures, given as (interface, bytes of the file).

    One that is not hurried has a pace (`--speed`), by which all of its packets are due at once.
    """
    files = [memory_file(data) for _, data in captures]
    names = [interface for interface, _ in captures]
    sources = [FileSource(name, path) for name, (_, path) in zip(names, files, strict=True)]
    try:
        with Stepper(plan, sources, settings, SessionOptions(taps=taps)) as session:
            if not is_hurried:
                session.replay_all()
            return list(calls(session))
    finally:
        for descriptor, _ in files:
            os.close(descriptor)

# SPDX-License-Identifier: Apache-2.0
"""Runs of which only the account is wanted, and the sums that every account must keep."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from gigastream.engine.events import Event
from gigastream.engine.statistics import OperatorStatistics, SourceStatistics, Statistics
from gigastream.plan import Plan
from gigastream.sessions.session import Session
from gigastream.sessions.shape import SessionOptions
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.engine.stepping import Out, Row, memory_file, out_of

DEFAULT = Settings(deliver_every_burst=True)


@dataclass(frozen=True)
class Account:
    """What a run put out and counted."""

    outs: tuple[Out, ...]
    statistics: Statistics

    @property
    def source(self) -> SourceStatistics:
        """The only source."""
        (source,) = self.statistics.sources
        return source

    def rows(self, node: str) -> list[Row]:
        """The rows of an output or of a tapped stream."""
        return [row for out in self.outs if out.node == node for row in out.rows]

    def operator(self, name: str) -> OperatorStatistics:
        """An operator of the high level."""
        return next(op for op in self.statistics.operators if op.name == name)

    def low(self, name: str) -> dict[str, int]:
        """The counters of an LFTA that are not 0, over all interfaces."""
        counted: dict[str, int] = {}
        for lfta in self.statistics.lftas:
            for counter in LOW if lfta.name == name else ():
                counted[counter] = counted.get(counter, 0) + getattr(lfta, counter)
        return {counter: count for counter, count in counted.items() if count}


LOW = ("not_of_protocol", "prefiltered", "rejected", "no_value", "accepted")
SOURCE = ("undecodable", "filtered", "late", "skew", "sampled_out", "decoded")


def account(
    plan: Plan,
    captures: bytes | Sequence[tuple[str, bytes]],
    settings: Settings = DEFAULT,
    taps: Sequence[str] = (),
) -> Account:
    """Run to the end; the account has been found to add up."""
    given = [("default", captures)] if isinstance(captures, bytes) else captures
    files = [(interface, *memory_file(data)) for interface, data in given]
    sources = [FileSource(interface, path) for interface, _, path in files]
    try:
        with Session(plan, sources, settings, SessionOptions(taps=taps)) as session:
            outs = [_out(event) for event in session.batches()]
            found = Account(tuple(outs), session.statistics())
    finally:
        for _, descriptor, _ in files:
            os.close(descriptor)
    adds_up(found.statistics)
    return found


def _out(event: Event) -> Out:
    return out_of(event.query, event.batch)


def adds_up(statistics: Statistics) -> None:
    """The sums of OPERATORS §7; nothing is held once all is out."""
    for source in statistics.sources:
        assert source.read == sum(getattr(source, counter) for counter in SOURCE)
    for lfta in statistics.lftas:
        of_it = [source for source in statistics.sources if source.interface == lfta.interface]
        decoded = sum(source.decoded for source in of_it)
        assert decoded == sum(getattr(lfta, counter) for counter in LOW)
    for op in statistics.operators:
        assert op.held == 0
        if op.kind == "select":
            assert op.rejected is not None
            assert op.no_value is not None
            assert op.rows_in == op.rows_out + op.rejected + op.no_value
        if op.kind == "union":
            assert op.rows_in == op.rows_out

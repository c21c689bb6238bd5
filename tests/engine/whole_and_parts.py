# SPDX-License-Identifier: Apache-2.0
"""The golden queries run whole, and below the border and above it apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import pyarrow

from gigastream.engine.events import Event
from gigastream.gsql.source import SourceFile
from gigastream.plan import Plan, plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.sessions.high_session import HighSession
from gigastream.sessions.session import Session
from gigastream.sessions.shape import SessionOptions
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.answers.golden import OF_ONE_SOURCE, golden_queries
from tests.answers.inputs import INPUTS
from tests.engine.stepping import memory_file

Inputs = tuple[tuple[str, str], ...]
"""Pairs of interface and input."""
GOLDEN_INPUTS: tuple[Inputs, ...] = tuple(
    sorted({g.inputs for g in golden_queries(of_spools=True)})
)
INPUTS_OF_PARTS: tuple[Inputs, ...] = tuple(
    sorted({g.inputs for g in golden_queries(of_spools=True) if not g.is_marked(OF_ONE_SOURCE)})
)
"""Those of queries that do not tell the sources of an interface apart."""


@dataclass(frozen=True)
class Piece:
    """A batch, copied out of the engine."""

    node: str
    interface: str | None
    rows: pyarrow.RecordBatch
    text: bytes
    bounds: tuple[int, ...]
    is_heartbeat: bool
    is_end: bool

    @property
    def shown(self) -> tuple[object, ...]:
        """What another batch must equal."""
        return self.node, self.text, self.bounds, self.is_heartbeat, self.is_end


def piece(event: Event) -> Piece:
    """The batch of an event."""
    batch = event.batch
    flags = batch.is_heartbeat, batch.is_end
    text = batch.csv()
    return Piece(event.query, event.interface, batch.to_arrow(), text, batch.bounds, *flags)


@cache
def plan_of_all(inputs: Inputs, *, of_parts: bool = False) -> Plan:
    """All golden queries of these inputs as one set, so that they are compiled once.

    `of_parts`: without those that tell the sources of an interface apart.
    """
    found = [golden for golden in golden_queries(of_spools=True) if golden.inputs == inputs]
    files = tuple(
        SourceFile(golden.name, golden.text)
        for golden in found
        if not (of_parts and golden.is_marked(OF_ONE_SOURCE))
    )
    interfaces: dict[str, dict[str, str]] = {interface: {} for interface, _ in inputs}
    texts = QueryTexts(files, interfaces=interfaces, is_finite=True)
    return plan_queries(check_texts(texts).queries, is_finite=True)


@cache
def _path(name: str) -> str:
    return memory_file(INPUTS[name]())[1]


def sources(inputs: Inputs) -> list[FileSource]:
    """The captures as files."""
    return [FileSource(interface, _path(name)) for interface, name in inputs]


def run_whole(inputs: Inputs, settings: Settings) -> tuple[list[Piece], list[Piece]]:
    """(what the LFTAs put out, what the queries put out) of one session."""
    with Session(
        plan_of_all(inputs), sources(inputs), settings, SessionOptions(low_taps=True)
    ) as session:
        pieces = [piece(event) for event in session.batches()]
    low = [p for p in pieces if p.interface is not None]
    return low, [p for p in pieces if p.interface is None]


def run_low(inputs: Inputs, settings: Settings) -> list[Piece]:
    """What the LFTAs put out where there is nothing above them."""
    alone = replace(settings, low_level_only=True)
    with Session(
        plan_of_all(inputs), sources(inputs), alone, SessionOptions(low_taps=True)
    ) as session:
        pieces = [piece(event) for event in session.batches()]
        assert session.statistics().operators == ()
    return pieces


def push(session: HighSession, p: Piece) -> None:
    """Give a low piece to the high level."""
    rows = p.rows if p.rows.num_rows else None
    flags = {"is_heartbeat": p.is_heartbeat, "is_end": p.is_end}
    assert p.interface is not None
    session.push(p.node, p.interface, rows, p.bounds, **flags)


def pieces_above(
    plan: Plan, interfaces: Sequence[str], settings: Settings, low: Iterable[Piece]
) -> Iterator[Piece]:
    """What the queries put out, given what the LFTAs did."""
    with HighSession(plan, interfaces, settings) as session:
        for each in low:
            push(session, each)
            yield from map(piece, session.batches())


def run_high(inputs: Inputs, settings: Settings, low: Iterable[Piece]) -> list[Piece]:
    """The same of the golden queries."""
    interfaces = [interface for interface, _ in inputs]
    return list(pieces_above(plan_of_all(inputs), interfaces, settings, low))

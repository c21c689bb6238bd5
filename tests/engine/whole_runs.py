# SPDX-License-Identifier: Apache-2.0
"""What runs of one answer have in common, however many threads make it: rows, windows, account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from gigastream.engine.batch import EngineError
from gigastream.engine.events import Event
from gigastream.engine.statistics import LftaStatistics, SourceStatistics, Statistics
from gigastream.gsql.types import Order
from gigastream.plan import Plan
from gigastream.sessions.divided_session import DividedSession
from gigastream.sessions.session import Session
from gigastream.sources.files import SourceError
from tests.engine.test_threaded import counted

OF_GROUPS = ("aggregate", "slide", "order")
"""Operators that put out groups; of partial rows several tables make more."""
Passed = tuple[str, int, int, int]


@dataclass(frozen=True)
class Told:
    """What must be equal of two runs: `windows` are in their order, the rows of one in none.

    Those of a union have no order: its inputs' windows come as they close.
    """

    rows: Counter[tuple[str, ...]]
    windows: dict[str, list[str]]
    sources: tuple[SourceStatistics, ...]
    lftas: tuple[LftaStatistics, ...]
    passed: tuple[Passed, ...]
    """Of operators that put out groups."""
    texts: dict[str, bytes] = field(compare=False)
    """The lines of each query, as they came."""


def told(plan: Plan, session: Session | DividedSession) -> Told | str:
    """Run a session to its end; or what was told instead."""
    with session:
        try:
            events = list(session.batches())
        except (EngineError, SourceError) as refused:
            return str(refused)
        return told_by(plan, events, session.statistics())


def told_by(plan: Plan, events: Sequence[Event], found: Statistics) -> Told:
    """What the batches and the account of a run say."""
    texts = [(event.query, event.batch.csv()) for event in events]
    ordered = [o.name for o in plan.outputs if o.order[0] is Order.ORDERED]
    of_rows = [o for o in found.operators if o.kind in OF_GROUPS]
    return Told(
        counted(texts),
        {query: _windows(text for name, text in texts if name == query) for query in ordered},
        tuple(map(_source, found.sources)),
        tuple(map(_lfta, found.lftas)),
        tuple((o.name, o.rows_out, o.rejected, o.no_value) for o in of_rows),
        {o.name: b"".join(text for name, text in texts if name == o.name) for o in plan.outputs},
    )


def _windows(texts: Iterable[bytes]) -> list[str]:
    """The first column of the rows, in their order, each once."""
    firsts = [line.split(b",")[0].decode() for text in texts for line in text.splitlines()]
    return [first for at, first in enumerate(firsts) if at == 0 or firsts[at - 1] != first]


def _source(source: SourceStatistics) -> SourceStatistics:
    """Without requests for time, which depend on who waits for whom."""
    return replace(source, asked=0, answered=0)


def _lfta(lfta: LftaStatistics) -> LftaStatistics:
    """Without what is of the tables, which are several, and how often their groups collide."""
    return replace(lfta, evicted=0, slots=0, held_bytes=0, peak_bytes=0, groups_most=0, rows_out=0)

# SPDX-License-Identifier: Apache-2.0
"""One STREAM with a field of every type, and what is answered of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gigastream.engine.statistics import SourceStatistics
from gigastream.gsql.catalog.build import load_catalog
from gigastream.gsql.source import SourceFile
from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.records.source import StreamSource, stream_sources
from gigastream.sessions.session import Session
from gigastream.settings import Settings

DEFINITIONS = Path(__file__).parent / "events.gsql"
ALL = SourceFile("all_events", "SELECT * FROM events")
START = "2026-11-21T09:08:00Z"
START_NS = 1_795_252_080 * 10**9


@dataclass(frozen=True)
class Answered:
    """Rows as lines of csv, and the counters of the source."""

    lines: list[str]
    source: SourceStatistics


def source_of(place: str | Path | Iterable[Any]) -> StreamSource:
    """The source of the STREAM's records."""
    (found,) = stream_sources({"events": place}, load_catalog([DEFINITIONS]).streams)
    found.check()
    return found


def answer(
    place: str | Path | Iterable[Any], query: SourceFile = ALL, settings: Settings | None = None
) -> Answered:
    """What a query answers of records that end."""
    source = source_of(place)
    texts = QueryTexts((query,), definitions=(str(DEFINITIONS),), interfaces={source.interface: {}})
    lines: list[str] = []
    with Session(plan_queries(check_texts(texts).queries), [source], settings) as session:
        for event in session.batches():
            lines += event.batch.csv().decode().splitlines()
        (statistics,) = session.statistics().sources
    counted = statistics.undecodable + statistics.late + statistics.decoded
    assert statistics.read == counted
    return Answered(lines, statistics)


def row(**changed: Any) -> dict[str, Any]:
    """A record that is good, but for what is changed."""
    given: dict[str, Any] = {
        "at": START,
        "flag": True,
        "small": 1,
        "count": 2,
        "delta": -3,
        "total": 4,
        "change": -5,
        "rate": 1.5,
        "name": "a,b",
        "four": "10.0.0.1",
        "six": "2001:db8::1",
        "either": "10.0.0.2",
        "seen": "2026-11-21T09:07:59.123456789Z",
    }
    return {**given, **changed}


LINE = (
    '2026-11-21T09:08:00.000000000Z,true,1,2,-3,4,-5,1.5,"a,b",10.0.0.1,2001:db8::1,10.0.0.2,'
    "2026-11-21T09:07:59.123456789Z"
)
"""What is answered of such a record."""

# SPDX-License-Identifier: Apache-2.0
"""The engine's answers, in this process: a query set is planned once and run over many sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gigastream.engine.statistics import Statistics
from gigastream.gsql.queries import CheckedQuery
from gigastream.gsql.source import SourceFile
from gigastream.plan import Plan, plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.records.source import StreamSource
from gigastream.sessions.divided_session import DividedSession
from gigastream.sessions.session import Session
from gigastream.sessions.shape import SessionOptions
from gigastream.settings import Settings
from gigastream.sources.files import DEFAULT_INTERFACE, FileSource
from tests.answers.paths import opened
from tests.oracle.rows import Cell, parse_csv

Rows = list[list[Cell]]


@dataclass(frozen=True)
class Given:
    """What the engine gave: the rows of every output as cells of text, and its counters."""

    rows: dict[str, Rows]
    statistics: Statistics


def plan_of(
    text: str,
    name: str = "query",
    interfaces: Sequence[str] = (DEFAULT_INTERFACE,),
    definitions: Sequence[str] = (),
) -> Plan:
    """The plan of a query set, with files of definitions. GsqlError says what is wrong with it."""
    return plan_queries(checked(text, name, interfaces, definitions))


def checked(
    text: str,
    name: str = "query",
    interfaces: Sequence[str] = (DEFAULT_INTERFACE,),
    definitions: Sequence[str] = (),
) -> Sequence[CheckedQuery]:
    """The queries of a set, before they are planned."""
    given = {name: {} for name in interfaces}
    files = (SourceFile(name, text),)
    texts = QueryTexts(files, {}, tuple(definitions), interfaces=given)
    return check_texts(texts).queries


def run(
    plan: Plan,
    sources: Sequence[FileSource | StreamSource],
    settings: Settings,
    definitions: Sequence[str] = (),
) -> Given:
    """All rows of all outputs, in the order in which they came.

    By `jobs` threads, where the settings say so: paths.py.
    """
    options = SessionOptions(include=QueryTexts((), definitions=tuple(definitions)).include)
    return given_by(plan, opened(plan, sources, settings, options))


def given_by(plan: Plan, opened: Session | DividedSession) -> Given:
    """The same of a session."""
    texts: dict[str, list[bytes]] = {output.name: [] for output in plan.outputs}
    with opened as session:
        for event in session.batches():
            if event.batch.row_count:
                texts[event.query].append(event.batch.csv())
        statistics = session.statistics()
    return Given({name: cells(b"".join(text)) for name, text in texts.items()}, statistics)


def source(path: str | Path, interface: str = DEFAULT_INTERFACE) -> FileSource:
    """A capture file as a source."""
    return FileSource(interface, str(path))


def cells(lines: bytes) -> Rows:
    """Lines of csv without a header as cells."""
    text = lines.decode()
    if '"' in text:
        return parse_csv(f"header\n{text}")[1]
    return [[cell or None for cell in line.split(",")] for line in text.split("\n")[:-1]]

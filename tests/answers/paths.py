# SPDX-License-Identifier: Apache-2.0
"""Who reads the packets of a file, and how: the one list of what must not change an answer.

`run` (engine.py) opens its sessions here, so that every test of one answer may ask for any of them.
Where several threads are asked for, a capture of the tests is cut in many pieces, small as it is;
where one has to answer, the reason is one of those that the documentation gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Barrier, BrokenBarrierError
from typing import Any

from gigastream.plan import Plan
from gigastream.records.source import AnySource
from gigastream.sessions.divided_session import DividedSession, why_undivided, why_whole
from gigastream.sessions.exchanging_session import ExchangingSession, exchanges_rows
from gigastream.sessions.replay import open_divided, open_replay
from gigastream.sessions.session import Session
from gigastream.sessions.shape import NO_OPTIONS, SessionOptions
from gigastream.settings import Settings
from gigastream.sources.files import FileSource

JOBS = 3
PATHS: dict[str, dict[str, Any]] = {
    "one-thread": {},
    "three-threads": {"jobs": JOBS},
    "decoded-ahead": {"fast_path": False},
    "three-threads-decoded-ahead": {"jobs": JOBS, "fast_path": False},
}
"""Settings that change no row."""
PIECES = 24
"""About so many has a file that threads divide: each takes several, and overtakes others."""
WAITED_FOR_S = 0.1
"""By a thread that has a piece, for the others to have one."""
EXCHANGING, ONE_HIGH_LEVEL, ONE_THREAD = "exchanging", "one-high-level", "one-thread"
"""How several threads answer: each has part of the groups; they share what is above; not at all."""

DOCUMENTED = {
    "files of several interfaces are read together": "files of several interfaces",
    "only capture files that are no pipes, and not compressed": "compressed files",
    "packets have the time at which they are read": "`--timestamps internal`",
    "needs packets, or rows, in their order": "`--count`",
    "has rows in their order": "rows of single packets and what is made of them above the border",
    "sees other packets than the capture has": "reassembly and tunnels",
    "remembers packets, or counts them, from the first one on": "windows of rows",
    "shows partial groups, of which several tables have more": "partial groups that are shown",
    "an aggregate in C, which may tell in which order it is fed": "aggregates in C",
    "keeps floats: of 0.0 and -0.0, which are equal, the first": "floats that are kept",
    "a watchlist is read again while packets are": "watchlists",
}
"""Reasons why one thread answers, and what docs/operations.md says of them under All cores."""


def on_every_path(settings: Settings) -> list[Settings]:
    """The same settings by each path."""
    return [replace(settings, **changed) for changed in PATHS.values()]


def opened(
    plan: Plan,
    sources: Sequence[AnySource],
    settings: Settings,
    options: SessionOptions = NO_OPTIONS,
    *,
    waited_for_s: float = WAITED_FOR_S,
) -> Session | DividedSession:
    """A session by as many threads as the settings say, or by one for a documented reason."""
    if settings.jobs == 1:
        return Session(plan, sources, settings, options)
    why = why_undivided(plan, sources, settings)
    if why is not None:
        assert_documented(why)
        alone = open_replay(plan, sources, settings, options)
        assert isinstance(alone, Session)
        return alone
    files = [source for source in sources if isinstance(source, FileSource)]
    session = open_divided(plan, files, settings, options, extent_bytes=extent_of(*files))
    assert isinstance(session, ExchangingSession) == exchanges_rows(plan, settings)
    return side_by_side(session, waited_for_s)


def with_one_high_level(plan: Plan, source: FileSource, settings: Settings) -> DividedSession:
    """Threads that could have part of the groups each, but do not."""
    return side_by_side(
        DividedSession(plan, [source], settings, extent_bytes=extent_of(source)),
    )


def side_by_side(session: DividedSession, waited_for_s: float = WAITED_FOR_S) -> DividedSession:
    """Let no thread go on before each has a piece of the file.

    One that begins first has else read all of a small capture before another has opened it: only
    from then on nobody goes far ahead of the slowest. Where a thread cannot have one, since a
    record is longer than many pieces or there are too few of them, it is waited for no longer.
    """
    read_all, all_have_begun = session._read_all, Barrier(len(session._lows))

    def read(part: int) -> None:
        try:
            session._lows[part]._engine.run(1, 0)
        finally:
            with suppress(BrokenBarrierError):
                all_have_begun.wait(waited_for_s)
        read_all(part)

    session._read_all = read  # type: ignore[method-assign]
    return session


def extent_of(*files: FileSource) -> int:
    """Of so many bytes are the pieces: fewer than some records, of the smallest captures."""
    return max(1, sum(file.size for file in files) // PIECES)


def kind_of(plan: Plan) -> str:
    """How threads divide a plan over a file; if not at all, the reason is a documented one."""
    why = why_whole(plan)
    if why is not None:
        assert_documented(why)
        return ONE_THREAD
    return EXCHANGING if exchanges_rows(plan, Settings(jobs=JOBS)) else ONE_HIGH_LEVEL


def assert_documented(why: str) -> None:
    """Raise AssertionError for a reason that nobody has written down."""
    assert any(reason in why for reason in DOCUMENTED), f"an undocumented reason: {why}"

# SPDX-License-Identifier: Apache-2.0
"""A session over what has an end, by as many threads as are asked for and of use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gigastream.plan import Plan
from gigastream.records.source import AnySource
from gigastream.sessions.session import Session
from gigastream.sessions.shape import NO_OPTIONS, SessionOptions
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.sources.packets import PacketSource

if TYPE_CHECKING:
    from gigastream.sessions.divided_session import DividedSession


def open_replay(
    plan: Plan,
    sources: Sequence[AnySource | PacketSource],
    settings: Settings,
    options: SessionOptions = NO_OPTIONS,
) -> Session | DividedSession:
    """Open one by `jobs` threads, or by one where the packets cannot be divided.

    SourceError, EngineError.
    """
    if settings.jobs > 1:
        from gigastream.sessions.divided_session import why_undivided

        if why_undivided(plan, sources, settings) is None:
            files = [source for source in sources if isinstance(source, FileSource)]
            return open_divided(plan, files, settings, options)
    return Session(plan, sources, settings, options)


def open_divided(
    plan: Plan,
    sources: Sequence[FileSource],
    settings: Settings,
    options: SessionOptions = NO_OPTIONS,
    *,
    extent_bytes: int = 0,
) -> DividedSession:
    """Open one by `jobs` threads of sources of which why_undivided() has nothing to say."""
    from gigastream.sessions.divided_session import DividedSession
    from gigastream.sessions.exchanging_session import ExchangingSession, exchanges_rows

    kind = ExchangingSession if exchanges_rows(plan, settings) else DividedSession
    return kind(plan, sources, settings, options, extent_bytes=extent_bytes)

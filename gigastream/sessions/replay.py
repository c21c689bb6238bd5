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
        from gigastream.sessions.divided_session import DividedSession, why_undivided

        if why_undivided(plan, sources, settings) is None:
            (source,) = sources
            assert isinstance(source, FileSource)
            return DividedSession(plan, source, settings, options)
    return Session(plan, sources, settings, options)

# SPDX-License-Identifier: Apache-2.0
"""Whoever can run one session can run another."""

from __future__ import annotations

import pytest

from gigastream.sessions.high_session import HighSession
from gigastream.sessions.low_session import LowSession
from gigastream.sessions.session import Session
from gigastream.sessions.shape import AnySession, Closing, ReadingSession
from gigastream.sessions.spool_session import SpoolSession
from gigastream.sessions.threaded_session import ThreadedSession

READING = (LowSession, Session, SpoolSession, ThreadedSession)


@pytest.mark.parametrize("session", [*READING, HighSession])
def test_every_session_is_counted_and_closed(session: type) -> None:
    assert issubclass(session, AnySession)
    assert issubclass(session, Closing)


@pytest.mark.parametrize("session", READING)
def test_what_reads_by_itself_goes_turn_by_turn_and_can_be_stopped(session: type) -> None:
    assert issubclass(session, ReadingSession)
    assert not issubclass(HighSession, ReadingSession)

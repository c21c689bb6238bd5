# SPDX-License-Identifier: Apache-2.0
"""What signals ask of a run: that it ends in good order, or tells its account so far."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from gigastream.cli.stderr import Line, is_terminal

_OF_SERVICES = (signal.SIGTERM, signal.SIGHUP)
_SLOW_S = 0.5


class Stoppable(Protocol):
    """What a signal can end in good order."""

    def stop(self) -> None: ...


class Asked:
    """What signals have asked for."""

    is_patient = True
    """Whether a reader who reads nothing is waited for: not once SIGTERM or SIGHUP has come."""
    has_stopped = False
    """Whether the input was ended before it had."""
    account = False
    """Whether the account so far is to be told (SIGUSR1)."""


@contextmanager
def told_when_slow(text: str) -> Iterator[None]:
    """Say what takes so long, on a terminal, while it does. Without a thread: none may be here."""
    if not is_terminal():
        yield
        return
    line = Line()
    before = signal.signal(signal.SIGALRM, lambda *_: line.show(text))
    signal.setitimer(signal.ITIMER_REAL, _SLOW_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        line.clear()


@contextmanager
def stopped_by_signals(session: Stoppable, after_s: float | None = None) -> Iterator[Asked]:
    """Let a signal, or the end of a time, end a session in good order.

    The open windows are answered.

    A second Ctrl-C is not waited for. Where SIGHUP is ignored (nohup), it stays so.
    """
    asked = Asked()

    def stop(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        if number in _OF_SERVICES:
            asked.is_patient = False
        end()

    def end(*_: object) -> None:
        asked.has_stopped = True
        session.stop()

    def tell(_number: int, _frame: object) -> None:
        asked.account = True

    wanted = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        wanted.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in wanted}
    before[signal.SIGUSR1] = signal.signal(signal.SIGUSR1, tell)
    if after_s is not None:
        before[signal.SIGALRM] = signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, after_s)
    try:
        yield asked
    finally:
        if after_s is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)

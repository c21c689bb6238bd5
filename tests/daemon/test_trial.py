# SPDX-License-Identifier: Apache-2.0
"""Sets that are attached one after another, to find whose fault crashes are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from gigastream.daemon import trial
from gigastream.daemon.messages import AttachOrder, CaptureReport, OrderDone
from gigastream.daemon.trial import Trial

TURNS = 100
"""Of the loop, in which whatever can end does."""


def report(at_ns: int) -> CaptureReport:
    return CaptureReport(incarnation=0, at_ns=at_ns, sources=(), sets=())


class Kept:
    """A keeper whose capture process does what it is told."""

    def __init__(self) -> None:
        self.link: Any = SimpleNamespace(is_open=True, last_report=report(1))

    async def order(self, order: AttachOrder) -> OrderDone:
        return OrderDone(number=order.number)


Script = Callable[[Kept, Trial, asyncio.Task[OrderDone | None]], Awaitable[None]]


def play(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attach a set, and let what follows happen."""
    monkeypatch.setattr(trial, "_LOOK_S", 0)

    async def run() -> None:
        keeper: Any = Kept()
        tried = Trial(keeper)
        tried._watched_s = 0
        order = AttachOrder(number=1, name="a", object_path="/a.so", outputs=())
        attaching = asyncio.create_task(tried.attach("a", order))
        for _ in range(TURNS):
            await asyncio.sleep(0)
        await script(keeper, tried, attaching)

    asyncio.run(run())


def test_a_set_is_let_off_when_the_process_has_reported_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where it stood still, with its host, time has passed in which the set could do nothing."""

    async def script(keeper: Kept, tried: Trial, attaching: asyncio.Task[OrderDone | None]) -> None:
        assert not attaching.done()
        assert tried.suspect == "a"
        keeper.link.last_report = report(2)
        assert await attaching == OrderDone(number=1)
        assert tried.suspect is None

    play(script, monkeypatch)


def test_a_process_that_ends_instead_leaves_the_suspect(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(keeper: Kept, tried: Trial, attaching: asyncio.Task[OrderDone | None]) -> None:
        keeper.link.is_open = False
        assert await attaching is None
        assert tried.suspect == "a"

    play(script, monkeypatch)

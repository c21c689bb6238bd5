# SPDX-License-Identifier: Apache-2.0
"""Requests have one answer each."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from gigastream.daemon.answering import Answering
from gigastream.daemon.audit import AuditLog
from gigastream.daemon.messages import Answered, StopDaemon


@pytest.mark.parametrize("has_left", [False, True])
def test_the_end_is_answered_once(has_left: bool) -> None:
    """Before it begins, since then the client is hung up on; it comes also where he has left."""
    said: list[Any] = []

    async def answer(message: Any) -> None:
        said.append(message)
        if has_left:
            raise ConnectionResetError

    async def hangs_up() -> None:
        raise AssertionError

    peer = SimpleNamespace(uid=0, pid=1)
    client: Any = SimpleNamespace(peer=peer, answer=answer, hangs_up=hangs_up)
    daemon: Any = SimpleNamespace(stop=lambda: said.append("the end"))
    with suppress(ConnectionResetError):  # of which the server knows what to do
        assert asyncio.run(Answering(daemon, AuditLog(None))(StopDaemon(), client)) is None
    assert said == [Answered(ok=True), "the end"]

# SPDX-License-Identifier: Apache-2.0
"""Requests have one answer each."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from gigastream.daemon.answering import Answering
from gigastream.daemon.audit import AuditLog
from gigastream.daemon.messages import Answered, StopDaemon


def test_the_end_is_answered_once() -> None:
    """Before it begins, since then the client is hung up on."""
    said: list[Any] = []

    async def answer(message: Any) -> None:
        said.append(message)

    async def hangs_up() -> None:
        raise AssertionError

    peer = SimpleNamespace(uid=0, pid=1)
    client: Any = SimpleNamespace(peer=peer, answer=answer, hangs_up=hangs_up)
    daemon: Any = SimpleNamespace(stop=lambda: said.append("the end"))
    behind = asyncio.run(Answering(daemon, AuditLog(None))(StopDaemon(), client))
    assert (said, behind) == ([Answered(ok=True), "the end"], None)

# SPDX-License-Identifier: Apache-2.0
"""Orders that descriptors belong to, as the supervisor sends them."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import Any, cast

import pytest

from gigastream.daemon import capture_link
from gigastream.daemon.capture_link import CaptureLink
from gigastream.daemon.framing import frame
from gigastream.daemon.input_messages import PeerOrder
from gigastream.daemon.launching import Child
from gigastream.daemon.messages import OrderDone
from gigastream.daemon.start_frames import start_frames
from tests.daemon.capture import start_of
from tests.waiting import PATIENCE_S

_WITHIN_S = PATIENCE_S / 2


def test_what_there_is_room_for_is_sent_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port's peers are handed over one by one: a pause for each is what they all wait for."""
    monkeypatch.setattr(capture_link, "_LOOK_AGAIN_S", PATIENCE_S)
    ours, theirs = socket.socketpair()
    start = start_of(tmp_path)
    order = PeerOrder(number=7, stream=0, label="peer 127.0.0.1 port 9")

    def answered() -> list[int]:
        """What the capture process does of it."""
        begun = len(b"".join(start_frames(start)))
        theirs.recv(begun, socket.MSG_WAITALL)
        data, handed, _, _ = socket.recv_fds(theirs, 1 << 16, 4)
        assert data == frame(order)
        theirs.sendall(frame(OrderDone(number=order.number)))
        return handed

    async def give() -> list[int]:
        child = Child(number=0, channel=ours)
        link = CaptureLink(cast(Any, None), child, lambda _report: None, start)
        hearing = asyncio.create_task(link.run())
        answer = asyncio.create_task(asyncio.to_thread(answered))
        async with asyncio.timeout(_WITHIN_S):
            done = await link.order(order, [theirs.fileno()])
        assert done == OrderDone(number=order.number)
        child.ended.set_result(0)
        theirs.shutdown(socket.SHUT_RDWR)
        await hearing
        return await answer

    (handed,) = asyncio.run(give())
    os.close(handed)
    theirs.close()

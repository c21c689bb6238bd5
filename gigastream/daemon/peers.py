# SPDX-License-Identifier: Apache-2.0
"""Peers of STREAMs' ports: taken by the supervisor, read by the capture process, which takes none.

A port is the supervisor's, and outlives who reads: while no capture process is there, or all of a
port's places are taken, one peer waits here and the others in the kernel.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping

from gigastream.daemon.input_messages import PeerOrder
from gigastream.daemon.keeping import Keeper
from gigastream.records.peers import peer_label

_LOOK_AGAIN_S = 0.2


class PeerTaking:
    """Takes them within the running loop, from its beginning to close()."""

    def __init__(self, ports: Mapping[int, socket.socket], keeper: Keeper) -> None:
        """`ports` listen, by the places of their STREAMs."""
        self._keeper = keeper
        self._tasks = [
            asyncio.create_task(self._take(stream, port)) for stream, port in ports.items()
        ]

    def close(self) -> None:
        """Take no more."""
        for task in self._tasks:
            task.cancel()

    async def _take(self, stream: int, port: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                peer, address = await loop.sock_accept(port)
            except OSError:  # it has left already, or there are too many descriptors
                await asyncio.sleep(_LOOK_AGAIN_S)
                continue
            with peer:
                await self._hand_over(stream, peer, peer_label(address))

    async def _hand_over(self, stream: int, peer: socket.socket, label: str) -> None:
        """To whoever reads, as soon as there is room."""
        while True:
            number = self._keeper.next_number()
            order = PeerOrder(number=number, stream=stream, label=label)
            done = await self._keeper.order(order, [peer.fileno()])
            if done.error is None:
                return
            await asyncio.sleep(_LOOK_AGAIN_S)

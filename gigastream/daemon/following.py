# SPDX-License-Identifier: Apache-2.0
"""Followers: rows of queries on their way to clients, who lose rows where they are too slow."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator

from gigastream.daemon.control import Client
from gigastream.daemon.keeping import Keeper
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import (
    Answered,
    TailLine,
    TailOrder,
    TailQuery,
    TailRows,
    UntailOrder,
)
from gigastream.late_dataclass import dataclass, field

TAIL_BYTES = 8 << 20
"""That may wait for a client; more is lost to it."""


@dataclass(eq=False)
class _Followed:
    client: Client
    asked: TailQuery
    lost: int = 0
    incarnation: int = -1
    """Of the capture process that was asked for its rows last."""
    is_answered: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Followers:
    """Of all clients, by the number of the order that began each."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._tails: dict[int, _Followed] = {}

    async def follow(self, asked: TailQuery, client: Client) -> None:
        """Send rows until the client is gone or there are no more. DaemonError."""
        tail = _Followed(client, asked)
        await self._begin(tail)
        try:
            ends = [asyncio.ensure_future(e) for e in (tail.over.wait(), client.leaves())]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends:
                end.cancel()
        finally:
            await self._end(tail)

    async def begin_again(self) -> None:
        """Ask a new capture process for what its predecessor has sent."""
        for number, tail in list(self._tails.items()):
            if tail.incarnation == self._keeper.incarnation:
                continue  # it has come since
            if self._tails.pop(number, None) is not None:  # else its client has left meanwhile
                await self._renew(tail)

    async def _renew(self, tail: _Followed) -> None:
        try:
            await self._begin(tail)
        except DaemonError:
            if not self._keeper.is_heard and not tail.over.is_set():
                self._tails[self._keeper.next_number()] = tail  # the next process is asked
                return
            tail.client.put(TailLine(arrow="", lost=tail.lost, over=True))
            tail.over.set()

    def take(self, rows: TailRows) -> None:
        """Hand rows on."""
        tail = self._tails.get(rows.tail)
        if tail is None:
            return
        if tail.client.waiting_bytes > TAIL_BYTES and not rows.over:
            tail.lost += rows.lost + rows.rows
            return
        _answer(tail)
        arrow = base64.b64encode(rows.arrow).decode()
        tail.client.put(TailLine(arrow=arrow, lost=rows.lost + tail.lost, over=rows.over))
        tail.lost = 0
        if rows.over:
            tail.over.set()

    async def _begin(self, tail: _Followed) -> None:
        number = self._keeper.next_number()
        self._tails[number] = tail
        tail.incarnation = self._keeper.incarnation
        asked = tail.asked
        order = TailOrder(number=number, query=asked.query, set_name=asked.set_name)
        done = await self._keeper.order(order)
        if done.error is not None:
            self._tails.pop(number, None)
            raise DaemonError(done.error, done.hint)
        _answer(tail)

    async def _end(self, tail: _Followed) -> None:
        tail.over.set()
        for number in list(self._numbers_of(tail)):
            self._tails.pop(number, None)
            own = self._keeper.next_number()
            await self._keeper.order(UntailOrder(number=own, tail=number))

    def _numbers_of(self, tail: _Followed) -> Iterator[int]:
        return (number for number, other in self._tails.items() if other is tail)


def _answer(tail: _Followed) -> None:
    """Say that rows follow, before the first of them: they may be here before the order is done."""
    if not tail.is_answered:
        tail.is_answered = True
        tail.client.put(Answered(ok=True))

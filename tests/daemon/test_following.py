# SPDX-License-Identifier: Apache-2.0
"""Tails whose client leaves, or comes, while one capture process follows another."""

from __future__ import annotations

import asyncio
from typing import Any

from gigastream.daemon.following import Followers
from gigastream.daemon.messages import Answered, Order, OrderDone, TailLine, TailOrder, TailQuery

GONE = "the capture process ended"


class Watching:
    """A client, who leaves when it is told to."""

    def __init__(self) -> None:
        self.has_left = asyncio.Event()
        self.said: list[Any] = []
        self.waiting_bytes = 0

    async def leaves(self) -> None:
        """Wait until it does."""
        await self.has_left.wait()

    def put(self, message: Any) -> None:
        """What it gets."""
        self.said.append(message)


class Asked:
    """A keeper of capture processes that answer when they are told to."""

    def __init__(self) -> None:
        self.incarnation = 0
        self.is_heard = True
        self.orders: list[Order] = []
        self.answers: list[asyncio.Future[str | None]] = []
        self._numbers = 0

    def next_number(self) -> int:
        """Of an order."""
        self._numbers += 1
        return self._numbers

    async def order(self, order: Order) -> OrderDone:
        """Wait for the answer; nobody waits for the end of a tail."""
        self.orders.append(order)
        if not isinstance(order, TailOrder):
            return OrderDone(number=order.number)
        self.answers.append(asyncio.get_running_loop().create_future())
        return OrderDone(number=order.number, error=await self.answers[-1])

    async def asked(self, count: int) -> None:
        """Wait for so many tails' orders."""
        while len(self.answers) < count:
            await asyncio.sleep(0)


async def follow(tails: Followers, keeper: Asked) -> tuple[Watching, asyncio.Task[None]]:
    """Begin to watch; the order is on its way."""
    client, count = Watching(), len(keeper.answers)
    watches: Any = tails.follow(TailQuery(query="q"), client)  # type: ignore[arg-type]
    task = asyncio.create_task(watches)
    await keeper.asked(count + 1)
    return client, task


def play(script: Any) -> None:
    """Run it."""

    async def run() -> None:
        async with asyncio.timeout(60):
            keeper = Asked()
            await script(keeper, Followers(keeper))  # type: ignore[arg-type]

    asyncio.run(run())


def test_a_client_that_comes_meanwhile_is_asked_for_once() -> None:
    """Of the process that has just begun: it would have each row twice."""

    async def script(keeper: Asked, tails: Followers) -> None:
        before, one = await follow(tails, keeper)
        keeper.answers[0].set_result(None)
        keeper.incarnation = 1
        _, other = await follow(tails, keeper)
        again = asyncio.create_task(tails.begin_again())
        await keeper.asked(3)
        for answer in keeper.answers[1:]:
            answer.set_result(None)
        await again
        assert len(keeper.answers) == 3
        assert before.said == [Answered(ok=True)]
        for each in (one, other):
            each.cancel()

    play(script)


def test_a_client_that_leaves_meanwhile_is_forgotten() -> None:
    """Before its turn, or while the order is on its way, which is taken back."""

    async def script(keeper: Asked, tails: Followers) -> None:
        clients, tasks = [], []
        for count in range(3):
            client, task = await follow(tails, keeper)
            keeper.answers[count].set_result(None)
            clients.append(client)
            tasks.append(task)
        keeper.incarnation = 1
        again = asyncio.create_task(tails.begin_again())
        await keeper.asked(4)
        for client, task in zip(clients[:2], tasks, strict=False):
            client.has_left.set()
            await task
        keeper.answers[3].set_result("no such query")
        await keeper.asked(5)
        keeper.answers[4].set_result(None)
        await again
        assert len(keeper.answers) == 5
        clients[2].has_left.set()
        await tasks[2]
        assert tails._tails == {}

    play(script)


def test_a_process_that_crashes_meanwhile_ends_no_tail() -> None:
    """The next one is asked; where there is no such query any more it is over."""

    async def script(keeper: Asked, tails: Followers) -> None:
        client, task = await follow(tails, keeper)
        keeper.answers[0].set_result(None)
        keeper.incarnation, keeper.is_heard = 1, False
        for error in (GONE, None, "no such query"):
            again = asyncio.create_task(tails.begin_again())
            await keeper.asked(1 + keeper.incarnation)
            keeper.answers[-1].set_result(error)
            await again
            assert not task.done()
            keeper.incarnation, keeper.is_heard = keeper.incarnation + 1, True
        await task
        assert client.said == [Answered(ok=True), TailLine(arrow="", over=True)]

    play(script)

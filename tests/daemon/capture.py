# SPDX-License-Identifier: Apache-2.0
"""A capture process as its supervisor has it: a fork, and the other end of its channel."""

from __future__ import annotations

import os
import select
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from gigastream.compiled import write_object
from gigastream.daemon.capture_process import run_capture
from gigastream.daemon.framing import frame, report_reader
from gigastream.daemon.messages import (
    AttachOrder,
    CaptureOver,
    CaptureReady,
    CaptureReport,
    CaptureStart,
    EndOrder,
    Order,
    OrderDone,
    OutputSpec,
    TailRows,
)
from gigastream.engine.batch import NativeBatch  # noqa: F401 - the child has the engine loaded
from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from gigastream.settings import Settings
from tests.waiting import PATIENCE_S

T = TypeVar("T")


class Captured:
    """The process, and all that it has said."""

    def __init__(self, start: CaptureStart) -> None:
        self._channel, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self._channel.close()
            code = 70
            try:
                code = run_capture(theirs.fileno(), start)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        theirs.close()
        self._reader = report_reader()
        self._numbers = iter(range(1, 1 << 30))
        self.said: list[Any] = []
        self.code: int | None = None

    def number(self) -> int:
        return next(self._numbers)

    def order(self, *orders: Order) -> None:
        """All of them are there before it carries out the first, which may begin the reading."""
        self._channel.sendall(b"".join(map(frame, orders)))

    def done(self, order: Order) -> OrderDone:
        """Give an order, and wait for the answer."""
        self.order(order)
        return self.wait(OrderDone, lambda done: done.number == order.number)

    def wait(self, kind: type[T], is_it: Callable[[T], bool] = lambda _: True) -> T:
        """Something that it has said, or says: the first of its kind that is it."""
        until, looked = time.monotonic() + PATIENCE_S, 0
        while True:
            for message in self.said[looked:]:
                if isinstance(message, kind) and is_it(message):
                    return message
            looked = len(self.said)
            assert time.monotonic() < until, f"waited in vain for {kind.__name__}"
            assert self.hear(1), f"it ended with {self.reap()}: {self.said[-1:]}"

    def hear(self, seconds: float) -> bool:
        """False: it says nothing any more."""
        if not select.select([self._channel], [], [], seconds)[0]:
            return True
        try:
            received = self._channel.recv(1 << 20)
        except ConnectionResetError:  # it was killed with orders unread
            received = b""
        self.said += self._reader.feed(received)
        return bool(received)

    def report(self) -> CaptureReport:
        """The next one."""
        count = len(self.said)
        return self.wait(CaptureReport, lambda report: report not in self.said[:count])

    def last(self, kind: type[T]) -> T:
        return next(message for message in reversed(self.said) if isinstance(message, kind))

    def tail_rows(self, number: int) -> list[TailRows]:
        return [m for m in self.said if isinstance(m, TailRows) and m.tail == number]

    def attach(
        self, name: str, object_path: Path, *outputs: OutputSpec, **options: Any
    ) -> OrderDone:
        return self.done(self.attach_order(name, object_path, *outputs, **options))

    def attach_order(
        self, name: str, object_path: Path, *outputs: OutputSpec, **options: Any
    ) -> AttachOrder:
        return AttachOrder(
            number=self.number(),
            name=name,
            object_path=str(object_path),
            outputs=outputs,
            **options,
        )

    def end(self) -> CaptureOver:
        """Order the end; how it was."""
        self.order(EndOrder(number=self.number()))
        return self.over()

    def over(self) -> CaptureOver:
        over = self.wait(CaptureOver)
        self.reap()
        return over

    def hang_up(self) -> None:
        self._channel.close()

    def reap(self) -> int:
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code

    def kill(self) -> None:
        if self.code is None:
            os.kill(self.pid, 9)
            self.reap()
        self._channel.close()


@contextmanager
def capturing(start: CaptureStart) -> Iterator[Captured]:
    """A capture process that does not outlive the test, and is ready."""
    captured = Captured(start)
    try:
        captured.wait(CaptureReady)
        yield captured
    finally:
        captured.kill()


def object_of(folder: Path, name: str, text: str, interfaces: Sequence[str]) -> Path:
    """A query set as the compile helper leaves it."""
    known: dict[str, dict[str, str]] = {interface: {} for interface in interfaces}
    texts = QueryTexts(inline_queries((text,)), interfaces=known)
    plan = plan_queries(check_texts(texts).queries)
    made = write_object(plan, texts, folder / f"{name}.so")
    made.chmod(0o755)
    return made


def start_of(folder: Path, **options: Any) -> CaptureStart:
    """What a capture process is begun with that may write below a folder."""
    chosen: dict[str, Any] = {"incarnation": 0, "links": (), "settings": Settings()}
    chosen |= {"folders": (str(folder),), "cache": str(folder), "user": "nobody"}
    return CaptureStart(**chosen | options)


def output_to(path: Path, output_format: str = "csv") -> OutputSpec:
    return OutputSpec(format=output_format, path=str(path))

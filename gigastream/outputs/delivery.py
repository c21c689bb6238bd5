# SPDX-License-Identifier: Apache-2.0
"""Rows on their way to the output, in a thread of their own.

Who reads them slowly does not keep the capture from reading packets, up to a bound in bytes. Where
so much waits, the engine waits: a file is read no further, the ring of a link fills, and the kernel
drops and counts.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from gigastream.late_dataclass import dataclass
from gigastream.outputs import Batch, Content, Failure
from gigastream.outputs.file import Abandoned
from gigastream.words import are, counted

_LOOK_UP_S = 0.05
_GIVE_UP_S = 0.5
_END_S = 0.3


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of the rows of a run."""

    rows: int
    """That were written."""
    rows_lost: int = 0
    """That could not be."""
    waits: int = 0
    """How often the engine waited, since as many bytes waited as may."""
    waited_s: float = 0.0
    left_out: int = 0
    """Rows of windows that were not asked for."""
    trace_lines: int = 0
    """That were written: --trace."""
    trace_lines_lost: int = 0
    """That could not be."""
    known: int = 0
    """Rows that were in their tables already, by an earlier run."""
    left_open: int = 0
    """Rows of windows that were cut short, which the same command gives whole."""
    failures: tuple[Failure, ...] = ()


class RowTarget(Protocol):
    """Where the rows of a run go: files and pipes (RowOutput), or tables (gigastream.sinks)."""

    content: Content

    @property
    def labels(self) -> tuple[str, ...]:
        """What a person calls its places."""

    @property
    def wants_punctuation(self) -> bool:
        """Whether batches without rows say something, too."""

    @property
    def rows(self) -> int: ...

    @property
    def known(self) -> int: ...

    @property
    def left_open(self) -> int: ...

    @property
    def lost(self) -> int: ...

    @property
    def failures(self) -> tuple[Failure, ...]: ...

    @property
    def waiting_since(self) -> float | None: ...

    @property
    def next_rest_s(self) -> float | None:
        """After how long without rows `rest` is to be called; None: not at all."""

    def write(self, query_name: str, batch: Batch) -> None: ...

    def rest(self) -> None:
        """No row has come for a while."""

    def lose(self, query_name: str, rows: int) -> None: ...

    def leave_open(self) -> None:
        """The input was cut short."""

    def abandon(self) -> None: ...

    def close(self) -> None: ...


class Delivery:
    """Writes rows to an output, in their order. Where its thread fails, put() and finish() do."""

    def __init__(
        self,
        output: RowTarget,
        room_bytes: int,
        attend: Callable[[], bool] = lambda: True,
        aside: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """At most about `room_bytes` wait.

        `attend` is called now and then while put() or finish() wait; it says whether a reader who
        reads nothing is to be waited for. `aside` is entered around each write.
        """
        self._output = output
        self._room_bytes = room_bytes
        self._attend = attend
        self._aside = aside
        self._changed = threading.Condition()
        self._waiting: deque[tuple[str, Batch, int]] = deque()
        self._bytes = 0
        self._is_over = False
        self._impatient_since: float | None = None
        self._is_abandoned = False
        self._problem: BaseException | None = None
        self._waits, self._waited_s = 0, 0.0
        self._thread = threading.Thread(
            target=self._write_all, name="gigastream-output", daemon=True
        )
        self._thread.start()

    def put(self, query: str, batch: Batch) -> None:
        """Take the rows of a batch; wait where too many wait already."""
        size = batch.memory_bytes
        if not self._has_room(size):
            self._wait_for_room(size)
        with self._changed:
            if self._is_abandoned:
                self._output.lose(query, batch.row_count)
                return
            self._waiting.append((query, batch, size))
            self._bytes += size
            self._changed.notify_all()

    def check(self) -> None:
        """Raise why nothing is written any more: BrokenPipeError, where the reader has left."""
        if self._problem is not None:
            raise self._problem

    def finish(self) -> Delivered:
        """Wait until all is written, and end the output."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        deadline = float("inf")
        while self._thread.is_alive() and time.monotonic() < deadline:
            self._thread.join(_LOOK_UP_S)
            self._look_up()
            if self._is_abandoned and deadline == float("inf"):
                deadline = time.monotonic() + _END_S
        self.check()
        return self.so_far()

    def so_far(self) -> Delivered:
        """What has become of the rows by now."""
        output = self._output
        failures = output.failures
        if self._is_abandoned:
            failures += (self._abandoned(),)
        return Delivered(
            output.rows,
            output.lost,
            self._waits,
            self._waited_s,
            known=output.known,
            left_open=output.left_open,
            failures=failures,
        )

    # ---- who gives rows ----

    def _has_room(self, size: int) -> bool:
        return self._bytes == 0 or self._bytes + size <= self._room_bytes or self._is_abandoned

    def _wait_for_room(self, size: int) -> None:
        began = time.monotonic()
        self._waits += 1
        while not self._has_room(size):
            with self._changed:
                self._changed.wait(_LOOK_UP_S)
            self._look_up()
        self._waited_s += time.monotonic() - began

    def _look_up(self) -> None:
        self.check()
        now = time.monotonic()
        if self._attend():
            self._impatient_since = None
            return
        self._impatient_since = self._impatient_since or now
        reading = self._output.waiting_since
        if reading is not None and now - max(reading, self._impatient_since) > _GIVE_UP_S:
            self._give_up()

    def _give_up(self) -> None:
        with self._changed:
            self._is_abandoned = True
            for query, batch, _ in self._waiting:
                self._output.lose(query, batch.row_count)
            self._waiting.clear()
            self._bytes = 0
        self._output.abandon()

    def _abandoned(self) -> Failure:
        lost, content = self._output.lost, self._output.content
        return Failure(
            f"{', '.join(self._output.labels)}: nobody reads it; "
            f"{counted(lost, content.unit)} {are(lost)} lost",
            f"a reader that reads on, or {content.option}",
        )

    # ---- the thread ----

    def _write_all(self) -> None:
        try:
            while not self._is_done():
                item = self._next()
                if item is None:
                    self._rest()
                    continue
                query, batch, size = item
                self._write(query, batch)
                del item, batch
                with self._changed:
                    self._bytes = max(0, self._bytes - size)
                    self._changed.notify_all()
            self._output.close()
        except Abandoned:
            pass
        except BaseException as problem:
            self._problem = problem
            with self._changed:
                self._changed.notify_all()

    def _is_done(self) -> bool:
        with self._changed:
            return self._is_over and not self._waiting

    def _next(self) -> tuple[str, Batch, int] | None:
        """Return what is to be written next; None: nothing has come for as long as may be."""
        with self._changed:
            if not self._waiting and not self._is_over:
                self._changed.wait(self._output.next_rest_s)
            return self._waiting.popleft() if self._waiting else None

    def _rest(self) -> None:
        with self._aside():
            self._output.rest()

    def _write(self, query: str, batch: Batch) -> None:
        try:
            with self._aside():
                self._output.write(query, batch)
        except Abandoned:
            self._output.lose(query, batch.row_count)
            raise

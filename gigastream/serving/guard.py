# SPDX-License-Identifier: Apache-2.0
"""A process that serves, and one that watches it.

gRPC takes a question as long as it comes, before anybody sees its token, and Arrow has no setting
for the most. So the memory of the process that serves is looked at, and one that holds too much is
ended and begun again: clients go on where they were.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_LOOK_SECONDS = 0.05
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Guard:
    """Runs something in a process of its own, again and again, until it is stopped."""

    def __init__(
        self, serve: Callable[[], int], most_bytes: int, tell: Callable[[str], None]
    ) -> None:
        """`serve` returns an exit code where it cannot."""
        self._serve = serve
        self._most_bytes = most_bytes
        self._tell = tell
        self._is_over = False

    def stop(self) -> None:
        """End it. May be called by a signal handler."""
        self._is_over = True  # no Event: its lock may be held by what the handler interrupts

    def run(self) -> int:
        """Return the exit code: 0 once it is stopped, else that of what cannot serve."""
        while not self._is_over:
            child, held = _start(self._serve)
            status = self._watch(child)
            os.close(held)
            if self._is_over:
                break
            if os.WIFEXITED(status):
                return os.WEXITSTATUS(status)
            self._tell("serving begins again")
        return 0

    def _watch(self, child: int) -> int:
        """Wait for the end of a process; return its status."""
        is_ended = False
        while True:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return status
            if not is_ended and self._is_to_end(child):
                is_ended = True
                os.kill(child, signal.SIGKILL)
            time.sleep(_LOOK_SECONDS)

    def _is_to_end(self, child: int) -> bool:
        if self._is_over:
            return True
        held = _held_bytes(child)
        if held > self._most_bytes:
            mebibytes = held >> 20
            self._tell(f"{mebibytes} MiB are held for what clients send: they are cut off")
        return held > self._most_bytes


def _start(serve: Callable[[], int]) -> tuple[int, int]:
    """Begin a process that ends when this one does, whatever ends this one.

    Return it, and the descriptor by which it knows: its other end is closed with us.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(reading)
        return child, writing
    os.close(writing)
    threading.Thread(target=_end_with, args=(reading,), daemon=True).start()
    code = 1
    try:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that watches has it, too
        code = serve()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _end_with(reading: int) -> None:
    os.read(reading, 1)  # nobody writes: the other end is closed
    os._exit(1)


def _held_bytes(process: int) -> int:
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE_BYTES
    return 0

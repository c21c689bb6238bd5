# SPDX-License-Identifier: Apache-2.0
"""All that is told on stderr goes through here: that nobody can be told costs no row.

stderr may be closed, its reader may have left or may read nothing, its disk may be full.
"""

from __future__ import annotations

import os
import re
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

_ERASE_LINE = "\r\x1b[K"
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
"""All but line ends and tabs; bytes that are no UTF-8, and what turns the direction of text."""
_PATIENCE_MS = 300
"""For a reader of a pipe that is full; a terminal is waited for."""


def say(text: str, *, end: str = "\n", patience_ms: int = _PATIENCE_MS) -> None:
    """Write to stderr, as far as anybody can be reached there.

    Control characters of names and texts from outside become U+FFFD: none reaches a terminal.
    """
    _write_raw(harmless(text) + end, patience_ms)


def harmless(text: str) -> str:
    """Return a text from outside as a terminal may have it."""
    if text.replace("\n", "").isprintable():
        return text  # and nothing is compiled for it: most of a start's patterns was this one
    return re.sub(_CONTROLS, "\ufffd", text)


def _write_raw(text: str, patience_ms: int) -> None:
    stream = sys.stderr
    if stream is None:
        return
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # no file: a test's, or closed
        descriptor = None
    try:
        if descriptor is None:
            stream.write(text)
        else:
            content = text.encode(stream.encoding or "utf-8", "backslashreplace")
            _write(descriptor, content, -1 if os.isatty(descriptor) else patience_ms)
    except (OSError, ValueError):
        return


def is_terminal() -> bool:
    """Whether a person is there."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:
        return False


def open_standard_streams() -> None:
    """Let no file become stdin, stdout or stderr because these are closed: nothing is there.

    What a terminal's letters do not have is no fault of what is told there.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the least number that is free
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _write(descriptor: int, content: bytes, patience_ms: int) -> None:
    room = select.poll()
    room.register(descriptor, select.POLLOUT)
    while content:
        if not room.poll(patience_ms):
            return
        content = content[os.write(descriptor, content[: select.PIPE_BUF]) :]


class Line:
    """The last line of a terminal on stderr, which tells how far a run has come.

    Other text, and rows, push it aside.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_shown = False

    def show(self, text: str) -> None:
        """Show the line anew, unless rows are being written."""
        if self._lock.acquire(blocking=False):
            try:
                _write_raw(_ERASE_LINE, 0)
                say(text, end="", patience_ms=0)
                self._is_shown = True
            finally:
                self._lock.release()

    def tell(self, text: str) -> None:
        """Write lines that stay."""
        self.clear()
        say(text)

    def clear(self) -> None:
        """Remove the line."""
        if self._lock.acquire(blocking=False):
            try:
                self._remove()
            finally:
                self._lock.release()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Keep the line away while rows are written; from another thread, too."""
        with self._lock:
            self._remove()
            yield

    def _remove(self) -> None:
        if self._is_shown:
            _write_raw(_ERASE_LINE, 0)
            self._is_shown = False

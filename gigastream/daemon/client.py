# SPDX-License-Identifier: Apache-2.0
"""The other end of the control socket: ask a daemon, and read the rows of its queries.

One request, one answer, each a line of JSON (messages.py). Errors are for a person, and say what to
do: no daemon, none of its users, another version.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from gigastream.daemon.framing import UNREADABLE
from gigastream.daemon.messages import (
    MAX_REQUEST_BYTES,
    Answered,
    AskQueries,
    AskStatus,
    CheckAnswer,
    CheckText,
    QueriesAnswer,
    Request,
    StatusAnswer,
    TailLine,
    TailQuery,
    encoded_line,
)

ANSWER_S = 300.0
"""How long an answer may take: a set is compiled, windows are answered at the end."""
MAX_ANSWER_BYTES = 256 << 20
_RECEIVED_BYTES = 1 << 18
_TRY_AGAIN_S = 0.1
_Answer = TypeVar("_Answer")


class ControlError(Exception):
    """There is no daemon, or it speaks otherwise."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class NoDaemonError(ControlError):
    """Nobody listens; that may change, since a daemon may be being started."""


class RefusedError(ControlError):
    """The daemon says no, and why; nothing is changed."""

    exit_code = 1


class _Outcome(msgspec.Struct):
    """What every answer has, whatever else."""

    ok: bool
    message: str = ""
    hint: str | None = None


class ControlClient:
    """A connection to a daemon; requests go one after the other."""

    def __init__(self, path: str | os.PathLike[str], answer_s: float = ANSWER_S) -> None:
        """Connect. ControlError says why that cannot be."""
        self.path = Path(path)
        self._received = bytearray()
        self._is_stopped = False
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(answer_s)
        try:
            self._socket.connect(os.fspath(path))
        except OSError as error:
            self._socket.close()
            raise _not_connected(self.path, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def stop(self) -> None:
        """End a tail after the line that is being read. From a signal's handler, too."""
        self._is_stopped = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RD)

    # ---- requests ----

    def status(self) -> StatusAnswer:
        """All that there is to know."""
        return self._asked(AskStatus(), StatusAnswer)

    def queries(self) -> QueriesAnswer:
        """The sets with their texts."""
        return self._asked(AskQueries(), QueriesAnswer)

    def check(self, request: CheckText) -> CheckAnswer:
        """What a text would be; one that is wrong is an answer, too."""
        self._send(request)
        return _decoded(self._line(), CheckAnswer, self.path)

    def ask(self, request: Request) -> Answered:
        """Ask for a change. RefusedError where it is not made."""
        return self._asked(request, Answered)

    def wait_for_end(self) -> None:
        """Behind a StopDaemon: return when the daemon has ended its outputs, and hung up."""
        try:
            while self._socket.recv(_RECEIVED_BYTES):
                pass
        except ConnectionError:
            return
        except OSError as error:
            raise self._broken(error) from None

    def tail(self, request: TailQuery, rows_go_to: int | None = None) -> Iterator[TailLine]:
        """Subscribe, and yield what comes until it is over. RefusedError where there is no such.

        `rows_go_to` is the descriptor of a pipe, if the rows go to one: BrokenPipeError as soon as
        its reader has left, though no row comes.
        """
        self._asked(request, Answered)
        self._socket.settimeout(None)
        return self._tail_lines(rows_go_to)

    # ---- lines ----

    def _asked(self, request: Request, kind: type[_Answer]) -> _Answer:
        self._send(request)
        line = self._line()
        verdict = _decoded(line, _Outcome, self.path)
        if not verdict.ok:
            raise RefusedError(verdict.message or "it is refused", verdict.hint)
        return _decoded(line, kind, self.path)

    def _send(self, request: Request) -> None:
        try:
            line = encoded_line(request)
        except UnicodeEncodeError as error:
            raise ControlError(
                f"{error.object!a} is no UTF-8: a daemon cannot be asked so"
            ) from None
        if len(line) > MAX_REQUEST_BYTES:
            raise ControlError(f"a request of {len(line):,} bytes is more than a daemon reads")
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise self._broken(error) from None

    def _line(self) -> bytes:
        line = self._next_line()
        if line is None:
            raise ControlError(
                f"{self.path}: the daemon has hung up without an answer",
                "its log says why; only root, its user and who started it may ask",
            )
        return line

    def _next_line(self) -> bytes | None:
        """Return the next line; None: the daemon has hung up."""
        looked = 0
        while (end := self._received.find(b"\n", looked)) < 0:
            looked = len(self._received)
            if looked > MAX_ANSWER_BYTES:
                raise ControlError(f"{self.path}: an answer that has no end")
            received = self._receive()
            if not received:
                return None
            self._received += received
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    def _receive(self) -> bytes:
        try:
            return self._socket.recv(_RECEIVED_BYTES)
        except OSError as error:
            raise self._broken(error) from None

    def _broken(self, error: OSError) -> ControlError:
        if isinstance(error, TimeoutError):
            waited_s = self._socket.gettimeout()
            return ControlError(
                f"{self.path}: no answer for {waited_s:g} s",
                "it may yet be done: gigastream ctl status",
            )
        if isinstance(error, ConnectionError):
            return ControlError(f"{self.path}: the daemon has hung up", "its log says why")
        return ControlError(f"{self.path}: {error.strerror or error}")

    def _tail_lines(self, rows_go_to: int | None) -> Iterator[TailLine]:
        while True:
            if rows_go_to is not None and b"\n" not in self._received:
                _wait_for_rows(self._socket.fileno(), rows_go_to)
            line = self._next_line()
            if line is None and self._is_stopped:
                return
            if line is None:
                raise ControlError(
                    f"{self.path}: the daemon has hung up, without having ended the rows",
                    "its log says why",
                )
            rows = _decoded(line, TailLine, self.path)
            yield rows
            if rows.over:
                return


def connected(path: str | os.PathLike[str], wait_ns: int = 0) -> ControlClient:
    """Connect; to a daemon that is being started as soon as packets are read. ControlError.

    Who has waited for `wait_ns` is told what that daemon says, if there is one.
    """
    until = time.monotonic_ns() + wait_ns
    while True:
        is_over = time.monotonic_ns() >= until
        try:
            client = ControlClient(path)
            if is_over or client.status().capture_pid is not None:
                return client
            client.close()
        except NoDaemonError:
            if is_over:
                raise
        time.sleep(_TRY_AGAIN_S)


def _wait_for_rows(incoming: int, outgoing: int) -> None:
    """Wait until something comes. BrokenPipeError: nobody reads what goes out."""
    changes = select.poll()
    changes.register(incoming, select.POLLIN)
    changes.register(outgoing, 0)
    if outgoing in (descriptor for descriptor, _ in changes.poll()):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _decoded(line: bytes, kind: type[_Answer], path: Path) -> _Answer:
    try:
        return msgspec.json.decode(line, type=kind)
    except UNREADABLE as error:
        raise ControlError(
            f"{path}: the daemon's answer is none: {error}",
            "is it of another version, or no daemon at all? gigastream version",
        ) from None


def _not_connected(path: Path, error: OSError) -> ControlError:
    start = f"gigastream capture … --socket {path} starts one"
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return NoDaemonError(
                f"there is no daemon at {path}", f"{start}; --socket names that of another"
            )
        case errno.ECONNREFUSED:
            return NoDaemonError(f"the daemon at {path} is gone", start)
        case errno.EACCES | errno.EPERM:
            return ControlError(
                f"{path}: you may not ask this daemon",
                "as root, as the daemon's user or as who started it; `group` in [control] lets "
                "the members of a group ask",
            )
        case errno.ENOTSOCK | errno.EPROTOTYPE:
            return ControlError(f"{path} is no daemon's socket", start)
        case _:
            return ControlError(f"{path}: {error.strerror or error}")

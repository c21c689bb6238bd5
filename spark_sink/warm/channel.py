# SPDX-License-Identifier: Apache-2.0
"""Messages between a caller and the server: a letter, a length, and so many bytes."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

HELLO, ASK, WRITTEN, ROWS = b"h", b"a", b"w", b"r"
PROGRESS, DONE, FAILED, REFUSED = b"p", b"d", b"f", b"n"
FROM_CALLER = {ASK: 1 << 20, WRITTEN: 0}
"""What a caller may send, and how long each may be in bytes."""
ROWS_BYTES = 1 << 28
FROM_SERVER = {
    HELLO: 0,
    ROWS: ROWS_BYTES,
    PROGRESS: 1 << 20,
    DONE: 1 << 20,
    FAILED: 1 << 20,
    REFUSED: 0,
}
"""What the server may."""
_HEADER = struct.Struct("<cI")
_CREDENTIALS = struct.Struct("3i")
_CHUNK = 1 << 20
_LEAST_S = 1e-3


class ChannelError(Exception):
    """What came is no message."""


class GoneError(ConnectionError):
    """The other end has gone."""


class Channel:
    """One end of a connection; several threads may send."""

    def __init__(self, connection: socket.socket, known: dict[bytes, int]) -> None:
        """`known`: what the other end may send."""
        self._connection = connection
        self._known = known
        self._lock = threading.Lock()
        self._until_s: float | None = None

    def fileno(self) -> int:
        """For select."""
        return self._connection.fileno()

    @property
    def is_of_us(self) -> bool:
        """Whether the other end is a process of our own user, as the kernel says."""
        return self._credentials()[1] == os.geteuid()

    @property
    def process(self) -> int:
        """The id of the process at the other end, as the kernel says; 0: none of ours to see."""
        return self._credentials()[0]

    def _credentials(self) -> tuple[int, int]:
        size = _CREDENTIALS.size
        found = self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        process, user, _ = _CREDENTIALS.unpack(found)
        return process, user

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        """Send a message. Raises GoneError."""
        with self._lock, _while_there():
            self._connection.sendall(_HEADER.pack(kind, len(payload)))
            self._connection.sendall(payload)

    def send_json(self, kind: bytes, value: Any) -> None:
        """Send plain data."""
        self.send(kind, json.dumps(value).encode())

    def has_more(self, seconds: float) -> bool:
        """Whether something comes, or the end, within a time."""
        return bool(select.select([self._connection], [], [], seconds)[0])

    def receive_within(self, seconds: float) -> tuple[bytes, bytes] | None:
        """Return the next message, all of it by then, else TimeoutError. Nobody may send yet."""
        self._until_s = time.monotonic() + seconds
        try:
            return self.receive()
        finally:
            self._until_s = None
            self._connection.setblocking(True)

    def receive(self) -> tuple[bytes, bytes] | None:
        """Return the next message; None: it has gone. Raises ChannelError, GoneError."""
        header = self._read(_HEADER.size)
        if header is None:
            return None
        kind, length = _HEADER.unpack(header)
        if length > self._known.get(kind, -1):
            raise ChannelError("what came over the socket is no message")
        payload = self._read(length)
        return None if payload is None else (kind, payload)

    def close(self) -> None:
        """End it, whoever is reading."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _read(self, length: int) -> bytes | None:
        parts, left = [], length
        while left:
            if self._until_s is not None:
                self._connection.settimeout(max(_LEAST_S, self._until_s - time.monotonic()))
            with _while_there():
                part = self._connection.recv(min(left, _CHUNK))
            if not part:
                return None
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


@contextmanager
def _while_there() -> Iterator[None]:
    """Tell the end of a connection from what else an OSError may be where it is used."""
    try:
        yield
    except TimeoutError:
        raise
    except OSError as error:
        raise GoneError(error.errno, error.strerror) from None


def plain(payload: bytes, type_: type) -> Any:
    """Return plain data of a type. Raises ChannelError."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, type_):
        raise ChannelError("what came over the socket is no message")
    return value

# SPDX-License-Identifier: Apache-2.0
"""A server of the control socket that says what a test has it say, in the daemon's own messages."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow

from gigastream.daemon.messages import (
    Answered,
    Request,
    StopDaemon,
    TailLine,
    TailQuery,
    encoded_line,
)

Say = Callable[[Request], Any]


@dataclass
class Speaking:
    """A daemon's side of the socket."""

    path: Path
    say: Say = lambda _: Answered(ok=True)
    """The answer to a request; bytes go as they are."""
    rows: Sequence[TailLine | bytes] = ()
    """What a tail brings."""
    holds: bool = True
    """Whether a tail that has brought all goes on, until its reader leaves; else it hangs up."""
    end: Callable[[], object] = lambda: None
    """What is done between the answer to a stop and the hanging up."""
    asked: list[Request] = field(default_factory=list)

    def serve(self, listening: socket.socket) -> None:
        """Answer each client, until the socket is closed."""
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                threading.Thread(target=self._attend, args=(client,), daemon=True).start()

    def _attend(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as lines, suppress(OSError):
            for line in lines:
                self._answer(client, line)

    def _answer(self, client: socket.socket, line: bytes) -> None:
        request = msgspec.json.decode(line, type=Request)
        self.asked.append(request)
        answer = self.say(request)
        client.sendall(answer if isinstance(answer, bytes) else encoded_line(answer))
        if isinstance(request, StopDaemon):
            self.end()
            client.shutdown(socket.SHUT_RDWR)
        if isinstance(request, TailQuery) and getattr(answer, "ok", True):
            for rows in self.rows:
                client.sendall(rows if isinstance(rows, bytes) else encoded_line(rows))
            if self.holds:
                client.recv(1)
            client.shutdown(socket.SHUT_RDWR)


@contextmanager
def speaking(path: Path, **what: Any) -> Iterator[Speaking]:
    """Let such a daemon listen."""
    spoken = Speaking(path, **what)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        thread = threading.Thread(target=spoken.serve, args=(listening,), daemon=True)
        thread.start()
        try:
            yield spoken
        finally:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def tail_line(batch: pyarrow.RecordBatch, **what: Any) -> TailLine:
    """A batch on its way to a client."""
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return TailLine(arrow=base64.b64encode(sink.getvalue()).decode(), **what)

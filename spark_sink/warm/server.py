# SPDX-License-Identifier: Apache-2.0
"""The process that stays: Spark's session, a socket, and a thread for each caller.

python -m spark_sink.warm.server FOLDER NAME SETTINGS

It ends by itself once nobody has asked for so long as its last caller said, and when its socket,
its Java or its folder is gone, once it serves nobody; at once by SIGTERM.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from spark_sink.session import open_session
from spark_sink.warm.answering import answer
from spark_sink.warm.channel import FROM_CALLER, Channel
from spark_sink.warm.place import SocketFolder, end_outdated, locked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHER_STARTS = 3
"""Exit code: another process is, or becomes, this server."""
_LOOK_PERIOD_S = 1.0
_ASKED_WITHIN_S = 600.0
"""So long it waits for its first caller."""
_WAITING = 16


def serve(folder: Path, name: str, settings: dict[str, str]) -> int:
    """Serve until it is over; return the exit code."""
    lock = locked(folder / f"{name}.lock")
    if lock is None:
        return OTHER_STARTS
    with lock, open_session(settings=settings, when_making=_say_nothing) as session:
        listener = _listening(SocketFolder(folder), name)
        end_outdated(folder, name)
        with _Callers(session) as callers:
            try:
                callers.accept(listener, folder / f"{name}.socket")
            finally:
                for kind in ("socket", "log", "lock"):
                    (folder / f"{name}.{kind}").unlink(missing_ok=True)
                listener.close()
                lock.close()  # who asks now starts another
    return 0


def _listening(places: SocketFolder, name: str) -> socket.socket:
    """A socket gets its name once it listens; we hold the lock, so one that is there is stale."""
    new = f"{name}.new"
    with suppress(FileNotFoundError):
        (places.path / new).unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(places.address(new))
    (places.path / new).chmod(0o600)
    listener.listen(_WAITING)
    (places.path / new).replace(places.path / f"{name}.socket")
    return listener


class _Callers:
    """A thread for each of those who ask."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._context = session.sparkContext
        self._folder = Path(self._context.getConf().get("spark.local.dir", "/")).parent
        self._threads: list[threading.Thread] = []
        self._idle_s = _ASKED_WITHIN_S

    def __enter__(self) -> _Callers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait until each of them has its answer, whatever has ended it but SIGTERM."""
        if kind is None or issubclass(kind, Exception):
            for thread in self._threads:
                thread.join()

    def accept(self, listener: socket.socket, path: Path) -> None:
        """Let callers in until nobody has asked for long, or what it needs is gone."""
        busy_s = time.monotonic()
        listener.settimeout(_LOOK_PERIOD_S)
        while path.exists() and self._is_of_use():
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            busy_s = time.monotonic() if self._threads else busy_s
            if time.monotonic() - busy_s > self._idle_s:
                return
            try:
                connection, _ = listener.accept()
                self._let_in(connection)
            except TimeoutError:
                pass
            except (OSError, RuntimeError):  # files or threads are short: not for ever
                time.sleep(_LOOK_PERIOD_S)

    def _is_of_use(self) -> bool:
        """Whether the session's Java is there, and the folder that it writes into."""
        try:
            if self._context._gateway.proc.poll() is not None:
                return False
            return self._folder.is_dir() and not self._context._jsc.sc().isStopped()
        except (Py4JError, ConnectionError):
            return False
        except OSError:  # files are short
            return True

    def _let_in(self, connection: socket.socket) -> None:
        """Who is not answered hears nothing, and starts another server, if it is one of us."""
        with ExitStack() as closing:
            closing.callback(connection.close)
            connection.setblocking(True)
            channel = Channel(connection, FROM_CALLER)
            if channel.is_of_us and self._is_of_use():
                words = (self._session, channel, self._stay)
                thread = threading.Thread(target=answer, args=words, daemon=True)
                thread.start()
                self._threads.append(thread)
                closing.pop_all()

    def _stay(self, idle_s: float) -> None:
        """So long from the end of this answer on, as its caller wants it."""
        self._idle_s = idle_s


def _say_nothing(_folder: Path) -> None:
    """Nobody is there who would read it."""


def _end(*_: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    os.chdir("/")
    sys.exit(serve(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])))

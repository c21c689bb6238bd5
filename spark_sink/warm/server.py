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
from contextlib import suppress
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
        callers = _Callers(session)
        try:
            callers.accept(listener, folder / f"{name}.socket")
        finally:
            for kind in ("socket", "log", "lock"):
                (folder / f"{name}.{kind}").unlink(missing_ok=True)
            listener.close()
            lock.close()  # who asks now starts another
        callers.wait()
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
            except TimeoutError:
                continue
            connection.setblocking(True)
            if self._is_of_use():
                self._let_in(Channel(connection, FROM_CALLER))
            else:
                connection.close()  # without a word, so that it starts another

    def wait(self) -> None:
        """Wait until each of them has its answer."""
        for thread in self._threads:
            thread.join()

    def _is_of_use(self) -> bool:
        """Whether the session's Java is there, and the folder that it writes into."""
        try:
            if self._context._gateway.proc.poll() is not None:
                return False
            return self._folder.is_dir() and not self._context._jsc.sc().isStopped()
        except (Py4JError, OSError):
            return False

    def _let_in(self, channel: Channel) -> None:
        if not channel.is_of_us:
            channel.close()
            return
        words = (self._session, channel, self._stay)
        self._threads.append(threading.Thread(target=answer, args=words, daemon=True))
        self._threads[-1].start()

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

# SPDX-License-Identifier: Apache-2.0
"""The process that stays: Spark's session, a socket, and a thread for each caller.

python -m spark_sink.warm.server FOLDER NAME IDLE_SECONDS SETTINGS

It ends by itself once nobody has asked for so long, by SIGTERM, and when its socket is removed.
"""

from __future__ import annotations

import fcntl
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

from spark_sink.session import open_session
from spark_sink.warm.answering import answer
from spark_sink.warm.channel import FROM_CALLER, Channel
from spark_sink.warm.place import SocketFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHER_STARTS = 3
"""Exit code: another process is, or becomes, this server."""
_LOOK_PERIOD_S = 1.0
_WAITING = 16


def serve(folder: Path, name: str, idle_s: float, settings: dict[str, str]) -> int:
    """Serve until it is over; return the exit code."""
    with (folder / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return OTHER_STARTS
        with open_session(settings=settings, when_making=_say_nothing) as session:
            places = SocketFolder(folder)
            listener = _listening(places, name)
            try:
                _accept(listener, folder / f"{name}.socket", session, idle_s)
            finally:
                for file in (f"{name}.socket", f"{name}.log"):
                    (folder / file).unlink(missing_ok=True)
                listener.close()
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


def _accept(listener: socket.socket, path: Path, session: SparkSession, idle_s: float) -> None:
    callers: list[threading.Thread] = []
    busy_s = time.monotonic()
    listener.settimeout(_LOOK_PERIOD_S)
    while path.exists():
        callers = [caller for caller in callers if caller.is_alive()]
        busy_s = time.monotonic() if callers else busy_s
        if time.monotonic() - busy_s > idle_s:
            return
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        connection.setblocking(True)
        channel = Channel(connection, FROM_CALLER)
        if not channel.is_of_us:
            channel.close()
            continue
        callers.append(threading.Thread(target=answer, args=(session, channel), daemon=True))
        callers[-1].start()
        busy_s = time.monotonic()


def _say_nothing(_folder: Path) -> None:
    """Nobody is there who would read it."""


def _end(*_: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    os.chdir("/")
    sys.exit(serve(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), json.loads(sys.argv[4])))

# SPDX-License-Identifier: Apache-2.0
"""Where the servers of a user listen, under names that say all that each is made of."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from gigastream.ownership import check_folder
from gigastream.paths import cache_directory
from spark_sink.gateway import spark_home
from spark_sink.java import find_java

_PACKAGES = Path(__file__).resolve().parents[2]
_CONNECT_LIMIT_S = 10.0
_CODE = ("gigastream", "spark_sink")
_SAYS_MORE = (
    *("SPARK_", "PYSPARK_", "PYTHONPATH", "PYTHONHOME", "LD_"),
    *("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"),
)
"""Environment, or what it begins with: what Python, Java and Spark read by themselves."""
_KEPT = (
    *_SAYS_MORE,
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_", "XDG_", "JAVA_HOME", "VIRTUAL_ENV"),
    *("GIGASTREAM_SPARK_ARCHIVE", "GIGASTREAM_TRACEBACK", "ASAN_OPTIONS", "LSAN_OPTIONS"),
)
"""What a server gets of its first caller's: not its secrets, nor its folder for temporary files."""
_HINT = "set XDG_RUNTIME_DIR to a folder of your own that only you can write"


def folder() -> Path:
    """Return the folder of sockets, which only we enter. Raises UntrustedError, OSError.

    `sudo` and `su` leave us the XDG_RUNTIME_DIR of another user, who is not asked.
    """
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or "/")
    is_ours = runtime.is_dir() and runtime.stat().st_uid == os.geteuid() and runtime != Path("/")
    base = runtime / "gigastream" if is_ours else cache_directory() / "warm"
    base.mkdir(mode=0o700, exist_ok=True)
    check_folder(base, _HINT)
    base.chmod(0o700)
    return base


def environment() -> dict[str, str]:
    """Return the environment of a server, which is not its first caller's alone."""
    return {name: value for name, value in os.environ.items() if name.startswith(_KEPT)}


def name(settings: Mapping[str, str]) -> str:
    """Return the name of the server for these settings, this package, this Python and Java.

    Before the hyphen stands what a user may have several of at once, behind it which version of all
    of that is there now.
    """
    java = find_java()
    said = sorted(item for item in os.environ.items() if item[0].startswith(_SAYS_MORE))
    share = [os.nice(0), sorted(os.sched_getaffinity(0))]
    places = [sys.executable, str(_PACKAGES), str(java.home), share]
    version: list[object] = [java.version]
    for path in (spark_home() / "version.py", *_code()):
        found = path.stat()
        version.append([str(path), found.st_size, found.st_mtime_ns])
    return f"{_digest([places, sorted(settings.items()), said])}-{_digest(version)}"


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _code() -> list[Path]:
    return sorted(path for each in _CODE for path in (_PACKAGES / each).rglob("*.py"))


def end_outdated(base: Path, newer: str) -> None:
    """Let those of other versions of the same end once they serve nobody."""
    for path in base.glob(f"{newer.partition('-')[0]}-*.socket"):
        if path.stem != newer:
            path.unlink(missing_ok=True)


def end_all() -> int:
    """Let all servers of this user end once they serve nobody; return how many listened.

    Raises UntrustedError, OSError.
    """
    places = SocketFolder(folder())
    try:
        return sum(_is_ended(places, path) for path in places.path.glob("*.socket"))
    finally:
        places.close()


def _is_ended(places: SocketFolder, path: Path) -> bool:
    """Whether somebody listened: what was killed has left its socket."""
    connection = places.connect(path.name)
    path.unlink(missing_ok=True)
    if connection is None:
        return False
    connection.close()
    return True


def locked(path: Path) -> IO[str] | None:
    """Return a lock that ends with the file or the process; None where another one has it."""
    lock = path.open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock.fileno()), path.stat()):
            return lock  # and not one whose owner was about to remove it
    except (BlockingIOError, FileNotFoundError):
        pass
    lock.close()
    return None


def is_locked(path: Path) -> bool:
    """Whether somebody has the lock."""
    try:
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


class SocketFolder:
    """The folder, open: a socket's path may have a hundred characters, and a folder's has more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)

    def address(self, file: str) -> str:
        """Return a short path of a file in it."""
        return f"/proc/self/fd/{self._descriptor}/{file}"

    def connect(self, file: str) -> socket.socket | None:
        """Return a connection; None where nobody listens."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_CONNECT_LIMIT_S)  # many may be waiting, and nobody accepting
        try:
            connection.connect(self.address(file))
            connection.setblocking(True)
        except OSError:
            connection.close()
            return None
        return connection

    def close(self) -> None:
        """Close it."""
        os.close(self._descriptor)

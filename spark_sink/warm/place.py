# SPDX-License-Identifier: Apache-2.0
"""Where the servers of a user listen, under names that say all that each is made of."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import pyarrow

from gigastream.ownership import check_folder
from gigastream.paths import cache_directory
from spark_sink.gateway import spark_home
from spark_sink.java import find_java

_PACKAGES = Path(__file__).resolve().parents[2]
_CODE = ("gigastream", "spark_sink")
_SAYS_MORE = (
    *("SPARK_", "PYSPARK_", "PYTHONPATH", "PYTHONHOME", "LD_"),
    *("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"),
)
"""Environment, or what it begins with: what Python, Java and Spark read by themselves."""
_KEPT = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "JAVA_HOME", "VIRTUAL_ENV"),
    *("GIGASTREAM_SPARK_ARCHIVE", "GIGASTREAM_TRACEBACK", "ASAN_OPTIONS", "LSAN_OPTIONS"),
)
"""What a server has of its first caller's, besides: no secrets, no folder for temporary files."""
_HINT = "set XDG_RUNTIME_DIR to a folder of your own that only you can write"


def folder() -> Path:
    """Return the folder of sockets, which only we enter. Raises UntrustedError, OSError.

    `sudo` and `su` leave us the XDG_RUNTIME_DIR of another user, who is not asked.
    """
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or "")
    if not _is_ours(runtime):
        return _made(cache_directory() / "warm")
    try:
        return _made(runtime / "gigastream")
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise
        return _made(cache_directory() / "warm")


def _is_ours(runtime: Path) -> bool:
    """A relative path is none, by the word of who has made up the variable."""
    try:
        return runtime.is_absolute() and runtime.is_dir() and runtime.stat().st_uid == os.geteuid()
    except OSError:
        return False


def _made(base: Path) -> Path:
    base.mkdir(mode=0o700, exist_ok=True)
    check_folder(base, _HINT)
    base.chmod(0o700)
    return base


def environment() -> dict[str, str]:
    """Return the environment of a server, which is not its first caller's alone."""
    begins = (*_SAYS_MORE, "LC_", "XDG_")
    return {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(begins)
    }


def name(settings: Mapping[str, str]) -> str:
    """Return the name of the server for these settings, this package, this Python and Java.

    First stands where it runs, then what a user may have several of at once there, and last which
    version of all of that is there now.
    """
    java = find_java()
    said = sorted(item for item in os.environ.items() if item[0].startswith(_SAYS_MORE))
    share = [os.nice(0), sorted(os.sched_getaffinity(0))]
    places = [sys.executable, str(_PACKAGES), str(java.home), share]
    version: list[object] = [java.version, sys.version, pyarrow.__version__]
    for path in (java.home / "release", spark_home() / "version.py", *_packages(), *_code()):
        with suppress(OSError):
            found = path.stat()
            version.append([str(path), found.st_size, found.st_mtime_ns])
    what = [places, sorted(settings.items()), said]
    return "-".join((_here(), _digest(what), _digest(version)))


def _here() -> str:
    """Of this host, until it starts again, and of its folders as we see them.

    Hosts may share a home, and containers a folder, where a path is not the same to each.
    """
    parts: list[object] = [0, 0]
    with suppress(OSError):
        parts[0] = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    with suppress(OSError):
        parts[1] = Path("/proc/self/ns/mnt").stat().st_ino
    return _digest(parts)


def _packages() -> list[Path]:
    """Files that another version of a package has anew."""
    found = [find_spec(each) for each in ("py4j", "pyarrow")]
    return [Path(each.origin) for each in found if each is not None and each.origin is not None]


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _code() -> list[Path]:
    folders = [_PACKAGES / each for each in _CODE]
    found = [path for each in folders for path in (*each.rglob("*.py"), *each.rglob("*.so"))]
    return sorted(found)


def end_outdated(base: Path, newer: str) -> None:
    """Let those of other versions of the same end once they serve nobody."""
    for path in base.glob(f"{newer.rpartition('-')[0]}-*.socket"):
        if path.stem != newer:
            path.unlink(missing_ok=True)


def end_all() -> int:
    """Let all servers of this user here end once they serve nobody; return how many listened.

    Raises UntrustedError, OSError.
    """
    places = SocketFolder(folder())
    try:
        return sum(_is_ended(places, path) for path in places.path.glob(f"{_here()}-*.socket"))
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
        """Return a connection; None where nobody listens, or as many as may wait do already."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
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

# SPDX-License-Identifier: Apache-2.0
"""Where the server of a user listens, under a name that says all that it is made of."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from gigastream.ownership import check_folder
from gigastream.paths import cache_directory
from spark_sink.gateway import spark_home
from spark_sink.java import find_java

_PACKAGES = Path(__file__).resolve().parents[2]
_CONNECT_LIMIT_S = 10.0
_CODE = ("gigastream", "spark_sink")


def folder() -> Path:
    """Return the folder of sockets, which only we enter. Raises UntrustedError, OSError."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    base = Path(runtime) / "gigastream" if runtime else cache_directory() / "warm"
    base.mkdir(mode=0o700, exist_ok=True)
    check_folder(base)
    base.chmod(0o700)
    return base


def name(settings: Mapping[str, str]) -> str:
    """Return the name of the server for these settings, this package, this Python and Java."""
    java = find_java()
    parts: list[object] = [sys.executable, str(java.home), java.version, sorted(settings.items())]
    for path in (spark_home() / "version.py", *_code()):
        found = path.stat()
        parts.append([str(path), found.st_size, found.st_mtime_ns])
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _code() -> list[Path]:
    return sorted(path for each in _CODE for path in (_PACKAGES / each).rglob("*.py"))


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

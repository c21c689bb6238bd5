# SPDX-License-Identifier: Apache-2.0
"""The audit log: a line of JSON for each change that somebody asked for."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from gigastream.sources.files import SourceError

_NAME = "audit.jsonl"
_SUBJECT_MOST, _MESSAGE_MOST = 255, 4096
"""Characters; who may ask does not thereby fill the disk of the log."""
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who changed what."""

    at_ns: int
    uid: int
    pid: int = 0
    """Of the client; 0: nobody's, as for a signal."""
    what: str
    """`add`, `drop`, `set`, `rotate`, `reload`, `stop`."""
    subject: str = ""
    ok: bool
    message: str = ""


class AuditLog:
    """Appends; a full disk stops nothing, and the entries that it took are counted.

    Opened before privileges go, it can be a file that only root may change: we can append.
    """

    def __init__(self, folder: Path | None) -> None:
        self.lost = 0
        """Entries that could not be written."""
        self._is_torn = False
        self._file = None if folder is None else _open(folder)

    def note(
        self, uid: int, what: str, subject: str, ok: bool, message: str = "", pid: int = 0
    ) -> None:
        """Write an entry; where that fails, the next one says how many are missing."""
        if self._file is None:
            return
        missing = f"[{self.lost} entries before this one could not be written] "
        entry = AuditEntry(
            at_ns=time.time_ns(),
            uid=uid,
            pid=pid,
            what=what,
            subject=_short(subject, _SUBJECT_MOST),
            ok=ok,
            message=(missing if self.lost else "") + _short(message, _MESSAGE_MOST),
        )
        self._append(msgspec.json.encode(entry) + b"\n")

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, line: bytes) -> None:
        assert self._file is not None
        whole = b"\n" * self._is_torn + line
        try:
            written = os.write(self._file, whole)
        except OSError:
            written = 0
        if written == len(whole):
            self.lost, self._is_torn = 0, False
            return
        self.lost += 1
        self._is_torn = self._is_torn or written > 0


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _open(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / _NAME, _FLAGS, 0o640)
    except OSError as error:
        raise SourceError(
            f"{folder / _NAME}: {error.strerror}", "state names the folder of the audit log"
        ) from None

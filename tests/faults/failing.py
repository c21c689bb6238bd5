# SPDX-License-Identifier: Apache-2.0
"""Which calls fail with what, and runs of the program in which one does."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli.command import Result, gigastream

SHORT = -1
"""Half of what was asked for, and no error."""
WRITES = {
    "write": (errno.ENOSPC, errno.EIO, errno.EINTR, SHORT),
    "open": (errno.ENOSPC, errno.EACCES),
    "ftruncate": (errno.EIO,),
    "close": (errno.EIO, errno.EINTR),
}
SPOOL_WRITES = WRITES | {
    "fsync": (errno.EIO, errno.ENOSPC),
    "rename": (errno.EIO,),
    "link": (errno.EIO,),
    "unlink": (errno.EIO,),
    "mmap": (errno.ENOMEM,),
    "read": (errno.EIO,),
}
READS = {"read": (errno.EIO, errno.EINTR, SHORT), "mmap": (errno.ENOMEM,)}
HARMLESS = (errno.EINTR, SHORT)
FIRST = (1, 2, 5)


def first(calls: dict[str, tuple[int, ...]]) -> list[object]:
    """Some calls of each kind: what every run of the tests tries."""
    return [
        pytest.param(call, number, reasons[0], id=f"{call}-{number}")
        for call, reasons in calls.items()
        for number in FIRST
    ]


def every(calls: dict[str, tuple[int, ...]]) -> list[object]:
    """Each kind of call with each reason; the test counts on until no call is left."""
    return [
        pytest.param(
            *(call, reason),
            id=f"{call}-{errno.errorcode.get(reason, 'short')}",
            marks=pytest.mark.slow,
        )
        for call, reasons in calls.items()
        for reason in reasons
    ]


@dataclass(frozen=True)
class Failing:
    """Runs the program with a call that fails."""

    library: Path
    folder: Path

    def run(self, call: str, number: int, reason: int, part: str, *words: object) -> Result:
        """Let the NUMBERth CALL fail whose file has `part` in its path."""
        self.log.unlink(missing_ok=True)
        surroundings = {
            **os.environ,
            "LD_PRELOAD": f"{os.environ.get('LD_PRELOAD', '')} {self.library}".strip(),
            "GIGASTREAM_FAIL": f"{call} {number} {reason} {part}",
            "GIGASTREAM_FAIL_LOG": str(self.log),
        }
        return gigastream("run", *map(str, words), "--stats", "json", env=surroundings)

    @property
    def log(self) -> Path:
        """What the library says that it has done."""
        return self.folder / "failed"

    @property
    def has_failed(self) -> bool:
        """Whether the last run came as far as the call that was to fail."""
        return self.log.exists()


def account_of(text: str) -> dict[str, Any] | None:
    """The last account that a run has told; None: it came to nothing."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None

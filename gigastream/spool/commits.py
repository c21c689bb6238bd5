# SPDX-License-Identifier: Apache-2.0
"""What readers have told the writer: the segments below a number are done with.

A reader's file is in the generation's folder. When a commit was made is not asked of its reader,
whose clock may be another host's: the writer counts from when it saw the commit.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gigastream.late_dataclass import dataclass
from gigastream.spool.entry import END
from gigastream.spool.files import opened

_MAX_BYTES = 1 << 16

ALL = END
"""The floor where no reader holds anything."""


@dataclass(frozen=True, slots=True)
class Passed:
    """Rows of a generation that a reader has not read, since they stand before its beginning."""

    gone: int = 0
    """Those that retention had deleted."""
    skipped: int = 0
    """Those that it did not want."""


def parse_passed(said: Mapping[str, Any]) -> Passed | None:
    """Return what stands in a reader's file; None where it says no such thing."""
    gone, skipped = said.get("gone"), said.get("skipped")
    if type(gone) is not int or type(skipped) is not int or min(gone, skipped) < 0:
        return None
    return Passed(gone, skipped)


class CommitWatch:
    """The commits of one generation, the least that they were within the margin."""

    def __init__(self, look: Callable[[], int], margin_ns: int) -> None:
        """`look` returns the least segment that some reader still needs by now."""
        self._look = look
        self._margin_ns = margin_ns
        floor = ALL if look() == ALL else 0
        self._seen: deque[tuple[int, int]] = deque([(0, floor)])

    def floor(self, now_ns: int) -> int:
        """Return the segment below which no reader needs anything; `now_ns` is monotonic."""
        floor = self._look()
        if floor != self._seen[-1][1]:
            self._seen.append((now_ns, floor))
        while len(self._seen) > 1 and self._seen[1][0] <= now_ns - self._margin_ns:
            self._seen.popleft()
        return min(floor for _, floor in self._seen)


def committed_floor(readers_folder: Path) -> int:
    """Return the least segment that some reader still needs, ALL if there is no reader."""
    try:
        names = os.listdir(readers_folder)
    except OSError:
        return ALL
    return min((_committed(readers_folder / name) for name in names if name[0] != "."), default=ALL)


def _committed(path: Path) -> int:
    """Return a reader's commit; 0, which keeps everything, if its file does not say."""
    try:
        with opened(path) as descriptor:
            return committed_segment(os.read(descriptor, _MAX_BYTES))
    except OSError:
        return 0


def committed_segment(said: bytes) -> int:
    """Return what a reader's file commits; 0, which keeps everything, if it does not say."""
    try:
        segment = json.loads(said)["segment"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return 0
    return segment if type(segment) is int else 0

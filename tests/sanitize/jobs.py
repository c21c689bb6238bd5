# SPDX-License-Identifier: Apache-2.0
"""What the worker is asked and what it answers: one line of JSON each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

PLAIN = ("read", "mmap")
HOWS = (*PLAIN, "pipe", "stdin", "gzip", "zstd")
"""How the engine gets the bytes of a file."""


@dataclass(frozen=True)
class Job:
    """A query set over captures: `sources` are (interface, path)."""

    sources: tuple[tuple[str, str], ...]
    how: str = "read"
    settings: dict[str, Any] = field(default_factory=dict)
    stop_after_batches: int = 0
    """0: to the end."""
    is_apart: bool = False
    """Each level in a session of its own, Arrow between them."""

    def to_line(self) -> str:
        """The line that asks for it."""
        return json.dumps(asdict(self)) + "\n"

    @staticmethod
    def from_line(line: str) -> Job:
        """The job of a line."""
        words = json.loads(line)
        words["sources"] = tuple(map(tuple, words["sources"]))
        return Job(**words)


@dataclass(frozen=True)
class Outcome:
    """What a run gave."""

    code: int
    """The exit code of the command line: 0 done, 1 damaged, 2 refused."""
    message: str
    read: tuple[int, ...]
    """Packets of each source."""
    late: int
    rows: dict[str, int]
    digests: dict[str, int]
    """Of the multiset of rows of each query; none where floating point may round differently."""
    faults: tuple[str, ...]
    """What must not be: counters that do not add up, an error of no class."""
    broken_promises: tuple[str, ...]
    """Rows below a bound that was given before."""
    seconds: float

    def to_line(self) -> str:
        """The line that answers."""
        return json.dumps(asdict(self)) + "\n"

    @staticmethod
    def from_line(line: str) -> Outcome:
        """The outcome of a line."""
        words = json.loads(line)
        for name in ("read", "faults", "broken_promises"):
            words[name] = tuple(words[name])
        return Outcome(**words)

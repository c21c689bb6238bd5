# SPDX-License-Identifier: Apache-2.0
"""How far a table's loader is: which generation of the spool it reads, and under which name.

The table itself says, by the name of the writer, which rows are in it. A set that is changed has
another plan and so another name: what is kept here are the names before it, so that no window is
answered by both, and the generation that is not all in the table, so that none is left out.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from gigastream.daemon.framing import UNREADABLE
from gigastream.destination import replacement
from gigastream.late_dataclass import dataclass, field, replace

PROGRESS = "tables"
"""The folder of these files, in the daemon's cache."""
_NAMES_MOST = 64
"""That are remembered: more changes than that in one spool have long been read."""
_READ_MOST = 1024
"""Generations of streams of which is remembered what was read, the newest."""


@dataclass(frozen=True, slots=True)
class LoadedPlan:
    """A plan, by the name of the runs of it, and the name by which its rows were written."""

    run: str
    writer: str


class TableTakenError(Exception):
    """Another loader still fills a table from the same spool."""


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Of a generation of a stream, from its begin on."""

    rows: int = 0
    """Listed, whether they could be read or not."""
    lost: int = 0
    """Of them, in damaged segments."""


@dataclass(frozen=True, slots=True)
class TableProgress:
    """Of one table and one spool."""

    generation: int | None = None
    """All before it are in the table; None: nobody has read yet."""
    plans: tuple[LoadedPlan, ...] = ()
    """The oldest first."""
    read: Mapping[str, ReadRows] = field(default_factory=dict)
    """By stream, interface and generation: a loader reads again what another has read."""

    def reading(self, generation: int, run: str) -> TableProgress:
        """It reads this generation from here on, in runs of that name."""
        if self.plans and self.plans[-1].run == run:
            return replace(self, generation=generation)
        names = {plan.writer for plan in self.plans}
        count = sum(plan.run == run for plan in self.plans)
        writer = run if run not in names else f"{run} {count + 1}"
        plans = (*self.plans, LoadedPlan(run, writer))[-_NAMES_MOST:]
        return replace(self, generation=generation, plans=plans)

    def at(self, generation: int) -> TableProgress:
        """All before a generation is in the table."""
        return replace(self, generation=generation)

    def having(self, read: Mapping[str, ReadRows]) -> TableProgress:
        """So much has been read."""
        return replace(self, read=dict(list(read.items())[-_READ_MOST:]))

    @property
    def writer(self) -> str:
        """By which rows are written now."""
        return self.plans[-1].writer

    @property
    def earlier(self) -> tuple[str, ...]:
        """Those before it."""
        return tuple(plan.writer for plan in self.plans[:-1])


def progress_path(folder: Path, spool: str, table: str) -> Path:
    """The file of a table that is filled from a spool, which `spool` tells from others."""
    name = hashlib.sha256("\n".join((spool, table)).encode()).hexdigest()[:32]
    return folder / f"{name}.json"


def read_progress(path: Path) -> TableProgress:
    """What the file says; nothing where there is none, or half of one."""
    with suppress(FileNotFoundError, *UNREADABLE):
        return msgspec.json.decode(path.read_bytes(), type=TableProgress)
    return TableProgress()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Be the one loader of a table and a spool, by the path of its progress.

    One whose set was renamed, or whose supervisor was killed, may still write for a while. Raises
    TableTakenError, OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TableTakenError("another loader still fills it; it ends by itself") from None
        yield


def write_progress(path: Path, progress: TableProgress) -> None:
    """Replace the file. OSError."""
    with replacement(path) as file:
        file.write(msgspec.json.encode(progress))

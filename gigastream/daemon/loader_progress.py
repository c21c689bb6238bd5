# SPDX-License-Identifier: Apache-2.0
"""How far a table's loader is: which generation of the spool it reads, and under which name.

The table itself says, by the name of the writer, which rows are in it. A set that is changed has
another plan and so another name: what is kept here are the names before it, so that no window is
answered by both, and the generation that is not all in the table, so that none is left out.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from gigastream.destination import replacement

PROGRESS = "tables"
"""The folder of these files, in the daemon's cache."""
_NAMES_MOST = 64
"""That are remembered: more changes than that in one spool have long been read."""


@dataclass(frozen=True, slots=True)
class LoadedPlan:
    """A plan, by the name of the runs of it, and the name by which its rows were written."""

    run: str
    writer: str


@dataclass(frozen=True, slots=True)
class TableProgress:
    """Of one table and one spool."""

    generation: int | None = None
    """All before it are in the table; None: nobody has read yet."""
    plans: tuple[LoadedPlan, ...] = ()
    """The oldest first."""

    def reading(self, generation: int, run: str) -> TableProgress:
        """It reads this generation from here on, in runs of that name."""
        if self.plans and self.plans[-1].run == run:
            return replace(self, generation=generation)
        names = {plan.writer for plan in self.plans}
        count = sum(plan.run == run for plan in self.plans)
        writer = run if run not in names else f"{run} {count + 1}"
        plans = (*self.plans, LoadedPlan(run, writer))[-_NAMES_MOST:]
        return TableProgress(generation, plans)

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
    with suppress(FileNotFoundError, msgspec.MsgspecError):
        return msgspec.json.decode(path.read_bytes(), type=TableProgress)
    return TableProgress()


def write_progress(path: Path, progress: TableProgress) -> None:
    """Replace the file. OSError."""
    with replacement(path) as file:
        file.write(msgspec.json.encode(progress))

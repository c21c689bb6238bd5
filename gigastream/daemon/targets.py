# SPDX-License-Identifier: Apache-2.0
"""Where the rows of a set at work go: what cannot be written is counted, and ends nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import structs

from gigastream.daemon.messages import OutputSpec, OutputStatistics, SpoolSpec
from gigastream.daemon.places import SPOOL
from gigastream.engine.events import Event
from gigastream.outputs import Batch, OutputError, OutputQuery
from gigastream.outputs.cut_column import (
    FORMATS_WITH_COLUMN,
    CutColumnBatch,
    with_cut_column,
)
from gigastream.outputs.rotating import RotatingOutput
from gigastream.plan import Plan
from gigastream.query_texts import QueryTexts
from gigastream.sessions.spooled_set import SpooledSet
from gigastream.spool import SpoolSettings

Tell = Callable[[str], None]
SpoolMaker = Callable[[str, SpoolSettings], SpooledSet]
"""Opens the spool at a path."""


class FileTarget:
    """A file or a folder of files, as an OutputSpec says it."""

    def __init__(self, spec: OutputSpec, queries: tuple[OutputQuery, ...], tell: Tell) -> None:
        """Open it. OutputError; a place outside the daemon's folders is told by the first rows."""
        self.spec = spec
        self._has_cut_column = spec.cut_column and spec.format in FORMATS_WITH_COLUMN
        self._output = RotatingOutput(
            spec.format,
            spec.path,
            tuple(map(with_cut_column, queries)) if self._has_cut_column else queries,
            spec.rotate_bytes,
            spec.rotate_ns,
            spec.keep,
            tell=tell,
        )
        _check_writable(Path(spec.path))

    def write(self, query: str, batch: Batch) -> None:
        """Write rows, or count them as lost."""
        self._output.write(query, CutColumnBatch(batch) if self._has_cut_column else batch)

    def write_low(self, event: Event) -> None:
        """What the low level puts out is not for files."""

    def promises(self) -> dict[str, int]:
        """Files say nothing of time."""
        return {}

    def rotate(self) -> None:
        """Begin new files."""
        self._output.rotate()

    def tick(self) -> None:
        """End what is due by the clock."""
        self._output.tick()

    def close(self) -> None:
        """End it."""
        self._output.close()

    def statistics(self) -> OutputStatistics:
        """What became of the rows."""
        output = self._output
        return OutputStatistics(
            format=self.spec.format,
            path=self.spec.path,
            rows=output.rows,
            lost=output.lost,
            bytes=output.bytes,
            files=output.files,
            failure=output.failure,
        )


class SpoolTarget:
    """The low level, in a spool."""

    def __init__(self, spec: OutputSpec, made: SpoolMaker) -> None:
        """Open it. SpoolError, GsqlError."""
        self.spec = spec
        self._spool = made(spec.path, spool_settings(spec.spool))

    def write(self, query: str, batch: Batch) -> None:
        """Rows of queries are not for spools."""

    def write_low(self, event: Event) -> None:
        """Take what an LFTA puts out."""
        self._spool.write(event)

    def promises(self) -> dict[str, int]:
        """By interface, packet time (ns) below which no row may come any more."""
        return self._spool.promises()

    def go_on(self, spec: OutputSpec, plan: Plan, texts: QueryTexts) -> None:
        """Take the batches of another set from here on, or of one that is attached again."""
        self.spec = spec
        self._spool.go_on(plan, texts, spool_settings(spec.spool))

    def rotate(self) -> None:
        """Try again at once what has failed."""
        self._spool.rotate()

    def tick(self) -> None:
        """Cut what is old enough."""
        self._spool.tick()

    def close(self) -> None:
        """List what is written."""
        self._spool.close()

    def statistics(self) -> OutputStatistics:
        """What became of the rows."""
        spool = self._spool
        return OutputStatistics(
            format=SPOOL,
            path=self.spec.path,
            rows=spool.rows,
            lost=spool.lost,
            bytes=spool.bytes,
            files=spool.files,
            failure=spool.failure,
            oldest_ns=spool.oldest_ns,
        )


def spool_settings(spec: SpoolSpec) -> SpoolSettings:
    """As the spool has them."""
    return SpoolSettings(**{k: v for k, v in structs.asdict(spec).items() if v is not None})


def _check_writable(path: Path) -> None:
    folder = path if path.is_dir() else path.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        message = f"{folder} cannot be written by the daemon"
        raise OutputError(message, "a folder that the daemon's user owns")


Target = FileTarget | SpoolTarget


def has_spool(specs: Sequence[OutputSpec]) -> bool:
    """Whether one of them is a spool."""
    return any(spec.format == SPOOL for spec in specs)


def open_targets(
    specs: Sequence[OutputSpec],
    queries: tuple[OutputQuery, ...],
    make_spool: SpoolMaker,
    tell: Tell,
) -> list[Target]:
    """Open all, or none. OutputError, SpoolError, GsqlError."""
    opened: list[Target] = []
    try:
        for spec in specs:
            opened.append(
                SpoolTarget(spec, make_spool)
                if spec.format == SPOOL
                else FileTarget(spec, queries, tell)
            )
    except BaseException:
        for target in opened:
            target.close()
        raise
    return opened

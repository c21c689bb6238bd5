# SPDX-License-Identifier: Apache-2.0
"""The supervisor's side of loaders: one for each table, begun again where it ends, until it goes.

Nothing is lost where one ends, however it does: the rows wait in the spool, and the table knows
what it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gigastream.daemon.framing import FrameError, frame, word_reader
from gigastream.daemon.keeping import Told
from gigastream.daemon.launching import Child, DaemonError, Launching
from gigastream.daemon.loader_messages import (
    LoaderOver,
    LoaderReport,
    LoaderStart,
    LoaderWord,
    TableState,
)
from gigastream.daemon.tables_of_sets import WantedTable
from gigastream.gsql.stream_names import is_of_stream
from gigastream.late_dataclass import dataclass
from gigastream.settings import Settings

_LOOK_EVERY_S = 0.2
_SURE_S = 3.0
"""One that follows one that failed has opened its table by then, and has tried to write."""
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0
_WORKED_S = 60.0
"""One that has run for longer has begun well: the next pause is the first again."""
_SILENT_S = 300.0
"""A loader that says nothing for longer hangs: in a database, or in a compiler."""
_BURIED_WITHIN_S = 5.0
_END_WITHIN_S = 20.0
_HANGS_S = 12.0
"""One that is asked to end, and does not for longer, hangs: it gives itself 10 s."""
_READ_BYTES = 1 << 16
_NOTHING = LoaderReport()


@dataclass(frozen=True, slots=True)
class LoaderSurroundings:
    """What all loaders have in common."""

    launching: Launching
    progress: Path
    definitions: tuple[str, ...]
    settings: Settings
    told: Told


class Loaders:
    """Those of the tables that there are."""

    def __init__(
        self, around: LoaderSurroundings | None, wanted: Callable[[], Sequence[WantedTable]]
    ) -> None:
        """None: no table is filled here."""
        self._around = around
        self._wanted = wanted
        self._kept: dict[WantedTable, tuple[TableLoading, asyncio.Task[None]]] = {}
        self._is_ending = False

    async def run(self) -> None:
        """Begin those of sets that come, and end those of sets that go."""
        while self._around is not None and not self._is_ending:
            self._look(self._around)
            await asyncio.sleep(_LOOK_EVERY_S)

    def _look(self, around: LoaderSurroundings) -> None:
        wanted = self._wanted()
        for table, (loading, task) in list(self._kept.items()):
            if table not in wanted:
                loading.end()
            if task.done():
                del self._kept[table]
        for table in wanted:
            if table not in self._kept:
                loading = TableLoading(around, table)
                self._kept[table] = loading, asyncio.create_task(loading.run())
            else:
                self._kept[table][0].is_of(table)

    async def end(self) -> None:
        """Let each commit what is over, and end it."""
        self._is_ending = True
        for loading, _ in self._kept.values():
            loading.end()
        tasks = [task for _, task in self._kept.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=_END_WITHIN_S)
        for loading, task in self._kept.values():
            loading.kill()
            task.cancel()

    def states(self, promises: Mapping[str, int]) -> tuple[TableState, ...]:
        """How each is; `promises` are what the capture promises, by interface. From any thread."""
        reached = (at for name, at in promises.items() if not is_of_stream(name))
        promised = min(reached, default=None)  # a STREAM has a time of its own
        return tuple(loading.state(promised) for loading, _ in list(self._kept.values()))


class TableLoading:
    """One table, and the loader that fills it now."""

    def __init__(self, around: LoaderSurroundings, table: WantedTable) -> None:
        self._around, self._table = around, table
        self._ends = asyncio.Event()
        self._stirs = asyncio.Event()
        """The next loader is not waited for: the end is asked for, or other functions are there."""
        self._child: Child | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._report = _NOTHING
        self._before = _NOTHING
        """What the loaders before have counted."""
        self._restarts = 0
        self._begun = 0.0
        self._why: str | None = "it begins"
        self._told: str | None = None

    async def run(self) -> None:
        """Until end() has ended it."""
        loop, pause = asyncio.get_running_loop(), _FIRST_PAUSE_S
        while not self._ends.is_set():
            begun = self._begun = loop.time()
            over = await self._one()
            if self._ends.is_set():
                return
            self._restarts += 1
            if over.goes_on or self._has_stirred():
                pause = _FIRST_PAUSE_S
                continue
            self._wait(over)
            pause = _FIRST_PAUSE_S if loop.time() - begun > _WORKED_S else pause
            await self._stirs_within(pause)
            pause = _FIRST_PAUSE_S if self._has_stirred() else min(2 * pause, _LONGEST_PAUSE_S)

    def end(self) -> None:
        """Ask for the end. Once more is harmless."""
        if not self._ends.is_set():
            self._ends.set()
            self._stir()

    def is_of(self, table: WantedTable) -> None:
        """Its set is now as this has it: for other functions in Python another loader is begun."""
        before, self._table = self._table, table
        if before.python != table.python:
            self._stir()

    def _stir(self) -> None:
        """Ask the loader of now to end; one that does not, as in a function that hangs, is ended.

        Nothing is waited for before the next begins, if one does.
        """
        self._stirs.set()
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write_eof()
        if (child := self._child) is not None:
            kill = self._around.launching.kill
            asyncio.get_running_loop().call_later(_HANGS_S, kill, child)

    def _has_stirred(self) -> bool:
        """Whether it was, since this was asked last."""
        has_stirred = self._stirs.is_set()
        self._stirs.clear()
        return has_stirred

    def kill(self) -> None:
        """End its process at once, if there is one."""
        if self._child is not None and not self._child.ended.done():
            self._around.launching.kill(self._child)

    def state(self, promised: int | None) -> TableState:
        """How it is."""
        report, before, table, child = self._report, self._before, self._table, self._child
        is_running = self._why is None and child is not None
        lag = None
        if report.read_ns is not None and promised is not None:
            lag = max(0, promised - report.read_ns)
        return TableState(
            set_name=table.set_name,
            table=table.table,
            spool=table.spool,
            pid=child.pid.result() if child is not None and child.pid.done() else None,
            state="running" if is_running else "waiting",
            why=self._why,
            rows=before.rows + report.rows,
            known=report.known,
            read_ns=report.read_ns,
            lag_ns=lag,
            restarts=self._restarts,
            lost_rows=before.lost_rows + report.lost_rows,
            retired_rows=before.retired_rows + report.retired_rows,
            refused_rows=report.refused_rows,
            no_value_rows=report.no_value_rows,
        )

    async def _one(self) -> LoaderOver:
        """One loader, from its begin to its end."""
        try:
            self._child = child = self._around.launching.loader()
        except DaemonError as error:
            return LoaderOver(report=_NOTHING, error=str(error), hint=error.hint)
        try:
            over = await self._heard(child)
        except (FrameError, OSError) as error:
            over = LoaderOver(report=_NOTHING, error=f"its loader cannot be heard: {error}")
        finally:
            self._let_go()
        told_end = await self._buried(child)
        self._child = None
        self._before = _sum(self._before, self._report)
        self._report = LoaderReport(known=self._report.known, read_ns=self._report.read_ns)
        return over or LoaderOver(report=_NOTHING, error=f"its loader ended: {told_end}")

    async def _heard(self, child: Child) -> LoaderOver | None:
        reader, writer = await asyncio.open_connection(sock=child.channel)
        self._writer = writer
        writer.write(frame(self._start()))
        if self._ends.is_set():
            writer.write_eof()
        frames = word_reader()
        try:
            while received := await asyncio.wait_for(reader.read(_READ_BYTES), _SILENT_S):
                for word in frames.feed(received):
                    self._take(word)
                    if isinstance(word, LoaderOver):
                        return word
        except TimeoutError:
            self.kill()
            return LoaderOver(report=_NOTHING, error=f"it has said nothing for {_SILENT_S:g} s")
        return None

    def _take(self, word: LoaderWord) -> None:
        report = word.report if isinstance(word, LoaderOver) else word
        self._report = report
        for note in report.notes:
            self._around.told(f"{self._label}: {note}")
        if isinstance(word, LoaderReport) and self._is_filled(report):
            if self._told is not None:
                self._around.told(f"{self._label}: it is filled again")
            self._why = self._told = None

    def _is_filled(self, report: LoaderReport) -> bool:
        """Whether what was told is over: a table that opens may be one on a disk that is full."""
        lived_s = asyncio.get_running_loop().time() - self._begun
        return self._told is None or report.rows > 0 or lived_s > _SURE_S

    def _wait(self, over: LoaderOver) -> None:
        why = over.error or "it has ended"
        self._why = f"{why} ({over.hint})" if over.hint else why
        if self._why != self._told:
            self._told = self._why
            self._around.told(f"{self._label} waits, its rows in the spool: {self._why}")

    @property
    def _label(self) -> str:
        return f"the table {self._table.table} of {self._table.set_name}"

    def _start(self) -> LoaderStart:
        around = self._around
        return LoaderStart(
            spool=self._table.spool,
            table=self._table.table,
            progress=str(around.progress),
            since_ns=self._table.since_ns,
            definitions=around.definitions,
            memory_bytes=around.settings.memory_bytes,
        )

    def _let_go(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    async def _buried(self, child: Child) -> str:
        """How it ended; one that does not is ended."""
        try:
            async with asyncio.timeout(_BURIED_WITHIN_S):
                await asyncio.shield(child.ended)
        except TimeoutError:
            self._around.launching.kill(child)
            return "the launcher does not say how"
        return child.told_end

    async def _stirs_within(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stirs.wait()
        except TimeoutError:
            return


def _sum(before: LoaderReport, report: LoaderReport) -> LoaderReport:
    """What a loader counts that has not counted what those before it have."""
    return LoaderReport(
        rows=before.rows + report.rows,
        lost_rows=before.lost_rows + report.lost_rows,
        retired_rows=before.retired_rows + report.retired_rows,
    )

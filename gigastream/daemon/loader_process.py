# SPDX-License-Identifier: Apache-2.0
"""A loader: fills one table from one spool, each window once, until it is asked to end.

It does what `gigastream run --spool FOLDER -o TABLE` does, but waits where nobody writes the spool
for the moment, and knows what a set that is changed leaves behind (loader_progress.py). The queries
are planned and compiled first; then it gives up to run programs, and only then runs functions in
Python, if its set calls any, and meets the table.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gigastream.daemon.compiling import keep_only, stand_back, write_all
from gigastream.daemon.framing import frame, start_reader
from gigastream.daemon.loader_losses import LoaderLosses, deleted_before
from gigastream.daemon.loader_messages import (
    LoaderOver,
    LoaderReport,
    LoaderStart,
    LoaderWord,
)
from gigastream.daemon.loader_progress import (
    TableProgress,
    TableTakenError,
    alone,
    progress_path,
    read_progress,
    write_progress,
)
from gigastream.daemon.room import file_words
from gigastream.settings import Settings

if TYPE_CHECKING:
    from gigastream.engine.events import Event
    from gigastream.plan import Plan
    from gigastream.sessions.spool_session import SpoolSession
    from gigastream.sinks.output import TableOutput
    from gigastream.spool import Spool

_READ_BYTES = 1 << 16
_LOOK_EVERY_S = 0.5
"""At the spool, whether its queries are others now."""
_WAIT_S = 0.2
_END_WITHIN_S = 10.0
"""For what is listed already when the end is asked for; the rest is the next loader's."""
_TAKEN_FOR_S = 3.0
"""By another loader, which mostly has ended by then; else it is told."""
_SECOND_NS = 10**9
_RETIRED = (
    "rows of its spool were deleted before they were read: keep-age and keep-bytes must reach "
    "beyond the time for which a table is not filled; the status says how many (retired_rows)"
)
_FIRST_NS = -(1 << 63)


def run_loader(descriptor: int) -> int:
    """Fill the table that comes over a channel; the exit code."""
    keep_only(descriptor)
    stand_back()
    start = _read_start(descriptor)
    if start is None:
        return 1
    loader = TableLoader(start, descriptor)
    try:
        over = loader.run()
    except Exception as error:
        message, hint = _words(error)
        over = LoaderOver(report=loader.report(), error=message, hint=hint)
    with suppress(OSError):  # whoever would hear it is gone
        write_all(descriptor, frame(over))
    return 0


class TableLoader:
    """One plan over one generation of a spool."""

    def __init__(self, start: LoaderStart, channel: int) -> None:
        self._start, self._channel = start, channel
        self._notes: list[str] = []
        self._noted: set[str] = set()
        self._ends_at: float | None = None
        """The end was asked for: no later than then."""
        self._reported = self._looked = 0.0
        self._stamp: tuple[int, ...] | None = None
        self._written: tuple[str | None, str, int] = (None, "", 0)
        """The spool, by its identity, the query set that is written now, and the generation."""
        self._is_past = False
        """What it reads is not what is written now."""
        self._has_all = False
        self._progress = TableProgress()
        self._losses = LoaderLosses({})
        self._counted = LoaderReport()

    def run(self) -> LoaderOver:
        """Until all is read, or the end is asked for. What spools, plans and tables raise."""
        from gigastream.spool import Spool

        path = self._progress_path(Spool(self._start.spool))
        with self._alone(path):
            return self._run(path)

    def _run(self, path: Path) -> LoaderOver:
        from gigastream.sessions.spool_session import SpoolSession
        from gigastream.spool import SpoolReadError
        from gigastream.spool.plan import queries_of

        newest, spool = self._opened(path)
        if self._progress_path(newest) != path:
            raise SpoolReadError(f"{newest.path} is only being made", "it is looked at again")
        plan, include = self._planned(spool)
        self._go_on(spool, plan)
        settings = Settings(memory_bytes=self._start.memory_bytes, output_punctuation=True)
        interfaces = [queries_of(spool).interfaces]
        with SpoolSession(
            *([spool], plan, interfaces, settings),
            include=include,
            tell=self._note,
            waits=True,
            is_compiled=self._confine,
        ) as session:
            write_progress(path, self._progress)
            output = self._table(plan)
            is_over = self._fill(session, output, newest, spool, path)
            if not is_over:
                output.leave_open()
            output.close()
            self._count(session, output)
        return self._over(newest, path, output)

    def report(self) -> LoaderReport:
        """How far it is, or was when that was counted at last."""
        notes, self._notes = tuple(self._notes), []
        return replace(self._counted, notes=notes)

    def _count(self, session: SpoolSession, output: TableOutput) -> None:
        streams = session.accounts()
        statistics = session.statistics()
        operators = statistics.operators
        for raised in statistics.raised:
            self._note(f"{raised.function} raises, first {raised.first}")
        self._losses.take(streams)
        if self._losses.retired_rows:
            self._note(_RETIRED)
        self._counted = LoaderReport(
            rows=output.rows,
            known=output.known,
            read_ns=_read_ns(session),
            lost_rows=self._losses.lost_rows,
            retired_rows=self._losses.retired_rows,
            refused_rows=sum(operator.refused_for_memory for operator in operators),
            no_value_rows=sum(operator.no_value or 0 for operator in operators),
        )

    # ---- opening ----

    @contextmanager
    def _alone(self, path: Path) -> Iterator[None]:
        until = time.monotonic() + _TAKEN_FOR_S
        while True:
            try:
                with alone(path):
                    yield
                return
            except TableTakenError:
                if time.monotonic() > until or _has_hung_up(self._channel):
                    raise
            time.sleep(_WAIT_S)

    def _opened(self, path: Path) -> tuple[Spool, Spool]:
        """The spool as it is written now, and the oldest of it that is not all in the table."""
        from gigastream.spool import Spool, SpoolReadError
        from gigastream.spool.run_name import generation_of

        newest = Spool(self._start.spool)
        self._stamp, last = newest.stamp(), generation_of(newest)
        self._written = newest.identity, newest.query_set, last
        progress = self._progress = read_progress(path)
        first = progress.generation
        if first is None:  # nobody has read yet, while the set may have been changed
            first = min(newest.made_since(self._start.since_ns), default=last)
        for number in (each for each in newest.generations() if first <= each < last):
            with suppress(SpoolReadError):  # nothing of it can be read
                self._is_past = True
                return newest, Spool(self._start.spool, generation=number)
        self._is_past = False
        return newest, newest

    def _planned(self, spool: Spool) -> tuple[Plan, Sequence[Path]]:
        """By the files in Python that the set was compiled with; the past by those of now."""
        from gigastream.query_texts import QueryTexts
        from gigastream.spool.plan import SpooledPlanError, changed_python, plan_of_spools

        definitions = self._start.definitions
        changed = () if self._is_past else changed_python(definitions, spool)
        known = tuple(file for file in definitions if file not in changed)
        try:
            plan = plan_of_spools([spool], definitions=known, newer_python=self._is_past)
        except SpooledPlanError:
            if not changed:
                raise
            message = f"{', '.join(changed)}: it has changed since the set was compiled"
            raise SpooledPlanError(message, "gigastream ctl reload takes it as it is") from None
        return plan, QueryTexts((), definitions=definitions).include

    def _go_on(self, spool: Spool, plan: Plan) -> None:
        from gigastream.spool.run_name import generation_of, name_over_spools

        run = name_over_spools(plan, None, [spool])
        before = self._progress
        if before.generation is None:
            before = before.having(deleted_before(spool))
        self._losses = LoaderLosses(before.read)
        self._progress = before.reading(generation_of(spool), run)

    def _progress_path(self, spool: Spool) -> Path:
        from gigastream.spool.run_name import known_by

        return progress_path(Path(self._start.progress), known_by(spool), self._start.table)

    def _confine(self) -> None:
        """From here on it reads, writes its table, and reaches servers; it runs nothing."""
        from gigastream.daemon.tables_of_sets import written_folder
        from gigastream.engine.privileges import confine

        own = written_folder(self._start.table)
        confine([Path(self._start.progress), *([] if own is None else [own])], "loader")

    def _table(self, plan: Plan) -> TableOutput:
        from gigastream.daemon.output_queries import output_queries
        from gigastream.sinks import parse_sink_place
        from gigastream.sinks.output import TableOutput

        place = parse_sink_place(self._start.table)
        names = self._progress.writer, self._progress.earlier
        return TableOutput(place, output_queries(plan), *names)

    # ---- at work ----

    def _fill(
        self, session: SpoolSession, output: TableOutput, newest: Spool, spool: Spool, path: Path
    ) -> bool:
        """Write what comes; whether nothing more can."""
        for turn in session.turns():
            for event in turn:
                _take(output, event)
            if output.next_rest_s == 0:
                output.rest()
            if is_due := self._is_report_due():
                self._tell_damage([*spool.damage, *session.damage])
                self._count(session, output)
            self._attend(newest)
            if output.error is not None or self._is_late():
                return False
            if is_due:
                self._remember(path)
            if turn == () and self._is_to_end() and _is_all_read(session):
                self._has_all = True
                return False
        self._has_all = True
        return True

    def _over(self, newest: Spool, path: Path, output: TableOutput) -> LoaderOver:
        if (error := output.error) is not None:
            return LoaderOver(report=self.report(), error=str(error), hint=error.hint)
        self._remember(path)
        self._wait_for_more(newest)
        goes_on = self._is_past and self._has_all
        if goes_on:
            self._advance(path)
        return LoaderOver(report=self.report(), goes_on=goes_on)

    def _wait_for_more(self, newest: Spool) -> None:
        """All there is of an input that ended is in the table."""
        while not self._is_to_end():
            self._attend(newest)
            time.sleep(_WAIT_S)

    def _remember(self, path: Path) -> None:
        """How far it has read; without it the next would count more as missed than was."""
        progress = self._progress.having(self._losses.read)
        if progress != self._progress:
            self._progress = progress
            with suppress(OSError):  # a disk that is full is told by who begins
                write_progress(path, progress)

    def _advance(self, path: Path) -> None:
        """The next loader reads what came behind this generation, if something did."""
        from gigastream.spool import Spool
        from gigastream.spool.run_name import generation_of

        assert self._progress.generation is not None
        last = generation_of(Spool(self._start.spool))
        generation = min(self._progress.generation + 1, last)
        write_progress(path, self._progress.at(generation))

    def _is_to_end(self) -> bool:
        return self._is_past or self._ends_at is not None

    def _is_late(self) -> bool:
        return self._ends_at is not None and time.monotonic() > self._ends_at

    def _is_report_due(self) -> bool:
        return time.monotonic() - self._reported >= self._start.report_ns / _SECOND_NS

    def _tell_damage(self, damage: Sequence[str]) -> None:
        for text in damage:
            self._note(text)

    def _attend(self, newest: Spool) -> None:
        """Look at the channel and at the spool, and report, each when it is time."""
        now = time.monotonic()
        if self._ends_at is None and _has_hung_up(self._channel):
            self._ends_at = now + _END_WITHIN_S
        if not self._is_past and now - self._looked >= _LOOK_EVERY_S:
            self._looked, self._is_past = now, self._has_changed(newest)
        if self._is_report_due():
            self._reported = now
            self._say(self.report())

    def _has_changed(self, spool: Spool) -> bool:
        """Whether other queries are written now than those that this began with."""
        from gigastream.spool import Spool as Again
        from gigastream.spool import SpoolReadError
        from gigastream.spool.run_name import generation_of

        stamp = spool.stamp()
        if stamp is None or stamp == self._stamp:
            return False
        self._stamp = stamp
        with suppress(SpoolReadError):  # half of it is there: at the next look it is whole
            now = Again(self._start.spool)
            return (now.identity, now.query_set, generation_of(now)) != self._written
        return False

    def _note(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            self._notes.append(text)

    def _say(self, word: LoaderWord) -> None:
        try:
            write_all(self._channel, frame(word))
        except OSError:
            self._ends_at = self._ends_at or time.monotonic() + _END_WITHIN_S


def _take(output: TableOutput, event: Event) -> None:
    batch = event.batch
    if batch.row_count or output.wants_punctuation:
        output.write(event.query, batch)
    if batch.is_end:
        output.end(event.query)


def _is_all_read(session: SpoolSession) -> bool:
    """Whether all that is listed has been read."""
    return not any(feed.look_again() for feed in session.watched if not feed.is_over)


def _read_ns(session: SpoolSession) -> int | None:
    reached = (feed.base_ns for feed in session.watched if not feed.is_over)
    return min((each for each in reached if each != _FIRST_NS), default=None)


def _has_hung_up(descriptor: int) -> bool:
    """Whether nothing more comes over a channel: nobody speaks behind the start."""
    readable, _, _ = select.select([descriptor], [], [], 0)
    return bool(readable)


def _read_start(descriptor: int) -> LoaderStart | None:
    reader = start_reader()
    for received in iter(lambda: os.read(descriptor, _READ_BYTES), b""):
        for start in reader.feed(received):
            return start
    return None


def _words(error: Exception) -> tuple[str, str | None]:
    """What a person is told of an error; one that nobody has foreseen is a fault of ours."""
    if type(error).__module__.startswith("gigastream."):
        return str(error), getattr(error, "hint", None)
    if isinstance(error, OSError):
        return file_words(error, "the progress of a table")
    return f"a fault in Gigastream itself: {type(error).__name__}: {error}", None

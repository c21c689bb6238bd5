# SPDX-License-Identifier: Apache-2.0
"""The low level alone, into a spool: what every LFTA puts out, interface by interface."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.codegen.interfaces import is_read
from gigastream.engine.events import Event
from gigastream.engine.statistics import Statistics
from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.late_dataclass import dataclass, replace
from gigastream.plan.base_time import base_bound
from gigastream.records.source import StreamSource
from gigastream.sessions.shape import Closing, SessionOptions
from gigastream.sessions.threaded_session import open_session
from gigastream.sources.files import FileSource
from gigastream.sources.live import LiveSource
from gigastream.spool import (
    NOTHING,
    SpoolError,
    SpoolSettings,
    SpoolWriter,
    StoredQuerySet,
    TrackWriter,
)
from gigastream.spool.account import StreamAccount, written
from gigastream.spool.plan import plan_to_json, queries_to_json, stream_descriptions

if TYPE_CHECKING:
    from gigastream.engine.batch import NativeBatch
    from gigastream.plan.operators.low_node import LowNode
    from gigastream.plan.plan import Plan
    from gigastream.query_texts import QueryTexts
    from gigastream.records.source import AnySource
    from gigastream.settings import Settings

Port = tuple[str, str]
"""(stream, interface)."""


@dataclass(frozen=True, slots=True)
class SpooledStream:
    """What an LFTA puts out on an interface, on its way into a spool."""

    node: LowNode
    track: TrackWriter

    def write(self, batch: NativeBatch, *, goes_on: bool) -> int:
        """Write a batch; `goes_on`: its end is not that of the stream. The packet time promised."""
        rows = batch.to_arrow() if batch.row_count else None
        bounds = batch.bounds
        if batch.is_end and goes_on:
            # What is promised at the end is of a stream to which nothing is added.
            self.track.write(rows, [NOTHING] * len(bounds), NOTHING, batch.sequence)
            return NOTHING
        base_ns = base_bound(self.node, bounds)
        self.track.write(
            rows, bounds, base_ns, batch.sequence, joint=batch.joint, is_end=batch.is_end
        )
        return base_ns


def refuse_unspooled(plan: Plan) -> None:
    """Raise GsqlError where a query cannot be answered through a spool."""
    _refuse_limits(plan)
    _refuse_row_windows(plan)
    _refuse_bare_lists(plan)


def open_tracks(
    writer: SpoolWriter,
    plan: Plan,
    texts: QueryTexts,
    anew: Collection[str],
    live: Collection[str],
    unwritten: Mapping[Port, int] | None = None,
) -> dict[Port, SpooledStream]:
    """Begin a run of a spool with the LFTAs of a plan; as SpoolWriter.open has it."""
    nodes = {node.name: node for node in plan.low}
    query_set = StoredQuerySet(
        plan_to_json(plan), queries_to_json(texts), stream_descriptions(plan)
    )
    ports = [
        (node.name, interface)
        for node in plan.low
        for interface in texts.interfaces
        if is_read(node, interface)
    ]
    tracks = writer.open(query_set, ports, anew, live, unwritten)
    return {port: SpooledStream(nodes[port[0]], track) for port, track in tracks.items()}


def promises_of(streams: Mapping[Port, SpooledStream]) -> dict[str, int]:
    """By interface, the packet time that a stream of it had reached in the last run."""
    promises: dict[str, int] = {}
    for (_, interface), stream in streams.items():
        reached = stream.track.resume.base_ns
        promises[interface] = max(promises.get(interface, NOTHING), reached)
    return promises


def _refuse_limits(plan: Plan) -> None:
    """Raise GsqlError where a query ends after so many rows: nobody would count them here."""
    message = "LIMIT ends a query above the border, and a spool is written below it"
    hint = "leave it out here, and ask the spool: gigastream run --spool PATH -e '… LIMIT …'"
    found = [
        Diagnostic("error", "limit-in-spool", message, node.ends_at, hint)
        for node in plan.nodes
        if node.ends_at is not None
    ]
    if found:
        raise GsqlError(found)


def _refuse_bare_lists(plan: Plan) -> None:
    """Raise GsqlError where only a file of this host says what a query's columns are."""
    message = "a list that is named by its file alone cannot go through a spool: who reads the "
    message += "spool does not have the file, which names its columns"
    hint = "declare it: WATCHLIST name { type column [(key)]; } FROM 'file';"
    bare = [item for item in plan.watchlists if item.is_bare]
    if bare:
        raise GsqlError([Diagnostic("error", "list-in-spool", message, x.span, hint) for x in bare])


def _refuse_row_windows(plan: Plan) -> None:
    """Raise GsqlError where tuples are numbered: the next run would begin at 0 again."""
    message = "a window of rows cannot go through a spool: its next run counts from 0 again"
    hint = "window a time; or run it without a spool"
    found = [
        Diagnostic("error", "rows-in-spool", message, node.bounded[node.row_column].span, hint)
        for node in plan.low
        if node.row_column is not None
    ]
    if found:
        raise GsqlError(found)


class LowSession(Closing):
    """Like a Session, but its rows go into the spool at `root`.

    A spool whose last run has not ended is gone on with: its packets' time is where that run
    stopped, and what is older is late. Of files, which are read from their beginning again, a new
    generation is made, so that no row of theirs is in one twice. Only they, and pipes that were
    read to their end, end their streams: links and pipes that were stopped are gone on with by the
    next run. Raises GsqlError for a query that the low level cannot end, SpoolError, SourceError,
    EngineError.
    """

    def __init__(
        self,
        plan: Plan,
        texts: QueryTexts,
        sources: Sequence[AnySource],
        settings: Settings,
        root: str | Path,
        spool_settings: SpoolSettings | None = None,
        links_are_open: Callable[[], None] | None = None,
        is_only_run: bool = False,
    ) -> None:
        """Open all; `texts` are those that `plan` was made of, with its interfaces.

        `links_are_open` is called when all links are open and nothing is read, nor of the spool.
        `is_only_run`: no other goes on with the spool, so that all ends with this one.
        """
        refuse_unspooled(plan)
        self._is_closed = self._is_stopped = False
        self._is_only_run = is_only_run
        self.rows = 0
        """That were to be written so far."""
        self._writer: SpoolWriter | None = None
        self._anew, self._live = _read_again(sources), _links(sources)

        def open_spool() -> dict[str, int]:
            if links_are_open is not None:
                links_are_open()
            self._writer = SpoolWriter(root, spool_settings)
            self._streams = open_tracks(self._writer, plan, texts, self._anew, self._live)
            return promises_of(self._streams)

        try:
            self._session = open_session(
                plan,
                sources,
                replace(settings, low_level_only=True),
                SessionOptions(low_taps=True, include=texts.include, links_are_open=open_spool),
            )
        except BaseException:
            with suppress(SpoolError):
                self._close_writer()
            raise

    def turns(self) -> Iterator[int]:
        """Write what comes until the input ends or stop(); yield the rows so far at each turn."""
        turns = self._counted(self._session.turns())
        for turn in turns:
            try:
                for event in turn:
                    self._write(event)
                if self._writer is not None:
                    self._writer.tick()
            except SpoolError:
                self._session.stop()
                for _ in turns:  # what has been read is lost, and counted
                    pass
                raise
            yield self.rows

    def _counted(self, turns: Iterable[tuple[Event, ...]]) -> Iterator[tuple[Event, ...]]:
        for turn in turns:
            self.rows += sum(event.batch.row_count for event in turn)
            yield turn

    def stop(self) -> None:
        """End the input here. May be called by a signal handler."""
        self._is_stopped = True
        self._session.stop()

    def statistics(self) -> Statistics:
        """The counters so far."""
        return self._session.statistics()

    def accounts(self) -> tuple[StreamAccount, ...]:
        """Return what was written, stream by stream; to be asked when it is closed."""
        return () if self._writer is None else written(self._writer)

    def close(self) -> None:
        """Make durable what is written, and give everything back. Raises SpoolError."""
        if self._is_closed:
            return
        self._is_closed = True
        self._session.close()
        self._close_writer()

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        with suppress(SpoolError):  # the error that is on its way says it already
            self.close()

    # ---- tracks ----

    def _write(self, event: Event) -> None:
        assert event.interface is not None
        stream = self._streams[event.query, event.interface]
        stream.write(event.batch, goes_on=not self._ends(event.interface))

    def _ends(self, interface: str) -> bool:
        """Whether the input was finite, so that no run goes on with the interface's streams."""
        if self._is_only_run or interface in self._anew:
            return True
        return interface not in self._live and not self._is_stopped


def _read_again(sources: Sequence[AnySource]) -> set[str]:
    """Return the interfaces that a file is of, be there a pipe or a link beside it, or not.

    What the last run listed of a pipe then stays in the generation that ended, and is not lost;
    gone on with, the file's rows above the last promise would be there twice.
    """
    return {source.interface for source in sources if _is_file(source)}


def _links(sources: Sequence[AnySource]) -> set[str]:
    return {source.interface for source in sources if isinstance(source, LiveSource)}


def _is_file(source: AnySource) -> bool:
    if isinstance(source, StreamSource):
        return source.is_finite
    return isinstance(source, FileSource) and source.is_file

# SPDX-License-Identifier: Apache-2.0
"""Rows of a session, whichever it is, on their way to the output; and its good end."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gigastream.cli.ending import Asked, stopped_by_signals
from gigastream.cli.errors import UsageError, complain
from gigastream.cli.progress import in_bytes
from gigastream.cli.stderr import Line, say
from gigastream.config import Config
from gigastream.daemon.output_queries import output_queries
from gigastream.late_dataclass import dataclass, replace
from gigastream.outputs import (
    RowOutput,
    default_format,
    parse_output,
    path_of,
)
from gigastream.outputs.delivery import Delivered, Delivery, RowTarget
from gigastream.outputs.file import STDOUT_LABEL, Identity, identity
from gigastream.records.source import StreamSource
from gigastream.shipped_queries import OBJECT_SUFFIX
from gigastream.sinks import is_sink, parse_sink_place
from gigastream.sources.files import FileSource
from gigastream.words import counted

if TYPE_CHECKING:
    from gigastream.cli.windows import Windows
    from gigastream.engine.events import Event
    from gigastream.engine.statistics import Statistics
    from gigastream.plan import Plan
    from gigastream.query_texts import QueryTexts
    from gigastream.records.source import AnySource
    from gigastream.sessions.shape import ReadingSession
    from gigastream.settings import Settings
    from gigastream.spool.account import StreamAccount
    from gigastream.spool.apart import NamedPlace


class Status(Protocol):
    """What tells a person how far a run has come."""

    line: Line

    def begin(self) -> None: ...

    def tick(self) -> None: ...

    def finish(self) -> None: ...


SPOOL = "spool"
Account = Callable[[Delivered], str]
"""The account of a run so far."""
Writer = Callable[[], str | None]
"""Gives the name of a run: the same for one that comes again with the same packets."""


def wanted_output(arguments: argparse.Namespace, config: Config) -> str:
    """Return `FORMAT[:PATH]`: what is asked for, or what suits stdout."""
    wanted: str | None = arguments.output or config.output
    if wanted is not None:
        return wanted
    if sys.stdout is None:
        raise UsageError("stdout is closed: the rows have no place", "-o FORMAT:PATH")
    return default_format(sys.stdout.isatty())


def spool_root(wanted: str) -> Path | None:
    """Return PATH of `spool:PATH`, None for other outputs; UsageError where there is no path."""
    name, _, path = wanted.partition(":")
    if name != SPOOL:
        return None
    if not path:
        raise UsageError("a spool is a folder", f"-o {SPOOL}:PATH")
    return Path(path)


def open_output(wanted: str, plan: Plan, inputs: dict[Identity, str], writer: Writer) -> RowTarget:
    """Open the output that is asked for, none of whose files is one of `inputs`.

    `writer` gives the name of the run for tables, None where its packets cannot come again.
    """
    if is_sink(wanted):
        from gigastream.sinks.output import TableOutput

        return TableOutput(parse_sink_place(wanted), output_queries(plan), writer())
    output = _rows_to(wanted, plan, inputs)
    output.begin()
    return output


def paths_written(wanted: str, plan: Plan) -> list[tuple[str, bool]]:
    """Return where an output writes, and whether all that lies there is its own."""
    if (root := spool_root(wanted)) is not None:
        return [(str(root), True)]
    if is_sink(wanted):
        tables = parse_sink_place(wanted)
        queries = [node.name for node in plan.outputs]
        return [(path, tables.has_folders) for path in tables.paths(queries)]
    _, path = parse_output(wanted)
    return [] if path is None else [(str(path), False)]


def _rows_to(wanted: str, plan: Plan, inputs: dict[Identity, str]) -> RowOutput:
    return RowOutput(*parse_output(wanted), output_queries(plan), inputs)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where rows go, and traces of heartbeats, if they are wanted."""

    rows: RowTarget
    traces: RowOutput | None = None


def open_outputs(
    arguments: argparse.Namespace,
    wanted: str,
    plan: Plan,
    inputs: dict[Identity, str],
    writer: Writer,
) -> Outputs:
    """Open the output that is asked for and, with --trace, the file of the heartbeats.

    Nothing is emptied before all can be opened.
    """
    from gigastream.cli.traces import traces_to

    if arguments.trace is None:
        return Outputs(open_output(wanted, plan, inputs, writer))
    if not arguments.trace:
        raise UsageError("--trace names no file", "--trace FILE")
    if is_sink(wanted):
        if path_of(arguments.trace) is not None:
            from gigastream.spool.apart import check_apart

            *tables, trace = written_places(arguments, wanted, plan)
            check_apart(trace, tables)
        traces = traces_to(path_of(arguments.trace), inputs)
        rows = open_output(wanted, plan, inputs, writer)
        traces.begin()
        return Outputs(rows, traces)
    rows = _rows_to(wanted, plan, inputs)
    own = (place.file.fileno() for place in rows.places)
    taken = {key: "what the rows go to" for file in own if (key := identity(file)) is not None}
    path = path_of(arguments.trace)
    if path is None and STDOUT_LABEL in (place.file.label for place in rows.places):
        raise UsageError(
            "--trace -: stdout is where the rows go", "--trace FILE, or -o FORMAT:PATH"
        )
    traces = traces_to(path, {**inputs, **taken})
    rows.begin()
    traces.begin()
    return Outputs(rows, traces)


def inputs_of(
    arguments: argparse.Namespace,
    config: Config,
    plan: Plan,
    texts: QueryTexts | None,
    sources: Sequence[AnySource] = (),
) -> dict[Identity, str]:
    """Return the files that a run reads, each with what it is."""
    found: list[tuple[Any, str]] = []
    for source in sources:
        if isinstance(source, FileSource):
            found.append((0 if source.is_stdin else source.path, "read (-r)"))
        if isinstance(source, StreamSource) and isinstance(source.place, str):
            found.append((0 if source.is_stdin else source.place, "read (--stream)"))
    found += [(file.name, "a query file") for file in (texts.files if texts else ())]
    found += [(name, "a definition file") for name in (*config.definitions, *arguments.definitions)]
    library = arguments.library or config.library
    in_library = Path(library).rglob("*") if library else ()
    found += [(path, "a query of the library") for path in in_library]
    found += [(arguments.config, "the configuration file")] if arguments.config else []
    found += [(path, "a list that a query reads") for path in _lists(plan)]
    found += [(word, "the compiled queries") for word in arguments.words if _is_object(word)]
    folders = texts.include if texts else ()
    found += [(path, "C of a definition file") for at in folders for path in at.glob("*.h")]
    known = ((identity(file), what) for file, what in found)
    return {own: what for own, what in known if own is not None}


def written_places(arguments: argparse.Namespace, wanted: str, plan: Plan) -> list[NamedPlace]:
    """Return where rows and traces go, as those are told that must lie apart from them."""
    from gigastream.spool.apart import NamedPlace

    rows = [NamedPlace(f"-o {wanted}", *place) for place in paths_written(wanted, plan)]
    if not arguments.trace or path_of(arguments.trace) is None:
        return rows
    return [*rows, NamedPlace(f"--trace {arguments.trace}", arguments.trace, is_whole=False)]


def refuse_feedback(
    arguments: argparse.Namespace, wanted: str, plan: Plan, sources: Sequence[AnySource]
) -> None:
    """Raise SpoolReadError where a file would be one of a STREAM's folder: it would be read again.

    Of such a folder only the files are read that lie in it: what is below may be written.
    """
    places = [source.place for source in sources if isinstance(source, StreamSource)]
    folders = [place for place in places if isinstance(place, str) and os.path.isdir(place)]
    if not folders:
        return
    from gigastream.spool.apart import NamedPlace, check_apart

    read = [NamedPlace(f"--stream {folder}", folder, is_whole=False) for folder in folders]
    for place in written_places(arguments, wanted, plan):
        check_apart(place, read)
        if not place.is_whole:
            check_apart(replace(place, path=os.path.dirname(place.path)), read)


def _is_object(word: str) -> bool:
    return word.endswith(OBJECT_SUFFIX)


def _lists(plan: Plan) -> Iterator[bytes | str]:
    """Find the files of watchlists, and the constants from which functions prepare something.

    These may name files.
    """
    from gigastream.gsql.expressions import Constant

    yield from (watchlist.path for watchlist in plan.watchlists)
    calls = (call for node in plan.nodes for call in node.calls)
    prepared = (call.arguments[call.handle] for call in calls if call.handle is not None)
    for argument in prepared:
        if isinstance(argument, Constant) and isinstance(argument.value, bytes | str):
            yield argument.value


@dataclass(frozen=True, slots=True)
class Ends:
    """What ends a run before its input does, besides a number of packets."""

    after_s: float | None = None
    windows: Windows | None = None
    is_cut: Callable[[], bool] = lambda: False
    """Asked at the end: whether the input may yet have more than was read."""


_OF_ITSELF = Ends()


def looks_at_punctuation(arguments: argparse.Namespace, wanted: str) -> bool:
    """Whether somebody here wants batches that have no rows, too."""
    return arguments.windows is not None or arguments.trace is not None or is_sink(wanted)


def ends_of(arguments: argparse.Namespace, plan: Plan) -> Ends:
    """Return what the command line says of the end."""
    from gigastream.cli.windows import Windows

    windows = None if arguments.windows is None else Windows(plan, arguments.windows)
    return Ends(arguments.duration, windows)


class _Answer:
    """Rows, and traces where they are wanted, on their way out of a session."""

    def __init__(
        self,
        session: ReadingSession[Iterable[Event]],
        plan: Plan,
        outputs: Outputs,
        status: Status,
        account: Account,
        settings: Settings,
        windows: Windows | None,
        asked: Asked,
    ) -> None:
        from gigastream.cli.traces import Traces

        self._session = session
        self._output = outputs.rows
        self._status = status
        self._account = account
        self._windows = windows
        self._asked = asked
        self._traces: Traces | None = None
        aside = status.line.aside
        self._delivery = Delivery(outputs.rows, settings.output_queue_bytes, self._wait, aside)
        if outputs.traces is not None:
            self._traces = Traces(outputs.traces, plan, self._wait, status.line)

    def take(self, event: Event) -> None:
        """Pass on what one event brings."""
        if self._traces is not None:
            self._traces.take(event)
        batch = event.batch if self._windows is None else self._windows.pass_on(event)
        if batch is not None and (batch.row_count or self._output.wants_punctuation):
            self._delivery.put(event.query, batch)

    def attend(self) -> None:
        """Look after all that goes on beside; a reader who has left ends the run."""
        self._delivery.check()
        self._status.tick()
        account = self._account
        tell_if_asked(self._asked, self._status.line, lambda: account(self._so_far()))
        if self._traces is not None:
            self._traces.attend()
        if self._has_no_place():
            self._asked.has_stopped = True
        if self._asked.has_stopped or (self._windows is not None and self._windows.are_over):
            self._session.stop()

    def finish(self) -> Delivered:
        """Write what waits, and return what became of all."""
        if self._asked.has_stopped:
            self._output.leave_open()
        self._delivery.finish()
        of_traces = () if self._traces is None else self._traces.finish()
        delivered = self._so_far()
        return replace(delivered, failures=delivered.failures + of_traces)

    def _so_far(self) -> Delivered:
        delivered = self._delivery.so_far()
        if self._traces is not None:
            delivered = self._traces.counted_in(delivered)
        if self._windows is not None:
            delivered = replace(delivered, left_out=self._windows.left_out)
        return delivered

    def _wait(self) -> bool:
        """Attend to it while a reader is slow; False when it is to be given up."""
        self.attend()
        return self._asked.is_patient

    def _has_no_place(self) -> bool:
        of_traces = self._traces is not None and self._traces.has_failed
        return of_traces or bool(self._output.failures)


def answer(
    session: ReadingSession[Iterable[Event]],
    plan: Plan,
    outputs: Outputs,
    status: Status,
    account: Account,
    settings: Settings,
    ends: Ends = _OF_ITSELF,
) -> Delivered:
    """Write all rows as they come; return what became of them."""
    with stopped_by_signals(session, ends.after_s) as asked:
        rows = _Answer(session, plan, outputs, status, account, settings, ends.windows, asked)
        status.begin()
        try:
            for turn in session.turns():
                for event in turn:
                    rows.take(event)
                rows.attend()
            asked.has_stopped = asked.has_stopped or ends.is_cut()
        except BrokenPipeError:
            raise
        except BaseException:
            asked.has_stopped = True
            rows.finish()
            raise
        finally:
            status.finish()
        return rows.finish()


def tell_if_asked(asked: Asked, line: Line, account: Callable[[], str]) -> None:
    """Tell the account so far where a signal has asked for it."""
    if asked.account:
        asked.account = False
        line.tell(account())


def position_of(statistics: Statistics) -> tuple[int, int]:
    """Return the bytes read and the bytes there are; 0 where a source does not know."""
    totals = [source.total_bytes for source in statistics.sources]
    return sum(source.bytes for source in statistics.sources), sum(totals) if all(totals) else 0


def account_of(
    arguments: argparse.Namespace,
    statistics: Statistics,
    delivered: Delivered,
    seconds: float,
    streams: Sequence[StreamAccount] = (),
) -> str:
    """Return the account of a run, so far or at its end."""
    from gigastream.cli.operator_table import recommendations, table
    from gigastream.cli.summary import as_json, as_text

    if arguments.stats == "json":
        return as_json(statistics, delivered, seconds, streams)
    text = as_text(statistics, delivered, seconds, streams)
    if arguments.stats in (None, "text", "stages"):
        return text
    return "\n".join([text, *recommendations(statistics), table(statistics, seconds)])


def incomplete(statistics: Statistics) -> bool:
    """Say, and return, whether groups, or rows of joins, were refused for want of memory."""
    refusing = [operator for operator in statistics.operators if operator.refused_for_memory]
    groups = sum(o.refused_for_memory for o in refusing if not o.rows_refused)
    rows = sum(o.refused_for_memory for o in refusing if o.rows_refused)
    limit = "" if statistics.memory is None else in_bytes(statistics.memory.limit_bytes)
    if groups and limit:
        complain(
            f"{limit} of memory were not enough for all groups: "
            f"{counted(groups, 'row')} of groups that were not let in; "
            "their windows are incomplete",
            "a greater --memory, or ulimit -v where the system gave less; shorter windows or fewer "
            "group variables need less",
        )
    if rows and limit:
        complain(
            f"{limit} of memory were not enough for the joins: {counted(rows, 'row')} were not "
            "held, and lack the matches that came later",
            "a greater --memory, or ulimit -v where the system gave less; a narrower band, or "
            "conditions on either side, need less",
        )
    return bool(refusing)


def summarise(
    arguments: argparse.Namespace,
    statistics: Statistics,
    delivered: Delivered,
    seconds: float,
    streams: Sequence[StreamAccount] = (),
) -> None:
    """Write the account of a run to stderr, if it is wanted: -q means but what is asked for."""
    if not arguments.quiet or arguments.stats is not None:
        say(account_of(arguments, statistics, delivered, seconds, streams))

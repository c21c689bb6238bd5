# SPDX-License-Identifier: Apache-2.0
"""Output formats: rows as they come, in one file a format.

A format's module has one public function, `open_writer(stream, queries)`, whose result has
`write(query, batch)` and `close()`. Adding a format is its file and a line in FORMATS. Nothing here
knows the engine: a batch is whatever has `csv()`, `json(name)` and `to_arrow()`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from gigastream.late_dataclass import dataclass
from gigastream.outputs.file import (
    STDOUT_DESCRIPTOR,
    STDOUT_LABEL,
    Identity,
    OutputFile,
    SameFileError,
    identity,
    open_file,
    stdout_file,
)
from gigastream.words import are, counted

PARTIAL, PARTIAL_ROWS = "gs.partial", "gs.partial_rows"
"""Metadata: groups of the rows' windows were refused; how many such rows a whole file has."""
MISSING, MISSING_ROWS = "gs.missing", "gs.missing_rows"
"""The same of windows that were answered without interfaces, which are named: a source failed."""
CUT, CUT_ROWS = "gs.cut", "gs.cut_rows"
"""The same of windows that were running when a daemon's query set came, or went."""
JSON_KEY = "query"
"""The member that names a row's query, where there are several."""


class OutputError(Exception):
    """A format or a place that the rows cannot go to."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Batch(Protocol):
    """What a format needs of a batch of rows."""

    @property
    def row_count(self) -> int: ...

    @property
    def memory_bytes(self) -> int: ...

    @property
    def is_partial(self) -> bool:
        """Whether groups of its rows' windows were refused."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Interfaces of which a source had failed when its rows' windows were answered."""

    @property
    def is_cut(self) -> bool:
        """Whether it may have rows of windows of which only a part was seen."""

    @property
    def bounds(self) -> Sequence[int]:
        """For each column, the value below which no later row is."""

    @property
    def is_end(self) -> bool:
        """Whether it is the last."""

    def csv(self) -> bytes:
        """Return one csv line a row."""

    def json(self, query_name: str | None) -> bytes:
        """Return one JSON object a row."""

    def to_arrow(self) -> Any:
        """Return a pyarrow.RecordBatch."""


def marks_of(batch: Batch) -> dict[str, str]:
    """What is said of a batch's rows where a format has a place for it."""
    marks = {PARTIAL: "true"} if batch.is_partial else {}
    if batch.missing:
        marks[MISSING] = ",".join(batch.missing)
    if batch.is_cut:
        marks[CUT] = "true"
    return marks


@dataclass(frozen=True, slots=True)
class Content:
    """What goes to an output: how a person is told of it, and whether a run is for its reader."""

    unit: str = "row"
    option: str = "-o FORMAT:PATH"
    outlives_reader: bool = False
    """Whether what a reader who has left does not get is counted; else BrokenPipeError."""


ROWS = Content()


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """The column whose bounds say which windows of a query are over."""

    place: int
    falls: bool
    """Then bounds are of the negative."""


@dataclass(frozen=True, slots=True)
class OutputQuery:
    """What a format needs to know of a query before its first row."""

    name: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    """Columns that a table sets to the right."""
    times: tuple[bool, ...]
    """Columns of timestamps."""
    quantities: tuple[bool, ...]
    """Numbers that say how much, not which: a table groups their digits."""
    arrow_schema: Callable[[], Any]
    """Gives the pyarrow.Schema of its batches."""
    time_column: TimeColumn | None = None
    """None: nothing is over before the end."""


class Writer(Protocol):
    """Rows of one or several queries on their way into one stream; each write is at once."""

    def write(self, query: OutputQuery, batch: Batch) -> None:
        """Write a batch that has rows."""

    def close(self) -> None:
        """Write what belongs at the end; the stream stays open."""


@dataclass(frozen=True, slots=True)
class Format:
    """One line of the table of formats."""

    module: str
    shares_stream: bool
    """Whether the rows of several queries may go into one stream."""
    is_binary: bool = False
    needs_end: bool = False
    """Whether a file cannot be read before it has ended well."""


FORMATS = {
    "table": Format("gigastream.outputs.table", shares_stream=True),
    "json": Format("gigastream.outputs.json", shares_stream=True),
    "csv": Format("gigastream.outputs.csv", shares_stream=False),
    "arrow": Format("gigastream.outputs.arrow", shares_stream=False, is_binary=True),
    "parquet": Format(
        "gigastream.outputs.parquet", shares_stream=False, is_binary=True, needs_end=True
    ),
}


class RowOutput:
    """The output of a run, to which rows go after begin(): each query's find their writer.

    A file that cannot be written takes no more; what it does not get is counted. BrokenPipeError:
    the reader of a pipe has left, whom the content does not outlive. Abandoned: by abandon().
    """

    wants_punctuation = False
    next_rest_s: float | None = None
    known = left_open = 0

    def __init__(
        self,
        name: str,
        path: Path | None,
        queries: tuple[OutputQuery, ...],
        inputs: Mapping[Identity, str] | None = None,
        content: Content = ROWS,
    ) -> None:
        """Open a format at a path (None: stdout); OutputError says why it cannot be.

        What the files held is still there, until begin(): others may yet fail to open.
        `inputs` are files that this run reads, by their names for a person: none is overwritten.
        """
        self.content = content
        self._format = FORMATS[name]
        self._queries = {query.name: query for query in queries}
        self._places: dict[str, _Place] = {}
        self._taken = dict(inputs or {})
        self._open_writer = import_module(self._format.module).open_writer
        _refuse_mixed(name, path, queries)
        if self._format.shares_stream or path is None:
            self._open(path, queries)
        else:
            for query in queries:
                self._open(_file_of(path, name, query, len(queries)), (query,))

    def _open(self, path: Path | None, queries: tuple[OutputQuery, ...]) -> None:
        place = _Place(self._open_file(path), queries, self._format.needs_end, self.content)
        self._places.update((query.name, place) for query in queries)

    def _open_file(self, path: Path | None) -> OutputFile:
        try:
            file = stdout_file(self._taken) if path is None else open_file(path, self._taken)
        except OSError as error:
            hint = getattr(error, "hint", None)
            raise OutputError(f"{path or STDOUT_LABEL}: {error.strerror}", hint) from None
        except SameFileError as error:
            raise OutputError(
                f"{path or STDOUT_LABEL} is {error.other}: it would be overwritten",
                f"{self.content.option} with another path",
            ) from None
        own = None if path is None else identity(path)
        if own is not None:
            self._taken[own] = f"{path}, which other rows go to"
        return file

    def begin(self) -> None:
        """Empty the files, and write what belongs before the rows; OutputError as above."""
        for place in self.places:
            try:
                place.file.cut()
            except OSError as error:
                raise OutputError(f"{place.file.label}: {error.strerror}") from None
            place.begin(self._open_writer)

    @property
    def places(self) -> tuple[_Place, ...]:
        """The files, each once."""
        return tuple(dict.fromkeys(self._places.values()))

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What could not be written, a sentence for each file."""
        return tuple(place.failure_told() for place in self.places if place.failure is not None)

    @property
    def rows(self) -> int:
        """Rows that were written."""
        return sum(place.rows for place in self.places)

    @property
    def lost(self) -> int:
        """Rows that were not."""
        return sum(place.lost for place in self.places)

    @property
    def reader_has_left(self) -> bool:
        """Whether that of a pipe has, where the content outlives it."""
        return any(place.reader_has_left for place in self.places)

    @property
    def waiting_since(self) -> float | None:
        """Since when (time.monotonic) the reader of a pipe is waited for; None: it is not."""
        return max(
            (p.file.waiting_since for p in self.places if p.file.waiting_since), default=None
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """What a person calls its files."""
        return tuple(place.file.label for place in self.places)

    def write(self, query_name: str, batch: Batch) -> None:
        """Write the rows of a batch, and let go of them: the next window may be far away."""
        if batch.row_count:
            self._places[query_name].write(self._queries[query_name], batch)

    def lose(self, query_name: str, rows: int) -> None:
        """Count rows that nobody will write."""
        self._places[query_name].lost += rows

    def rest(self) -> None:
        """Nothing waits here: each row was written as it came."""

    def leave_open(self) -> None:
        """Windows that a signal has cut are written like others: nothing comes again."""

    def abandon(self) -> None:
        """Wait for no reader any more. From any thread."""
        for place in self.places:
            place.file.abandon()

    def close(self) -> None:
        """End all files."""
        for place in self.places:
            place.close()


@dataclass(frozen=True, slots=True)
class Failure:
    """What could not be written, and what to do."""

    message: str
    hint: str


class _Place:
    """A file, its writer, and what became of the rows for it."""

    def __init__(
        self,
        file: OutputFile,
        queries: tuple[OutputQuery, ...],
        needs_end: bool,
        content: Content,
    ) -> None:
        self.file = file
        self.reader_has_left = False
        self._content = content
        self.rows = 0
        self.lost = 0
        self.failure: OSError | None = None
        self._queries = queries
        self._needs_end = needs_end
        self._writer: Writer | None = None
        self._is_over = False

    def begin(self, open_writer: Callable[[OutputFile, tuple[OutputQuery, ...]], Writer]) -> None:
        with self._telling(0):
            self._writer = open_writer(self.file, self._queries)

    def write(self, query: OutputQuery, batch: Batch) -> None:
        if self._writer is None or self.failure is not None or self.reader_has_left:
            self.lost += batch.row_count
            return
        with self._telling(batch.row_count):
            self._writer.write(query, batch)
            self.rows += batch.row_count

    def close(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        if self._writer is not None and self.failure is None:
            with self._telling(0):
                self._writer.close()
        with self._telling(0):
            self.file.close()

    @contextmanager
    def _telling(self, rows: int) -> Iterator[None]:
        """Where something fails: the file ends with the last batch that is whole in it."""
        whole = self.file.tell()
        try:
            yield
        except BrokenPipeError:
            if not self._content.outlives_reader:
                raise
            self.reader_has_left = True
            self.lost += rows
        except OSError as error:
            self.failure = self.failure or error
            self.lost += rows
            if self._needs_end:
                self.rows, self.lost = 0, self.rows + self.lost
            with suppress(OSError):
                self.file.end_at(whole)

    def failure_told(self) -> Failure:
        assert self.failure is not None
        reason = self.failure.strerror or str(self.failure)
        unit, option = self._content.unit, self._content.option
        kept = (
            f"{counted(self.rows, unit)} {are(self.rows)} in it"
            if self.rows
            else f"no {unit} is in it"
        )
        without_end = " (without its end it cannot be read)" if self._needs_end else ""
        return Failure(
            f"{self.file.label}: {reason}; {kept}{without_end}, "
            f"{self.lost:,} {are(self.lost)} lost",
            f"{_HINTS.get(self.failure.errno or 0, _ELSEWHERE).format(option)}, and run again",
        )


_ELSEWHERE = "another place, {}"
_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room, or {} elsewhere"),
    errno.EFBIG: "a greater limit (ulimit -f), or {} elsewhere",
}


def parse_output(text: str) -> tuple[str, Path | None]:
    """Read `FORMAT[:PATH]`, a path of `-` being stdout; OutputError names the formats there are."""
    name, colon, path = text.partition(":")
    if name not in FORMATS:
        raise OutputError(f"there is no output format '{name}'", "one of " + ", ".join(FORMATS))
    if colon and not path:
        raise OutputError(f"{text} names no path", f"-o {name}:PATH, or -o {name} for stdout")
    return name, path_of(path)


def path_of(text: str) -> Path | None:
    """Return the path that is meant; None, stdout, of `-` and of nothing."""
    return None if text in ("", "-") else Path(text)


def default_format(stream_is_terminal: bool) -> str:
    """Return the format where none was asked for."""
    return "table" if stream_is_terminal else "json"


def _refuse_mixed(name: str, path: Path | None, queries: tuple[OutputQuery, ...]) -> None:
    output_format = FORMATS[name]
    if name == "json" and len(queries) > 1:
        refuse_json_key(queries)
    if path is None and output_format.is_binary and os.isatty(STDOUT_DESCRIPTOR):
        raise OutputError(f"{name} is not for a terminal", f"-o {name}:FILE")
    if output_format.shares_stream or len(queries) == 1:
        return
    if path is None:
        raise OutputError(
            f"the rows of {len(queries)} queries cannot share one {name} stream",
            f"-o {name}:DIRECTORY makes one file a query",
        )
    if path.is_file():
        raise OutputError(f"{path} is a file; several queries need a directory")


def refuse_json_key(queries: Sequence[OutputQuery]) -> None:
    """A JSON object has each key once, and with several queries `query` names the row's."""
    for query in queries:
        if JSON_KEY in query.columns:
            raise OutputError(
                f"{query.name} has a column called {JSON_KEY}, as the key is that names a row's "
                "query where JSON has the rows of several",
                f"call the column otherwise ({JSON_KEY} AS …), or ask {query.name} alone",
            )


def _file_of(path: Path, name: str, query: OutputQuery, query_count: int) -> Path:
    """Return the file of a query: the path itself, or one in the directory that it names."""
    if query_count == 1 and not path.is_dir():
        return path
    return path / f"{query.name.replace('/', '_')}.{name}"

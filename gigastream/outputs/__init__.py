# SPDX-License-Identifier: Apache-2.0
"""Output formats: rows as they come, in one file a format.

A format's module has one public function, `open_writer(stream, queries)`, whose result has
`write(query, batch)` and `close()`. Adding a format is its file and a line in FORMATS. Nothing here
knows the engine: a batch is whatever has `csv()`, `json(name)` and `to_arrow()`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Protocol

STDOUT_DESCRIPTOR = 1


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

    def csv(self) -> bytes:
        """Return one csv line a row."""

    def json(self, query_name: str | None) -> bytes:
        """Return one JSON object a row."""

    def to_arrow(self) -> Any:
        """Return a pyarrow.RecordBatch."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a format needs to know of a query before its first row."""

    name: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    """Columns that a table sets to the right."""
    arrow_schema: Callable[[], Any]
    """Gives the pyarrow.Schema of its batches."""


class Writer(Protocol):
    """Rows of one or several queries on their way into one stream."""

    def write(self, query: Query, batch: Batch) -> None:
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


FORMATS = {
    "table": Format("gigastream.outputs.table", shares_stream=True),
    "json": Format("gigastream.outputs.json", shares_stream=True),
    "csv": Format("gigastream.outputs.csv", shares_stream=False),
    "arrow": Format("gigastream.outputs.arrow", shares_stream=False, is_binary=True),
    "parquet": Format("gigastream.outputs.parquet", shares_stream=False, is_binary=True),
}


class Output:
    """The open output of a run: each query's rows find their writer."""

    def __init__(self, name: str, path: Path | None, queries: tuple[Query, ...]) -> None:
        """Open a format at a path (None: stdout); OutputError says why it cannot be."""
        self._format = FORMATS[name]
        self._queries = {query.name: query for query in queries}
        self._writers: dict[str, tuple[Writer, BinaryIO]] = {}
        self._open_writer = import_module(self._format.module).open_writer
        _refuse_mixed(name, path, queries)
        if self._format.shares_stream or path is None:
            self._open(path, queries)
        else:
            for query in queries:
                self._open(_file_of(path, name, query, len(queries)), (query,))

    def _open(self, path: Path | None, queries: tuple[Query, ...]) -> None:
        stream = _open_stream(path)
        writer = self._open_writer(stream, queries)
        self._writers.update((query.name, (writer, stream)) for query in queries)

    def write(self, query_name: str, batch: Batch) -> None:
        """Write the rows of a batch, and let go of them: the next window may be far away."""
        if batch.row_count == 0:
            return
        writer, stream = self._writers[query_name]
        writer.write(self._queries[query_name], batch)
        stream.flush()

    def close(self) -> None:
        """End all files."""
        for writer, stream in dict(self._writers.values()).items():
            writer.close()
            stream.close()


def parse_output(text: str) -> tuple[str, Path | None]:
    """Read `FORMAT[:PATH]`; OutputError names the formats there are."""
    name, _, path = text.partition(":")
    if name not in FORMATS:
        raise OutputError(f"there is no output format '{name}'", "one of " + ", ".join(FORMATS))
    return name, Path(path) if path else None


def default_format(stream_is_terminal: bool) -> str:
    """Return the format where none was asked for."""
    return "table" if stream_is_terminal else "json"


def _refuse_mixed(name: str, path: Path | None, queries: tuple[Query, ...]) -> None:
    output_format = FORMATS[name]
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


def _file_of(path: Path, name: str, query: Query, query_count: int) -> Path:
    """Return the file of a query: the path itself, or one in the directory that it names."""
    if query_count == 1 and not path.is_dir():
        return path
    return path / f"{query.name.replace('/', '_')}.{name}"


def _open_stream(path: Path | None) -> BinaryIO:
    if path is None:
        return open(STDOUT_DESCRIPTOR, "wb", closefd=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("wb")
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from None

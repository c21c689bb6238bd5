# SPDX-License-Identifier: Apache-2.0
"""Rows of queries that run for months, into files that are ended now and then.

A file that cannot be written, or a disk that is full, ends nothing: rows that come meanwhile are
counted as lost, by cause, and the place is tried again with a growing pause, and at each rotation.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Protocol

from gigastream.outputs import (
    FORMATS,
    Batch,
    Format,
    OutputError,
    OutputQuery,
    Writer,
    refuse_json_key,
)
from gigastream.outputs.csv import CsvWriter, header
from gigastream.outputs.file import OutputFile
from gigastream.outputs.series import BegunFile, FileInPlace, Series, Tell
from gigastream.words import are, counted

FIRST_PAUSE_NS = 1_000_000_000
LONGEST_PAUSE_NS = 60_000_000_000
Clock = Callable[[], int]


class FilePlace(Protocol):
    """Where the files of rows lie: Series, FileInPlace. Methods raise OSError."""

    folder: Path
    label: str

    def begin(self, now_ns: int, header: bytes) -> BegunFile: ...
    def end(self, file: BegunFile) -> None: ...
    def discard(self, file: BegunFile) -> None: ...
    def settle(self) -> None: ...
    def recover(self, tell: Tell) -> None: ...


class RotatingOutput:
    """Writes rows as they come; used by one thread. Nothing is raised once it is made.

    `path` is a folder, which gets files of each query, or a file, whose name is that of all rows.
    Without any of `rotate_bytes`, `rotate_ns` and `keep` it is written where it is; with one, files
    NAME-TIME[-N].FORMAT have their names when they have ended, and the newest `keep` stay.
    """

    def __init__(
        self,
        format_name: str,
        path: str | Path,
        queries: Sequence[OutputQuery],
        rotate_bytes: int | None = None,
        rotate_ns: int | None = None,
        keep: int | None = None,
        *,
        tell: Tell = lambda _text: None,
        clock: Clock = time.time_ns,
    ) -> None:
        """OutputError: a format, a place or a number that cannot be. No file is made yet.

        `rotate_ns`: files end where the clock (ns since 1970, UTC) is a multiple of it. `tell` gets
        a sentence for a person where something fails, and where it goes on.
        """
        _check_numbers(rotate_bytes=rotate_bytes, rotate_ns=rotate_ns, keep=keep)
        if format_name not in FORMATS:
            have = ", ".join(FORMATS)
            raise OutputError(f"there is no output format '{format_name}'", f"one of {have}")
        rotates = any(number is not None for number in (rotate_bytes, rotate_ns, keep))
        self._clock, self._is_closed = clock, False
        self._lanes: dict[str, _Lane] = {}
        for place, own in _places(format_name, path, queries, rotates, keep, tell):
            _check_place(place, tell)
            lane = _Lane(format_name, place, own, rotate_bytes, rotate_ns, tell)
            self._lanes.update((query.name, lane) for query in own)
        self._queries = {query.name: query for query in queries}

    def write(self, query_name: str, batch: Batch) -> None:
        """Write the rows of a batch."""
        if batch.row_count and not self._is_closed:
            lane = self._lanes[query_name]
            lane.write(self._queries[query_name], batch, self._clock())

    def rotate(self) -> None:
        """End the files; the next rows begin new ones, and what has failed is tried again."""
        for lane in self._all():
            lane.end(self._clock())
            lane.forget_pause()

    def tick(self, now_ns: int | None = None) -> None:
        """End what the clock says is due; to be called now and then."""
        for lane in self._all():
            lane.tick(self._clock() if now_ns is None else now_ns)

    def close(self) -> None:
        """End all files."""
        if not self._is_closed:
            self.rotate()
        self._is_closed = True

    @property
    def rows(self) -> int:
        """Rows that were written."""
        return sum(lane.rows for lane in self._all())

    @property
    def lost_by_cause(self) -> dict[str, int]:
        """Rows that could not be, by what the system said."""
        return dict(sum((lane.lost for lane in self._all()), Counter[str]()))

    @property
    def lost(self) -> int:
        """Rows that could not be."""
        return sum(self.lost_by_cause.values())

    @property
    def bytes(self) -> int:
        """Bytes that were written."""
        return sum(lane.bytes for lane in self._all())

    @property
    def files(self) -> int:
        """Files that have rows, the one that is open included."""
        return sum(lane.files for lane in self._all())

    @property
    def failure(self) -> str | None:
        """Why rows are lost now."""
        return next((lane.failure for lane in self._all() if lane.failure is not None), None)

    def _all(self) -> tuple[_Lane, ...]:
        return tuple(dict.fromkeys(self._lanes.values()))


class _OpenFile:
    """A file that gets rows, with its writer."""

    def __init__(
        self, begun: BegunFile, format_name: str, queries: tuple[OutputQuery, ...], now_ns: int
    ) -> None:
        self.begun, self.begun_ns, self.rows = begun, now_ns, 0
        self.file = OutputFile(begun.descriptor, begun.label, is_ours=True, at=begun.at)
        try:
            self.writer = self._opened(format_name, queries)
        except OSError:
            with suppress(OSError):
                self.file.end_at(begun.at)
            self.file.close()
            raise

    def _opened(self, format_name: str, queries: tuple[OutputQuery, ...]) -> Writer:
        """A writer, which has written what belongs before the rows unless it is there. OSError."""
        if self.begun.at and format_name == "csv":
            return CsvWriter(self.file)  # type: ignore[arg-type]
        opened: Writer = import_module(FORMATS[format_name].module).open_writer(self.file, queries)
        return opened

    @property
    def size_bytes(self) -> int:
        return self.file.tell() - self.begun.at


class _Lane:
    """The files of one query, or of several that share them: one after the other."""

    def __init__(
        self,
        format_name: str,
        place: FilePlace,
        queries: tuple[OutputQuery, ...],
        rotate_bytes: int | None,
        rotate_ns: int | None,
        tell: Tell,
    ) -> None:
        self.rows = 0
        self.lost: Counter[str] = Counter()
        self.failure: str | None = None
        self._name, self._format = format_name, FORMATS[format_name]
        self._place, self._queries = place, queries
        self._rotate_bytes, self._rotate_ns = rotate_bytes, rotate_ns
        self._tell = tell
        self._open: _OpenFile | None = None
        self._ended_bytes = self._ended_files = 0
        self._failed_ns = self._pause_ns = self._lost_before = 0

    @property
    def bytes(self) -> int:
        return self._ended_bytes + (self._open.size_bytes if self._open is not None else 0)

    @property
    def files(self) -> int:
        return self._ended_files + (self._open is not None and self._open.rows > 0)

    def write(self, query: OutputQuery, batch: Batch, now_ns: int) -> None:
        self.tick(now_ns)
        rows = batch.row_count
        if self.failure is not None and not self._is_time_to_try(now_ns):
            self.lost[self._cause] += rows
            return
        whole = self._open.file.tell() if self._open is not None else 0
        try:
            opened = self._open = self._open or self._begin(now_ns)
            whole = opened.file.tell()
            opened.writer.write(query, batch)
        except OSError as error:
            self._fail(error, now_ns, rows, whole)
            return
        self.rows += rows
        opened.rows += rows
        self._tell_of_end_of_failure()
        if self._rotate_bytes is not None and opened.size_bytes >= self._rotate_bytes:
            self.end(now_ns)

    def tick(self, now_ns: int) -> None:
        if self._open is not None and self._is_due(self._open.begun_ns, now_ns):
            self.end(now_ns)

    def end(self, now_ns: int) -> None:
        """End the file that is open, if one is."""
        opened = self._open
        try:
            if opened is not None:
                opened.writer.close()
                self._let_go(opened)
            else:
                self._place.settle()
        except OSError as error:
            self._fail(error, now_ns, 0, opened.file.tell() if opened is not None else 0)

    def forget_pause(self) -> None:
        self._failed_ns = self._pause_ns = 0

    # ---- files ----

    def _begin(self, now_ns: int) -> _OpenFile:
        head = header(self._queries[0]) if self._name == "csv" else b""
        self._place.settle()
        begun = self._place.begin(now_ns, head)
        try:
            return _OpenFile(begun, self._name, self._queries, now_ns)
        except OSError:
            with suppress(OSError):
                self._place.discard(begun)
            raise

    def _let_go(self, opened: _OpenFile) -> None:
        """Count a file, give it its name, and close it. OSError."""
        self._open = None
        try:
            if opened.rows:
                self._ended_files += 1
                self._ended_bytes += opened.size_bytes
                self._place.end(opened.begun)
            else:
                self._place.discard(opened.begun)
        finally:
            opened.file.close()

    def _is_due(self, begun_ns: int, now_ns: int) -> bool:
        """Whether an edge lies between two times; or the clock has gone back behind one."""
        period_ns = self._rotate_ns
        return period_ns is not None and begun_ns // period_ns != now_ns // period_ns

    # ---- failures ----

    def _fail(self, error: OSError, now_ns: int, rows: int, whole: int) -> None:
        """Keep the rows that are whole, count the others, and say so once."""
        opened = self._open
        if opened is not None:
            with suppress(OSError):
                opened.file.end_at(whole)
            if self._format.needs_end:
                self.rows, rows, opened.rows = self.rows - opened.rows, rows + opened.rows, 0
            with suppress(OSError):
                self._let_go(opened)
        self._rest(now_ns, was_long=opened is None or now_ns - opened.begun_ns > LONGEST_PAUSE_NS)
        self._cause = error.strerror or str(error)
        if self.failure is None:
            self._lost_before = self.lost.total()
        self.lost[self._cause] += rows
        text = f"{self._place.label}: {self._cause}"
        if text != self.failure:
            self._tell(f"{text}; rows are lost until it can be written, which is tried again")
        self.failure = text

    def _rest(self, now_ns: int, *, was_long: bool) -> None:
        """Let the next try wait: longer each time, unless it had gone well for long."""
        is_first = self._pause_ns == 0 or (self.failure is None and was_long)
        self._pause_ns = FIRST_PAUSE_NS if is_first else min(2 * self._pause_ns, LONGEST_PAUSE_NS)
        self._failed_ns = now_ns

    def _is_time_to_try(self, now_ns: int) -> bool:
        return not 0 <= now_ns - self._failed_ns < self._pause_ns

    def _tell_of_end_of_failure(self) -> None:
        if self.failure is not None:
            self.failure = None
            lost = self.lost.total() - self._lost_before
            text = f"{counted(lost, 'row')} {are(lost)} lost"
            self._tell(f"{self._place.label}: it is written again; {text}")


def _check_numbers(**numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise OutputError(f"{name} is {number}", "at least 1")


def _check_place(place: FilePlace, tell: Tell) -> None:
    """Make the folder; end what a killed run has left. OutputError."""
    try:
        place.folder.mkdir(parents=True, exist_ok=True)
        place.recover(tell)
    except OSError as error:
        message = f"{place.label}: {error.strerror or error}"
        raise OutputError(message, "another place, or another owner of this one") from None


def _places(
    name: str,
    path: str | Path,
    queries: Sequence[OutputQuery],
    rotates: bool,
    keep: int | None,
    tell: Tell,
) -> list[tuple[FilePlace, tuple[OutputQuery, ...]]]:
    """Where the rows of which queries go."""

    def place(folder: Path, stem: str, file_name: str) -> FilePlace:
        if rotates:
            return Series(folder, stem, name, keep)
        return FileInPlace(folder / file_name, name, tell)

    target, form = Path(path), FORMATS[name]
    if target.is_dir() or str(path).endswith("/") or _needs_folder(form, queries):
        folder, names = target.resolve(), [query.name.replace("/", "_") for query in queries]
        return [
            (place(folder, stem, f"{stem}.{name}"), (query,))
            for stem, query in zip(names, queries, strict=True)
        ]
    if name == "json" and len(queries) > 1:
        refuse_json_key(queries)
    stem = target.name.removesuffix(f".{name}")
    return [(place(target.parent.resolve(), stem, target.name), tuple(queries))]


def _needs_folder(form: Format, queries: Sequence[OutputQuery]) -> bool:
    return len(queries) > 1 and not form.shares_stream

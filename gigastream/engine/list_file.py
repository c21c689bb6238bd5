# SPDX-License-Identifier: Apache-2.0
"""A watchlist's file, read into a table of the engine's (GSQL section 6.10).

What is read is believed in nothing: a regular file of a bounded size, line by line, in C, which
leaves out what is wrong and counts it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError
from gigastream.gsql.watchlists import LONGEST_LINE, Watchlist, names_in
from gigastream.late_dataclass import dataclass

MOST_FILE_BYTES = 1 << 30
MOST_LIST_BYTES = 256 << 20
"""Of memory that a list may take."""
_CHUNK = 1 << 20
PARQUET = b"PAR1"
"""A Parquet file begins so."""

Identity = tuple[int, int, int, int]
"""Device, inode, size and time of change: a file that has the same is the same."""


class ListError(EngineError):
    """A list that cannot be read."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class ReadList:
    """A list that has been read: the `struct gs_watchlist *`, to be given or freed."""

    native: Any
    identity: Identity
    rows: int
    refused: int
    """Lines that were left out."""
    replaced: int
    """Lines whose keys came again: the last one counts."""
    remark: str
    """Where the first line that was left out stands, and what was expected; empty: none was."""


def identity_of(path: str) -> Identity:
    """What tells a file from what it was before. OSError."""
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def read_list(watchlist: Watchlist) -> ReadList:
    """Read a list's file. ListError."""
    try:
        number = os.open(watchlist.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise ListError(f"{watchlist.path}: {_reason(error)}") from None
    native = _new(watchlist)
    try:
        return _filled(watchlist, native, number)
    except OSError as error:
        lib.gs_watchlist_free(native)
        raise ListError(f"{watchlist.path}: {_reason(error)}") from None
    except BaseException:
        lib.gs_watchlist_free(native)
        raise
    finally:
        os.close(number)


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _new(watchlist: Watchlist) -> Any:
    columns = watchlist.columns
    types = ffi.new("uint8_t[]", [column.type.number for column in columns])
    keys = ffi.new("uint8_t[]", [column.is_key for column in columns])
    shape = ffi.new("struct gs_watchlist_shape *")
    shape.column_count, shape.types, shape.is_key = len(columns), types, keys
    shape.most_bytes = MOST_LIST_BYTES
    shape.hash_key = [int.from_bytes(os.urandom(8), "little") | 1 for _ in range(2)]
    made, error = ffi.new("struct gs_watchlist **"), ffi.new("struct gs_error *")
    if lib.gs_watchlist_new(shape, made, error) != lib.GS_OK:
        lib.gs_watchlist_free(made[0])
        raise ListError(f"{watchlist.path}: {ffi.string(error.message).decode(errors='replace')}")
    return made[0]


def _filled(watchlist: Watchlist, native: Any, number: int) -> ReadList:
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode):
        raise ListError(f"{watchlist.path}: a list is a regular file")
    if found.st_size > MOST_FILE_BYTES:
        raise ListError(f"{watchlist.path}: a list has at most {MOST_FILE_BYTES} bytes")
    identity = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
    if os.pread(number, len(PARQUET), 0) == PARQUET:
        for chunk in _parquet_lines(watchlist, number):
            _add(watchlist, native, chunk, list(range(len(watchlist.columns))))
        return _described(native, identity, "row", 0)
    header = 0
    places: list[int] | None = None
    for chunk in _chunks(number):
        if places is None:
            places, chunk, header = _layout(watchlist, chunk)
        _add(watchlist, native, chunk, places)
    return _described(native, identity, "line", header)


def _chunks(number: int) -> Iterator[bytes]:
    """Whole lines, some together; of a line that is longer than any may be only its beginning."""
    rest, left, is_too_long = b"", MOST_FILE_BYTES, False
    while left > 0 and (read := os.read(number, min(_CHUNK, left))):
        left -= len(read)
        if is_too_long:
            _, end, read = read.partition(b"\n")
            is_too_long = not end
        whole, end, rest = (rest + read).rpartition(b"\n")
        if end:
            yield whole + end
        if len(rest) > _CHUNK:
            yield rest
            rest, is_too_long = b"", True
    if rest:
        yield rest


def _parquet_lines(watchlist: Watchlist, number: int) -> Iterator[bytes]:
    """The rows of a Parquet file as lines of CSV, some together."""
    try:
        from gigastream.engine.list_rows import lines
    except (ImportError, OSError) as error:
        raise ListError(f"{watchlist.path}: Parquet cannot be read here: {error}") from None
    try:
        yield from lines(number, [column.name for column in watchlist.columns])
    except ValueError as error:
        raise ListError(f"{watchlist.path}: {error}") from None


def _layout(watchlist: Watchlist, start: bytes) -> tuple[list[int], bytes, int]:
    """Of each cell its column, or -1; what stands behind a line of names; how many such lines."""
    names = [column.name.lower() for column in watchlist.columns]
    line, _, behind = start.partition(b"\n")
    found = names_in(line) if len(line) < LONGEST_LINE else None
    cells = [] if found is None else [name.lower() for name in found]
    if set(names) <= set(cells):
        return [names.index(cell) if cell in names else -1 for cell in cells], behind, 1
    if watchlist.is_bare:
        raise ListError(f"{watchlist.path}: its first line names other columns than it did")
    if start.startswith(b"\xef\xbb\xbf"):
        start = start[3:]
    return list(range(len(names))), start, 0


def _add(watchlist: Watchlist, native: Any, chunk: bytes, places: list[int]) -> None:
    text, error = ffi.new("struct gs_watchlist_text *"), ffi.new("struct gs_error *")
    taken = bytearray(chunk)  # it is taken apart in place
    columns = ffi.new("int32_t[]", places)
    buffer = ffi.from_buffer("uint8_t[]", taken)
    text.bytes, text.length = buffer, len(taken)
    text.columns, text.cell_count = columns, len(places)
    if lib.gs_watchlist_add(native, text, error) != lib.GS_OK:
        message = ffi.string(error.message).decode(errors="replace")
        raise ListError(f"{watchlist.path}: {message}", "a shorter list")


def _described(native: Any, identity: Identity, unit: str, header: int) -> ReadList:
    counts = ffi.new("struct gs_watchlist_counts *")
    lib.gs_watchlist_counts(native, counts)
    remark = ""
    if counts.refused:
        why = ffi.string(counts.why_refused).decode()
        remark = f"{unit} {counts.first_refused + header}: {why}"
    return ReadList(
        native,
        identity,
        rows=int(counts.rows),
        refused=int(counts.refused),
        replaced=int(counts.replaced),
        remark=remark,
    )

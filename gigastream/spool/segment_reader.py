# SPDX-License-Identifier: Apache-2.0
"""The rows of one listed segment, checked against its line."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import pyarrow
from pyarrow import ipc

from gigastream.ipc_messages import check_uncompressed
from gigastream.spool.entry import Entry
from gigastream.spool.errors import SegmentDamage, printable
from gigastream.spool.place import NoFileError, Place
from gigastream.spool.settings import MAX_SEGMENT_BYTES


def read_segment(
    place: Place,
    path: str,
    entry: Entry,
    schema: pyarrow.Schema,
    columns: Sequence[str] | None,
    check: bool,
) -> Iterator[pyarrow.RecordBatch]:
    """Yield a segment's batches, these columns of them in this order.

    Where `check` is false only the size is compared: the disk is trusted. The content never is.
    Raises SegmentDamage; ValueError for a column that the schema lacks.
    """
    wanted = list(schema.names if columns is None else columns)
    # An empty list would include every field; rows without columns still have to be counted.
    included = sorted({schema.names.index(name) for name in wanted} or {0})
    buffer = _open(place, path, entry)
    if buffer.size > entry.size_bytes:
        raise damage(path, entry, f"it has more than the {entry.size_bytes} bytes that are listed")
    if buffer.size < entry.size_bytes:
        raise damage(path, entry, f"it has {buffer.size} bytes of {entry.size_bytes}")
    if check and zlib.crc32(buffer) != entry.checksum:
        raise damage(path, entry, "its checksum does not fit")
    try:
        yield from _batches(buffer, schema, included, wanted, entry.rows)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        # pyarrow's text may be of any length, and hold what the segment says
        reason = printable(str(error).split("\n")[0][:200])
        raise damage(path, entry, f"it is no Arrow stream: {reason}") from None


def damage(path: str, entry: Entry, reason: str, is_retired: bool = False) -> SegmentDamage:
    """Return the error of a segment that cannot be read."""
    text = f"{path} is lost with {entry.rows} rows: {reason}"
    return SegmentDamage(text, entry.segment or 0, entry.rows, is_retired)


def _open(place: Place, path: str, entry: Entry) -> pyarrow.Buffer:
    """Return a segment's bytes, and one more where there are more than are listed."""
    if entry.size_bytes > MAX_SEGMENT_BYTES:
        reason = f"{entry.size_bytes} bytes are listed, at most {MAX_SEGMENT_BYTES} are read"
        raise damage(path, entry, reason)
    try:
        return place.read_all(path, entry.size_bytes + 1)
    except FileNotFoundError:
        raise damage(path, entry, "it is missing") from None
    except NoFileError as error:
        raise damage(path, entry, f"it cannot be read: {error}") from None
    except OSError as error:
        raise damage(path, entry, f"it cannot be read: {error.strerror or error}") from None


def _batches(
    buffer: pyarrow.Buffer,
    schema: pyarrow.Schema,
    included: list[int],
    wanted: list[str],
    rows: int,
) -> Iterator[pyarrow.RecordBatch]:
    check_uncompressed(buffer)
    options = ipc.IpcReadOptions(included_fields=included)
    expected = pyarrow.schema([schema.field(index) for index in included])
    with ipc.open_stream(buffer, options=options) as stream:
        if stream.schema != expected:
            raise pyarrow.ArrowInvalid("its columns are not the track's")
        for batch in stream:
            rows -= batch.num_rows
            _check(batch, rows)
            yield batch.select(wanted)
    if rows:
        raise pyarrow.ArrowInvalid(f"it lacks {rows} of the rows that are listed")


def _check(batch: pyarrow.RecordBatch, rows_left: int) -> None:
    """Refuse what C would stumble over: offsets beyond a buffer, NULL where there is none."""
    batch.validate(full=True)
    if rows_left < 0:
        raise pyarrow.ArrowInvalid("it has more rows than are listed")
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if not field.nullable and column.null_count:
            raise pyarrow.ArrowInvalid(f"its column {field.name} has a NULL, which it must not")

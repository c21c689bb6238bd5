# SPDX-License-Identifier: Apache-2.0
"""The rows of one listed segment, checked against its line."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import pyarrow
from pyarrow import fs, ipc

from gigastream.spool.entry import Entry
from gigastream.spool.errors import SegmentDamage


def read_segment(
    filesystem: fs.FileSystem,
    path: str,
    entry: Entry,
    schema: pyarrow.Schema,
    columns: Sequence[str] | None,
    check: bool,
) -> Iterator[pyarrow.RecordBatch]:
    """Yield a segment's batches, these columns of them in this order.

    Where `check` is false only the size is compared: the disk is trusted. Raises SegmentDamage;
    ValueError for a column that the schema lacks.
    """
    wanted = list(schema.names if columns is None else columns)
    # An empty list would include every field; rows without columns still have to be counted.
    included = sorted({schema.names.index(name) for name in wanted} or {0})
    buffer = _open(filesystem, path, entry)
    if buffer.size != entry.size_bytes:
        raise damage(path, entry, f"it has {buffer.size} bytes of {entry.size_bytes}")
    if check and zlib.crc32(buffer) != entry.checksum:
        raise damage(path, entry, "its checksum does not fit")
    try:
        yield from _batches(buffer, schema, included, wanted)
    except (pyarrow.ArrowException, OSError) as error:
        raise damage(path, entry, f"it is no Arrow stream: {error}") from None


def damage(path: str, entry: Entry, reason: str, is_retired: bool = False) -> SegmentDamage:
    """Return the error of a segment that cannot be read."""
    text = f"{path} is lost with {entry.rows} rows: {reason}"
    return SegmentDamage(text, entry.segment or 0, entry.rows, is_retired)


def _open(filesystem: fs.FileSystem, path: str, entry: Entry) -> pyarrow.Buffer:
    """Return a segment's bytes: a mapping of the file, where the filesystem can."""
    try:
        with filesystem.open_input_file(path) as stream:
            return stream.read_buffer()
    except FileNotFoundError:
        raise damage(path, entry, "it is missing") from None
    except OSError as error:
        raise damage(path, entry, f"it cannot be read: {error}") from None


def _batches(
    buffer: pyarrow.Buffer, schema: pyarrow.Schema, included: list[int], wanted: list[str]
) -> Iterator[pyarrow.RecordBatch]:
    options = ipc.IpcReadOptions(included_fields=included)
    with ipc.open_stream(buffer, options=options) as stream:
        if stream.schema != pyarrow.schema([schema.field(index) for index in included]):
            raise pyarrow.ArrowInvalid("its columns are not the track's")
        for batch in stream:
            yield batch.select(wanted)

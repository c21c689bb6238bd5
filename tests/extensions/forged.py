# SPDX-License-Identifier: Apache-2.0
"""Spools whose states somebody else has written: whole in all but what the states are."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow

Change = Callable[[bytes], bytes]


def forge(root: Path, change: Change) -> int:
    """Change every opaque value of a spool; return how many rows had one."""
    return sum(_forged(manifest, change) for manifest in sorted(root.glob("streams/**/manifest-*")))


def _forged(manifest: Path, change: Change) -> int:
    lines, rows = [], 0
    for line in manifest.read_bytes().splitlines():
        entry = json.loads(line.split(b" ", 1)[1])
        if entry["kind"] == "segment":
            path = manifest.parent / f"segment-{entry['segment']:010}.arrows"
            content, count = _changed(path.read_bytes(), change)
            path.write_bytes(content)
            entry |= {"size_bytes": len(content), "checksum": zlib.crc32(content)}
            rows += count
        text = json.dumps(entry, separators=(",", ":")).encode()
        lines.append(b"%08x %s\n" % (zlib.crc32(text), text))
    manifest.write_bytes(b"".join(lines))
    return rows


def _changed(content: bytes, change: Change) -> tuple[bytes, int]:
    with pyarrow.ipc.open_stream(content) as reader:
        batches, schema = list(reader), reader.schema
    sink, rows = pyarrow.BufferOutputStream(), 0
    with pyarrow.ipc.new_stream(sink, schema) as stream:
        for batch in batches:
            columns = [_changed_column(column, change) for column in batch.columns]
            rows += batch.num_rows * any(map(_is_state, batch.columns))
            stream.write_batch(pyarrow.record_batch(columns, schema=schema))
    return sink.getvalue().to_pybytes(), rows


def _is_state(column: pyarrow.Array) -> bool:
    return pyarrow.types.is_fixed_size_binary(column.type) and column.type.byte_width != 16


def _changed_column(column: pyarrow.Array, change: Change) -> pyarrow.Array:
    if not _is_state(column):
        return column
    return pyarrow.array(list(map(change, column.to_pylist())), column.type)

# SPDX-License-Identifier: Apache-2.0
"""What Spark has written down of a streaming query: how far it is done.

Spark's own files, a micro-batch each: `offsets/N` before it runs, `commits/N` when it is done. The
first line is a version, the second of `offsets` has settings, one more is for each source.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.fs

from spark_sink.checkpoint import filesystem, read_json
from spark_sink.job_errors import JobError
from spark_sink.offsets import Offsets, from_json

_SPARKS = ("offsets", "commits", "state", "sources", "metadata", ".metadata.crc")
"""What Spark makes in a checkpoint before its first micro-batch is done."""


@dataclass(frozen=True, slots=True)
class DoneBatch:
    """The last micro-batch of which all rows are with the sink."""

    number: int
    watermark_ms: int
    """Up to here windows have left."""
    offsets: tuple[Offsets, ...]
    """One a source."""
    is_newest: bool
    """Whether none was begun behind it."""


def last_done(folder: str) -> DoneBatch | None:
    """Read how far the query of a checkpoint is done; None: no micro-batch is. Raises JobError."""
    system, path = filesystem(folder)
    try:
        numbers = _numbers(system, f"{path}/commits")
        if not numbers:
            return None
        number, newest = max(numbers), max(_numbers(system, f"{path}/offsets"))
        _, metadata, *sources = _text(system, f"{path}/offsets/{number}").splitlines()
        watermark_ms = int(_object(metadata)["batchWatermarkMs"])
        offsets = tuple(from_json(_object(line)) for line in sources)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise JobError(f"checkpoint {folder}: {error}", exit_code=2) from None
    return DoneBatch(number, watermark_ms, offsets, is_newest=number == newest)


def make_ready(folder: str) -> None:
    """Let Spark begin, or go on, in a query's checkpoint.

    What a first start has left there that broke off before a micro-batch was written down, a full
    disk's files included, Spark takes for another query's: it is removed. Raises JobError where
    something was done and cannot go on, or the folder cannot be used.
    """
    system, path = filesystem(folder)
    try:
        is_begun = any(_numbers(system, f"{path}/{part}") for part in ("offsets", "commits"))
        if is_begun:
            _check_metadata(system, path, folder)
            return
        for name in _SPARKS:
            _remove(system, f"{path}/{name}")
    except OSError as error:
        raise JobError(f"checkpoint {folder}: {error}", exit_code=2) from None


def _check_metadata(system: pyarrow.fs.FileSystem, path: str, folder: str) -> None:
    said = read_json(system, f"{path}/metadata")
    if said is not None and "id" not in said:
        raise JobError(
            f"checkpoint {folder}: the file metadata is damaged, which says what sinks know the "
            "query by",
            "put it back as it was, or begin anew: name a --checkpoint that is not there yet",
            exit_code=2,
        )


def _remove(system: pyarrow.fs.FileSystem, path: str) -> None:
    kind = system.get_file_info(path).type
    if kind == pyarrow.fs.FileType.Directory:
        system.delete_dir(path)
    elif kind != pyarrow.fs.FileType.NotFound:
        system.delete_file(path)


def _numbers(system: pyarrow.fs.FileSystem, path: str) -> list[int]:
    found = system.get_file_info(pyarrow.fs.FileSelector(path, allow_not_found=True))
    return [int(info.base_name) for info in found if info.base_name.isdecimal()]


def _text(system: pyarrow.fs.FileSystem, path: str) -> str:
    with system.open_input_stream(path) as stream:
        return str(stream.read(), "utf-8")


def _object(line: str) -> Mapping[str, Any]:
    value = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError(f"{line} is no object")
    return value

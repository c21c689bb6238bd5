# SPDX-License-Identifier: Apache-2.0
"""Files and folders that are on the disk when the function returns; no link is followed."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_PIECE_BYTES = 1 << 18
APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


@contextmanager
def opened(path: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    """Open a file of ours, which is no link and no pipe, and yield its descriptor."""
    # O_NONBLOCK: a pipe in a file's place would be waited for.
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def sync(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on the disk. Raises OSError."""
    with opened(path) as descriptor:
        os.fsync(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of some bytes."""
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])


def write_json(path: Path, value: Any) -> None:
    """Write a new file and make it durable; its name is durable when the folder is."""
    with opened(path, NEW) as descriptor:
        write_all(descriptor, json.dumps(value, indent=1).encode() + b"\n")
        os.fsync(descriptor)


def replace(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace a file in one step: who opens it sees the old bytes or the new."""
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    try:
        with opened(beside, NEW) as descriptor:
            write_all(descriptor, data)
            if durable:
                os.fsync(descriptor)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if durable:
        sync(path.parent)


def replace_json(path: Path, value: Any) -> None:
    """Replace a JSON file, durable."""
    replace(path, json.dumps(value).encode() + b"\n")


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the object of a JSON file, None if there is none that can be read."""
    try:
        with opened(path) as descriptor, open(descriptor, "rb", closefd=False) as stream:
            value = json.loads(stream.read())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def checksum(path: Path) -> tuple[int, int]:
    """Return a file's size in bytes and its CRC-32. Raises OSError."""
    size_bytes = crc = 0
    with opened(path) as descriptor:
        while data := os.read(descriptor, _PIECE_BYTES):
            size_bytes += len(data)
            crc = zlib.crc32(data, crc)
    return size_bytes, crc


def numbers_in(folder: Path, number_of: Any) -> list[int]:
    """Return the numbers that names in a folder have, the least first; none without a folder."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    numbers = (number_of(name) for name in names)
    return sorted(number for number in numbers if number is not None)

# SPDX-License-Identifier: Apache-2.0
"""Files and folders that are on the disk when the function returns."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import zlib
from pathlib import Path
from typing import Any


def sync(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    """Write a new file and make it durable; its name is durable when the folder is."""
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(value, stream, indent=1)
        stream.write("\n")
        stream.flush()
        os.fsync(stream.fileno())


def replace_json(path: Path, value: Any) -> None:
    """Replace a file in one step: who opens it sees the old text or the new."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write_json(beside, value)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync(path.parent)


def checksum(path: Path) -> tuple[int, int]:
    """Return a file's size in bytes and its CRC-32. Raises OSError."""
    with open(path, "rb") as stream:
        size_bytes = os.fstat(stream.fileno()).st_size
        if size_bytes == 0:
            return 0, 0
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            return size_bytes, zlib.crc32(mapped)


def lock_folder(path: Path) -> int:
    """Return a descriptor that holds a folder for this process; the system frees it at its end.

    Raises BlockingIOError while another process holds it.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor

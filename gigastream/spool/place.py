# SPDX-License-Identifier: Apache-2.0
"""Where a spool is read: a folder here, or any filesystem that pyarrow opens by its URI."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import pyarrow
from pyarrow import fs

from gigastream.spool.errors import SpoolReadError

_MAX_JSON_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """A filesystem and the path of a spool on it. Methods raise OSError.

    `files` reads what may still grow; `mapped` the same, and maps what is finished, where it can.
    """

    files: fs.FileSystem
    mapped: fs.FileSystem
    root: str

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, in order, without those that begin with a dot."""
        found = self.files.get_file_info(fs.FileSelector(folder))
        return sorted(info.base_name for info in found if not info.base_name.startswith("."))

    def size_bytes(self, path: str) -> int:
        """Return a file's size. Raises FileNotFoundError for whatever is no file."""
        info = self.files.get_file_info(path)
        if info.type != fs.FileType.File:
            raise FileNotFoundError(path)
        return int(info.size)

    def read_at(self, path: str, offset: int, size_bytes: int) -> bytes:
        """Return bytes of a file, fewer at its end."""
        with self.files.open_input_file(path) as stream:
            return bytes(stream.read_at(size_bytes, offset))

    def read_object(self, path: str) -> dict[str, Any]:
        """Return the object in a JSON file. Raises ValueError for other contents."""
        try:
            value = json.loads(self.read_at(path, 0, _MAX_JSON_BYTES))
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        if not isinstance(value, dict):
            raise ValueError("it is not an object")
        return value

    def replace(self, path: str, text: bytes) -> None:
        """Write a file in one step: who opens it sees the old bytes or the new."""
        folder, name = path.rsplit("/", 1)
        beside = f"{folder}/.{name}.{os.getpid()}"
        self.files.create_dir(folder, recursive=True)
        with self.files.open_output_stream(beside) as stream:
            stream.write(text)
        self.files.move(beside, path)


def open_place(path: str | os.PathLike[str]) -> Place:
    """Return the place of a path or URI. Raises SpoolReadError for a URI that pyarrow refuses."""
    text = os.fspath(path)
    if "://" not in text:
        return Place(fs.LocalFileSystem(), fs.LocalFileSystem(use_mmap=True), os.path.abspath(text))
    try:
        filesystem, root = fs.FileSystem.from_uri(text)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise SpoolReadError(f"{text} cannot be opened: {error}") from None
    is_local = filesystem.type_name == "local"
    mapped = fs.LocalFileSystem(use_mmap=True) if is_local else filesystem
    return Place(filesystem, mapped, root.rstrip("/"))

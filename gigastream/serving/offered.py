# SPDX-License-Identifier: Apache-2.0
"""A spool as other hosts may see it: what its layout names, and nothing beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gigastream.late_dataclass import asdict
from gigastream.spool import END, Spool, layout
from gigastream.spool.address import Address
from gigastream.spool.commits import parse_passed
from gigastream.spool.index import parse_index
from gigastream.spool.opened_place import open_place
from gigastream.spool.place import NoFileError
from gigastream.spool.protocol import (
    CHUNK_BYTES,
    COMMIT,
    HELD,
    NAMES,
    PASSED,
    READ,
    SIGNATURE,
    SIZE,
)

MAX_READERS = 256
"""Of a generation: each is a file, and retention looks through them all."""
Question = Mapping[str, Any]


class OfferedSpool:
    """Answers questions, in bytes. Raises OSError, ValueError for those that are wrong."""

    def __init__(self, path: str) -> None:
        """Raises SpoolReadError where there is none."""
        self.path = path
        Spool(path)
        self._place = open_place(path)
        self._values: Mapping[str, Callable[[Question], Any]] = {
            HELD: lambda question: self._place.is_held(),
            NAMES: self._names,
            SIZE: lambda question: self._place.size_bytes(self._file(question)),
            SIGNATURE: lambda question: self._place.signature(self._file(question)),
            COMMIT: self._commit,
            PASSED: self._passed,
        }

    def answer(self, action: str, question: Question) -> Iterator[bytes]:
        """Yield the answer, in pieces of bounded size."""
        if action == READ:
            yield from self._read(question)
            return
        if action not in self._values:
            raise ValueError("there is no such action")
        answer = json.dumps(self._values[action](question)).encode()
        for at in range(0, len(answer), CHUNK_BYTES):
            yield answer[at : at + CHUNK_BYTES]

    def _read(self, question: Question) -> Iterator[bytes]:
        path = self._file(question)
        at, left = _count(question, "offset"), _count(question, "size_bytes")
        while left and (piece := self._place.read_at(path, at, min(left, CHUNK_BYTES))):
            yield piece
            at, left = at + len(piece), left - len(piece)

    def _names(self, question: Question) -> list[str]:
        address = self._address(question)
        if not address.is_folder:
            raise ValueError("it is no folder")
        names = self._place.names(self._listed(address))
        # of a generation's folder nobody needs the segments' names: the manifest has their numbers
        is_wanted = layout.roll_of if address.kind == "generation" else str
        return [name for name in names if is_wanted(name) is not None]

    def _commit(self, question: Question) -> None:
        folder, reader = self._of_reader(question)
        segment = _count(question, "segment")
        known = self._names_or_none(f"{folder}/{layout.READERS}")
        if len(known) >= MAX_READERS and f"{layout.quoted(reader)}.json" not in known:
            raise NoFileError(f"it has {len(known)} readers already, which is the most")
        self._place.commit(folder, reader, segment, parse_passed(question))

    def _passed(self, question: Question) -> dict[str, int] | None:
        folder, reader = self._of_reader(question)
        passed = self._place.passed(folder, reader)
        return None if passed is None else asdict(passed)

    def _of_reader(self, question: Question) -> tuple[str, str]:
        """The folder of the generation, and the reader's name."""
        address, reader = self._address(question), question.get("reader")
        if address.kind != "generation" or not layout.is_name(reader):
            raise ValueError("a commit is of a reader, to a generation")
        return self._generation_folder(address), str(reader)

    def _file(self, question: Question) -> str:
        address = self._address(question)
        if address.is_folder:
            raise ValueError("it is a folder")
        return self._listed(address)

    @staticmethod
    def _address(question: Question) -> Address:
        return Address.from_json(question.get("address"))

    def _generation_folder(self, address: Address) -> str:
        """Of one that is there, or that the index names: a silent one has no folder yet."""
        folder = self._path(address.path())
        above, _, name = folder.rpartition("/")
        if not self._is_in_index(address):
            self._listed(address)
            if name not in self._names_or_none(above):
                raise FileNotFoundError(folder)
        return folder

    def _listed(self, address: Address) -> str:
        """The path of what there is, as far as names go: numbers lead nowhere else."""
        path = address.path()
        if address.stream and not self._has_track(address):
            raise FileNotFoundError(path)
        if address.kind == "progress":
            folder, _, name = path.rpartition("/")
            if name not in self._names_or_none(self._path(folder)):
                raise FileNotFoundError(path)
        return self._path(path)

    def _has_track(self, address: Address) -> bool:
        """Whether the names are those of folders."""
        root = self._path(layout.STREAMS)
        stream, interface = layout.quoted(address.stream), layout.quoted(address.interface)
        if stream not in self._names_or_none(root):
            return False
        return not address.interface or interface in self._names_or_none(f"{root}/{stream}")

    def _is_in_index(self, address: Address) -> bool:
        index = parse_index(self._place.read_object(self._path(layout.SPOOL)))
        return index.generations.get((address.stream, address.interface)) == address.number

    def _names_or_none(self, folder: str) -> list[str]:
        try:
            return self._place.names(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _path(self, path: str) -> str:
        return f"{self._place.root}/{path}"


def _count(question: Question, name: str) -> int:
    number = question.get(name)
    if type(number) is not int or not 0 <= number <= END:
        raise ValueError(f"its {name} is no count")
    return number

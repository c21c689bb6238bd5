# SPDX-License-Identifier: Apache-2.0
"""A file or a folder of a spool by what it is: what is asked of a server, who makes the path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gigastream.late_dataclass import asdict, dataclass
from gigastream.spool import layout

FOLDERS = ("streams", "interfaces", "generations", "generation")
_SET_FILES = {"descriptions": layout.DESCRIPTIONS, "plan": layout.PLAN, "queries": layout.QUERIES}
_GENERATION_FILES = {"description": layout.GENERATION, "retained": layout.RETAINED}
_SET_KINDS = {name: kind for kind, name in _SET_FILES.items()}
_GENERATION_KINDS = {name: kind for kind, name in _GENERATION_FILES.items()}
_MAX_NUMBER = 10**18


@dataclass(frozen=True, slots=True)
class Address:
    """`number` is a set's or a generation's, `part` that of a manifest's file or a segment.

    A folder is said by what is in it: "streams", "interfaces", "generations"; or a "generation".
    """

    kind: str
    stream: str = ""
    interface: str = ""
    number: int = 0
    part: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` understands."""
        return asdict(self)

    @staticmethod
    def from_json(value: object) -> Address:
        """Read an address that anybody may have made. Raises ValueError."""
        if not isinstance(value, Mapping) or value.keys() != asdict(Address("")).keys():
            raise ValueError("it is no address")
        texts = value["kind"], value["stream"], value["interface"]
        numbers = value["number"], value["part"]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a name is no text")
        if not all(type(number) is int and 0 <= number < _MAX_NUMBER for number in numbers):
            raise ValueError("a number is none")
        return Address(*texts, *numbers)

    @property
    def is_folder(self) -> bool:
        """Whether it is one of names, and not of bytes."""
        return self.kind in FOLDERS

    def path(self) -> str:
        """Return the way from the root. Raises ValueError for what no spool has."""
        if self.kind == "index":
            return layout.SPOOL
        if self.kind in _SET_FILES:
            return f"{layout.SETS}/{layout.number_name(self.number)}/{_SET_FILES[self.kind]}"
        if self.kind == "streams":
            return layout.STREAMS
        return self._path_of_names()

    def _path_of_names(self) -> str:
        names = {"progress": (self.interface,), "interfaces": (self.stream,)}
        if not all(map(layout.is_name, names.get(self.kind, (self.stream, self.interface)))):
            raise ValueError("a name is none")
        if self.kind == "progress":
            return layout.progress_path(self.interface)
        if self.kind == "interfaces":
            return f"{layout.STREAMS}/{layout.quoted(self.stream)}"
        if self.kind == "generations":
            return layout.track_path(self.stream, self.interface)
        folder = layout.generation_path(self.stream, self.interface, self.number)
        return folder if self.kind == "generation" else f"{folder}/{self._file()}"

    def _file(self) -> str:
        if self.kind == "manifest":
            return layout.manifest_name(self.part)
        if self.kind == "segment":
            return layout.segment_name(self.part)
        if self.kind in _GENERATION_FILES:
            return _GENERATION_FILES[self.kind]
        raise ValueError("it is of no known kind")


def address_of(path: str) -> Address:
    """Return the address of a way from the root. Raises FileNotFoundError where it has none."""
    match path.split("/"):
        case [layout.SPOOL]:
            return Address("index")
        case [layout.SETS, number, name] if name in _SET_KINDS:
            return Address(_SET_KINDS[name], number=int(number))
        case [layout.PROGRESS, name]:
            return Address("progress", interface=layout.unquoted(name.removesuffix(".json")))
        case [layout.STREAMS]:
            return Address("streams")
        case [layout.STREAMS, stream, *below]:
            return _of_stream(path, layout.unquoted(stream), below)
    raise FileNotFoundError(path)


def _of_stream(path: str, stream: str, below: list[str]) -> Address:
    match below:
        case []:
            return Address("interfaces", stream)
        case [interface]:
            return Address("generations", stream, layout.unquoted(interface))
        case [interface, number, *names] if (
            layout.number_of(number) is not None and names[1:] == []
        ):
            track = stream, layout.unquoted(interface), int(number)
            return Address("generation", *track) if not names else _of_file(path, track, names[0])
    raise FileNotFoundError(path)


def _of_file(path: str, track: tuple[str, str, int], name: str) -> Address:
    roll, segment = layout.roll_of(name), layout.segment_of(name)
    if roll is not None:
        return Address("manifest", *track, roll)
    if segment is not None:
        return Address("segment", *track, segment)
    if name in _GENERATION_KINDS:
        return Address(_GENERATION_KINDS[name], *track)
    raise FileNotFoundError(path)

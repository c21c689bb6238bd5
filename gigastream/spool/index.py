# SPDX-License-Identifier: Apache-2.0
"""spool.json: the query set that is written now, and which generation of each track."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gigastream.spool import layout
from gigastream.spool.files import read_object, replace_json

Port = tuple[str, str]
"""(stream, interface)."""


@dataclass(frozen=True, slots=True)
class Index:
    """The set's number, and by (stream, interface) the generation that is its newest."""

    set_number: int
    generations: Mapping[Port, int] = field(default_factory=dict)
    made_ns: int = 0


def write_index(root: Path, index: Index) -> None:
    """Replace the index, durable. Raises OSError."""
    tracks: dict[str, dict[str, int]] = {}
    for (stream, interface), generation in sorted(index.generations.items()):
        tracks.setdefault(stream, {})[interface] = generation
    value = {
        "format": layout.FORMAT,
        "set": index.set_number,
        "made_ns": time.time_ns(),
        "tracks": tracks,
    }
    replace_json(root / layout.SPOOL, value)


def read_index(root: Path) -> Index | None:
    """Return the index for a writer, None if there is none that can be read."""
    value = read_object(root / layout.SPOOL)
    try:
        return None if value is None else parse_index(value)
    except ValueError:
        return None


def parse_index(value: Mapping[str, Any]) -> Index:
    """Return what spool.json says. Raises ValueError."""
    layout.check_format(value)
    tracks = value.get("tracks")
    if not isinstance(tracks, dict) or not all(isinstance(t, dict) for t in tracks.values()):
        raise ValueError("no tracks")
    if not tracks or not all(tracks.values()):  # a writer has one at least, of each stream
        raise ValueError("a stream has no track" if tracks else "no tracks")
    generations = {
        (stream, interface): _number(generation)
        for stream, interfaces in tracks.items()
        for interface, generation in interfaces.items()
    }
    for name in {name for port in generations for name in port}:
        if not layout.is_name(name):
            raise ValueError(f"a track cannot be called {name!r}")
    made_ns = value.get("made_ns")
    if type(made_ns) is not int:
        raise ValueError("no made_ns")
    return Index(_number(value.get("set")), generations, made_ns)


def _number(value: object) -> int:
    if type(value) is not int or not 0 < value < 10**18:
        raise ValueError(f"{value!r} is not the number of a folder"[:200])
    return value
